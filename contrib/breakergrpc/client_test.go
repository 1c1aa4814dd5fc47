package breakergrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// codeOutcome is what each code counts as.
var codeOutcome = map[codes.Code]books{
	codes.OK: {succeeded: 1}, codes.Canceled: {ignored: 1}, codes.Unknown: {failed: 1},
	codes.InvalidArgument: {ignored: 1}, codes.DeadlineExceeded: {failed: 1}, codes.NotFound: {succeeded: 1},
	codes.AlreadyExists: {succeeded: 1}, codes.PermissionDenied: {ignored: 1}, codes.ResourceExhausted: {ignored: 1},
	codes.FailedPrecondition: {succeeded: 1}, codes.Aborted: {succeeded: 1}, codes.OutOfRange: {ignored: 1},
	codes.Unimplemented: {succeeded: 1}, codes.Internal: {failed: 1}, codes.Unavailable: {failed: 1},
	codes.DataLoss: {failed: 1}, codes.Unauthenticated: {ignored: 1},
}

// Each status code has its outcome: what the server answered about the request is no
// failure of the server. A quota that is used up is neither, and neither is what judges the request.
//
// Field: S160, onflow/flow-go#4910 (2023-10-31) and #5010; sony/gobreaker#29 (2020).
func TestEveryCodeHasItsOutcome(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{})
	if len(codeOutcome) != 17 {
		t.Fatalf("%d codes, gRPC has 17", len(codeOutcome))
	}
	for code, want := range codeOutcome {
		b.fail(code)
		g.reset(atomicbreaker.Config{})
		if got := status.Code(call(t, g)); got != code {
			t.Fatalf("caller got %v, want %v unchanged", got, code)
		}
		wantBooks(t, g.guard.Breaker, want)
		g.reset(atomicbreaker.Config{})
		s, err := g.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = s.Recv()
		}
		settled(t, g.guard.Breaker, want)
	}
}

func TestUsersRuleReplacesTheCodes(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{})
	g.guard.Classify = func(err error) atomicbreaker.Outcome {
		if status.Code(err) == codes.ResourceExhausted {
			return atomicbreaker.Failure
		}
		return atomicbreaker.Success
	}
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.Unavailable, codes.Canceled, codes.OK} {
		b.fail(code)
		call(t, g)
	}
	wantBooks(t, g.guard.Breaker, books{failed: 1, succeeded: 2, ignored: 1})
}

// A refusal is a status and can be told from a server's, and no retry policy sends it
// to the server.
//
// Field: S187, projectbeskar/virtrigaud#70 (2026-05-21); failsafe-lib/failsafe#119
// (2017-12-29); juspay/neurolink#899.
func TestRefusalIsAStatusAndTheRefusal(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{Name: "billing", ConsecutiveFailures: 3}, grpc.WithDefaultServiceConfig(retryThrice))
	b.fail(codes.Internal)
	for range 3 {
		call(t, g)
	}
	served := b.calls.Load()
	_, streamErr := g.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
	for _, err := range []error{call(t, g), call(t, g, grpc.WaitForReady(true)), streamErr} {
		var refusal *atomicbreaker.RejectedError
		if status.Code(err) != codes.Unavailable || !errors.Is(err, atomicbreaker.ErrOpen) || !atomicbreaker.IsRejected(err) ||
			!errors.As(err, &refusal) || refusal.Name() != "billing" || refusal.RetryAfter() == 0 {
			t.Errorf("got %v", err)
		}
	}
	if b.calls.Load() != served {
		t.Error("a refused RPC reached the server")
	}
	wantBooks(t, g.guard.Breaker, books{failed: 3, refused: 3})
}

// TestFieldOneRPCIsOneProbe: an RPC that gRPC retries below the interceptor takes
// one place of a half-open breaker, gives it back once, and closes by its end.
//
// Field: S047, resilience4j/resilience4j#1003; danielfm/pybreaker 0.3.2 changelog
// (2017-06).
func TestFieldOneRPCIsOneProbe(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{
		Recovery: atomicbreaker.Recovery{Probes: 1, Successes: 1, Concurrent: 1},
	}, grpc.WithDefaultServiceConfig(retryThrice))
	g.guard.Breaker.Trip()
	g.clock.Advance(g.guard.Breaker.RetryAfter())
	before := b.calls.Load()
	b.answer(func(context.Context) error {
		s := g.guard.Breaker.Snapshot()
		if s.State != atomicbreaker.StateHalfOpen || s.ProbesInFlight != 1 {
			t.Errorf("%v with %d probes in flight during a try, want half-open with 1", s.State, s.ProbesInFlight)
		}
		if b.calls.Load() < before+3 {
			return status.Error(codes.Unavailable, "try again")
		}
		return nil
	})
	if err := call(t, g); err != nil {
		t.Fatal(err)
	}
	if n := b.calls.Load() - before; n != 3 {
		t.Errorf("the server saw %d tries, want 3", n)
	}
	wantBooks(t, g.guard.Breaker, books{succeeded: 1})
	if s := g.guard.Breaker.Snapshot(); s.State != atomicbreaker.StateClosed || s.ProbesInFlight != 0 {
		t.Errorf("%v with %d probes in flight at the end, want closed with none", s.State, s.ProbesInFlight)
	}
	b.answer(func(context.Context) error { return nil })
	if err := call(t, g); err != nil || b.calls.Load() != before+4 {
		t.Errorf("the next RPC: %v, %d tries in all", err, b.calls.Load()-before)
	}
	wantBooks(t, g.guard.Breaker, books{succeeded: 2})
}

// TestRetriesBelowAreOneOutcome: an RPC that gRPC retries below the interceptor
// is one admission and one outcome.
func TestRetriesBelowAreOneOutcome(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{}, grpc.WithDefaultServiceConfig(retryThrice))
	b.fail(codes.Unavailable)
	call(t, g)
	if n := b.calls.Load(); n != 3 {
		t.Fatalf("the server saw %d tries, want 3", n)
	}
	wantBooks(t, g.guard.Breaker, books{failed: 1})
}

func TestUnaryContexts(t *testing.T) {
	b := startBackend(t)
	b.answer(hang)
	g := newGuarded(t, b.addr, atomicbreaker.Config{})
	do := func(ctx context.Context, opts ...grpc.CallOption) codes.Code {
		_, err := g.EmptyCall(ctx, &pb.Empty{}, opts...)
		return status.Code(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if code := do(ctx); code != codes.Canceled {
		t.Errorf("got %v", code)
	}
	wantBooks(t, g.guard.Breaker, books{ignored: 1})
	if code := do(ctx); code != codes.Canceled { // it is done already: neither sent nor counted
		t.Errorf("got %v", code)
	}
	wantBooks(t, g.guard.Breaker, books{ignored: 1})

	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if code := do(ctx); code != codes.DeadlineExceeded {
		t.Errorf("got %v", code)
	}
	wantBooks(t, g.guard.Breaker, books{ignored: 1, failed: 1})

	b.kill()
	g = newGuarded(t, b.addr, atomicbreaker.Config{})
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if code := do(ctx, grpc.WaitForReady(true)); code != codes.DeadlineExceeded { // no connection in time
		t.Errorf("got %v", code)
	}
	wantBooks(t, g.guard.Breaker, books{failed: 1})
}

// TestStreamsSettleExactlyOnce goes through the ways a stream can end.
func TestStreamsSettleExactlyOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		handle func(context.Context) error
		run    func(t *testing.T, g *guarded, b *backend)
		want   books
	}{
		{"read to the end", nil, func(t *testing.T, g *guarded, _ *backend) { drain(open(t.Context(), t, g)) }, books{succeeded: 1}},
		{"status", func(context.Context) error { return status.Error(codes.Internal, "") }, func(t *testing.T, g *guarded, _ *backend) {
			drain(open(t.Context(), t, g))
		}, books{failed: 1}},
		{"reply to a client's stream", nil, func(t *testing.T, g *guarded, _ *backend) {
			s, err := g.StreamingInputCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Send(&pb.StreamingInputCallRequest{})
			if _, err := s.CloseAndRecv(); err != nil {
				t.Error(err)
			}
		}, books{succeeded: 1}},
		{"cancelled without any Recv", hang, func(t *testing.T, g *guarded, _ *backend) {
			ctx, cancel := context.WithCancel(t.Context())
			open(ctx, t, g)
			cancel()
		}, books{ignored: 1}},
		{"cancelled after one message", hang, func(t *testing.T, g *guarded, _ *backend) {
			ctx, cancel := context.WithCancel(t.Context())
			open(ctx, t, g).Recv()
			cancel()
		}, books{ignored: 1}},
		{"deadline", hang, func(t *testing.T, g *guarded, _ *backend) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			drain(open(ctx, t, g))
		}, books{failed: 1}},
		{"server killed", hang, func(t *testing.T, g *guarded, b *backend) {
			s := open(t.Context(), t, g)
			s.Recv()
			b.kill()
			drain(s)
			b.start(t)
		}, books{failed: 1}},
		{"dial refused", nil, func(t *testing.T, g *guarded, b *backend) {
			b.kill()
			if _, err := g.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{}); status.Code(err) != codes.Unavailable {
				t.Errorf("got %v", err)
			}
		}, books{failed: 1}},
		{"context done before", nil, func(t *testing.T, g *guarded, _ *backend) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := g.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{}); status.Code(err) != codes.Canceled {
				t.Errorf("got %v", err)
			}
		}, books{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := startBackend(t)
			g := newGuarded(t, b.addr, atomicbreaker.Config{})
			if c.handle != nil {
				b.answer(c.handle)
			}
			c.run(t, g, b)
			settled(t, g.guard.Breaker, c.want)
			time.Sleep(2 * time.Millisecond) // for a second outcome, which must not come
			wantBooks(t, g.guard.Breaker, c.want)
		})
	}
}

type outputStream = grpc.ServerStreamingClient[pb.StreamingOutputCallResponse]

func open(ctx context.Context, t *testing.T, g *guarded) outputStream {
	t.Helper()
	s, err := g.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drain(s outputStream) {
	for {
		if _, err := s.Recv(); err != nil {
			return
		}
	}
}

// TestAbandonedStreamGivesItsProbeBack: the first message of a stream is a probe's verdict. A stream
// that is cancelled and dropped then ends its ticket as ignored.
//
// Field: S162, derived from grpc-go stream rules and chainguard-dev/go-grpc-kit#550.
func TestAbandonedStreamGivesItsProbeBack(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{})
	b.answer(hang)
	g.guard.Breaker.Trip()
	g.clock.Advance(500 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	open(ctx, t, g).Recv()
	if s := g.guard.Breaker.Snapshot(); s.ProbesInFlight != 0 || s.LastProbe.Outcome != atomicbreaker.Success {
		t.Fatalf("a stream that has begun to answer keeps its place: %+v", s)
	}
	cancel()
	settled(t, g.guard.Breaker, books{ignored: 1})
	if s := g.guard.Breaker.Snapshot(); s.State != atomicbreaker.StateHalfOpen || s.ProbesInFlight != 0 {
		t.Errorf("%v with %d probes in flight, want half-open with none", s.State, s.ProbesInFlight)
	}
}

// The standard health service passes by an open breaker, uncounted.
//
// Field: S164, grafana/mimir#5650 (2023-08-04).
func TestHealthServicePassesBy(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{})
	g.guard.Breaker.Trip()
	health := grpc_health_v1.NewHealthClient(g.conn)
	if r, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil || r.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health check through an open breaker: %v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w, err := health.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Recv(); err != nil {
		t.Errorf("health watch through an open breaker: %v", err)
	}
	cancel()
	for err == nil {
		_, err = w.Recv()
	}
	wantBooks(t, g.guard.Breaker, books{})
	g.guard.Exempt = func(method string) bool { return strings.HasSuffix(method, "/EmptyCall") }
	if err := call(t, g); err != nil {
		t.Errorf("a method that the user exempted: %v", err)
	}
	if _, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); !atomicbreaker.IsRejected(err) {
		t.Errorf("a health check that the user did not exempt: %v", err)
	}
}

type token struct{}

func (token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "token"}, nil
}
func (token) RequireTransportSecurity() bool { return false }

// TestContextsPassThrough: metadata, deadline, credentials and values, on both
// sides, for both kinds of RPC.
//
// Field: S163, failsafe-go/failsafe-go#122 and #136 (commit aa73c8b, 2026-08-15).
func TestContextsPassThrough(t *testing.T) {
	type key struct{}
	server := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	b := startBackend(t,
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			return h(context.WithValue(ctx, key{}, "value"), req)
		}, server.UnaryServer),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			return h(srv, valueStream{s, context.WithValue(s.Context(), key{}, "value")})
		}, server.StreamServer))
	var got []string
	b.answer(func(ctx context.Context) error {
		md, _ := metadata.FromIncomingContext(ctx)
		d, ok := ctx.Deadline()
		got = append(got, fmt.Sprintf("%v %v %v %v", md.Get("k"), md.Get("authorization"), ok && time.Until(d) < time.Minute, ctx.Value(key{})))
		return nil
	})
	g := newGuarded(t, b.addr, atomicbreaker.Config{})
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "k", "v"), 50*time.Second)
	defer cancel()
	if _, err := g.EmptyCall(ctx, &pb.Empty{}, grpc.PerRPCCredentials(token{})); err != nil {
		t.Fatal(err)
	}
	s, err := g.StreamingOutputCall(ctx, &pb.StreamingOutputCallRequest{}, grpc.PerRPCCredentials(token{}))
	if err != nil {
		t.Fatal(err)
	}
	drain(s)
	const want = "[v] [token] true value"
	if len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("the handlers saw %q, want %q twice", got, want)
	}
}

type valueStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s valueStream) Context() context.Context { return s.ctx }

// Targets and methods have breakers of their own, however their names join.
//
// Field: S193, grpc/grpc-go#4372 (2021-04-29), #4560 (2021-06-22).
func TestPerMethodKeepsMethodsAndTargetsApart(t *testing.T) {
	breakers, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[breakergrpc.Method]{})
	if err != nil {
		t.Fatal(err)
	}
	guard := &breakergrpc.Guard{BreakerFor: breakergrpc.PerMethod(breakers)}
	for range 2 {
		b := startBackend(t)
		client := pb.NewTestServiceClient(dial(t, b.addr, grpc.WithUnaryInterceptor(guard.UnaryClient), grpc.WithStreamInterceptor(guard.StreamClient)))
		call(t, client)
		s, err := client.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		drain(s)
	}
	if breakers.Len() != 4 {
		t.Errorf("%d breakers for two methods of two targets", breakers.Len())
	}
	seen := map[*atomicbreaker.Breaker]bool{}
	for _, m := range []breakergrpc.Method{{Target: "a", Name: "bc"}, {Target: "ab", Name: "c"}, {Target: "a/b", Name: "c"}, {Target: "a", Name: "b/c"}} {
		seen[breakers.Get(m)] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d breakers for four keys that are spelled alike", len(seen))
	}
}

func TestPanicsAreFailuresAndPassThrough(t *testing.T) {
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	ctx := t.Context()
	for name, f := range map[string]func(){
		"unary client": func() {
			guard.UnaryClient(ctx, "/s/m", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { panic("boom") })
		},
		"stream client": func() {
			guard.StreamClient(ctx, nil, nil, "/s/m", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				panic("boom")
			})
		},
		"unary server": func() {
			guard.UnaryServer(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("boom") })
		},
		"stream server": func() {
			guard.StreamServer(nil, valueStream{ctx: ctx}, &grpc.StreamServerInfo{}, func(any, grpc.ServerStream) error { panic("boom") })
		},
		"Classify": func() {
			g := &breakergrpc.Guard{Breaker: guard.Breaker, Classify: func(error) atomicbreaker.Outcome { panic("boom") }}
			g.UnaryServer(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { return nil, io.EOF })
		},
	} {
		before := booksOf(guard.Breaker)
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("%s: recovered %v", name, got)
				}
			}()
			f()
		}()
		before.failed++
		wantBooks(t, guard.Breaker, before)
	}
}

// TestFailureAfterTheCallerLeftIsIgnored: whatever the error says.
func TestFailureAfterTheCallerLeftIsIgnored(t *testing.T) {
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	for _, end := range []error{status.Error(codes.Unavailable, ""), nil} {
		ctx, cancel := context.WithCancel(t.Context())
		guard.UnaryClient(ctx, "/s/m", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			cancel()
			return end
		})
	}
	wantBooks(t, guard.Breaker, books{ignored: 1, succeeded: 1})
}

// TestStreamerThatIsNotGRPCsSettlesByItsError: nobody calls OnFinish there.
func TestStreamerThatIsNotGRPCsSettlesByItsError(t *testing.T) {
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	_, err := guard.StreamClient(t.Context(), nil, nil, "/s/m", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, status.Error(codes.NotFound, "")
	})
	if status.Code(err) != codes.NotFound {
		t.Errorf("got %v", err)
	}
	wantBooks(t, guard.Breaker, books{succeeded: 1})
}

func TestRetryInfoIsTheLeastCooldown(t *testing.T) {
	b := startBackend(t)
	b.answer(func(context.Context) error {
		s, _ := status.New(codes.Unavailable, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
		return s.Err()
	})
	g := newGuarded(t, b.addr, atomicbreaker.Config{ConsecutiveFailures: 1})
	call(t, g)
	if got := g.guard.Breaker.RetryAfter(); got != 3*time.Second {
		t.Errorf("cooldown %v, want 3s", got)
	}
}

// A guard without a breaker fails every RPC with a word of the field, and sends none.
//
// Field: S116, cloudwego/kitex#526 (2022-08-19); nzin/traefik-cluster-ratelimit#4
// (2025-01-15); exaring/hoglet commit f1e1e09 (2023-10-11).
func TestGuardWithoutABreakerFailsEveryRPC(t *testing.T) {
	b := startBackend(t)
	for _, guard := range []*breakergrpc.Guard{{}, {BreakerFor: func(context.Context, breakergrpc.Method) *atomicbreaker.Breaker { return nil }}} {
		client := pb.NewTestServiceClient(dial(t, b.addr, grpc.WithUnaryInterceptor(guard.UnaryClient), grpc.WithStreamInterceptor(guard.StreamClient)))
		err := call(t, client)
		_, streamErr := client.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
		if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "Guard.Breaker is nil") || status.Code(streamErr) != codes.Internal {
			t.Errorf("got %v, %v", err, streamErr)
		}
	}
	if b.calls.Load() != 0 {
		t.Error("an RPC was sent")
	}
}

func TestRecoveryAfterTheServerIsKilledAndRestarted(t *testing.T) {
	b := startBackend(t)
	g := newGuarded(t, b.addr, atomicbreaker.Config{ConsecutiveFailures: 3}, fastReconnect)
	if err := call(t, g); err != nil {
		t.Fatal(err)
	}
	b.kill()
	for range 5 {
		call(t, g)
	}
	wantBooks(t, g.guard.Breaker, books{succeeded: 1, failed: 3, refused: 2})
	b.start(t)
	g.clock.Advance(500 * time.Millisecond)
	if err := call(t, g, grpc.WaitForReady(true)); err != nil {
		t.Fatalf("the probe: %v", err)
	}
	g.clock.Advance(time.Second)
	g.clock.Advance(time.Second)
	if s := g.guard.Breaker.State(); s != atomicbreaker.StateClosed {
		t.Errorf("%v, want closed", s)
	}
	var dead net.Error
	if err := call(t, g); err != nil || errors.As(err, &dead) {
		t.Error(err)
	}
}
