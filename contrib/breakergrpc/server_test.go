package breakergrpc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// fastReconnect makes gRPC dial a server that was restarted at once.
var fastReconnect = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 5 * time.Millisecond}, MinConnectTimeout: time.Second,
})

// guardedServer is a backend behind a Guard, and a plain client.
type guardedServer struct {
	backend *backend
	guard   *breakergrpc.Guard
	clock   *clock.Manual
	pb.TestServiceClient
	conn *grpc.ClientConn
}

func newGuardedServer(t *testing.T, c atomicbreaker.Config, opts ...grpc.DialOption) *guardedServer {
	t.Helper()
	s := &guardedServer{guard: new(breakergrpc.Guard), clock: new(clock.Manual)}
	if c.Clock == nil {
		c.Clock = s.clock
	}
	c.Cooldown.Jitter = atomicbreaker.Off
	s.guard.Breaker = atomicbreaker.MustNew(c)
	s.backend = startBackend(t, grpc.UnaryInterceptor(s.guard.UnaryServer), grpc.StreamInterceptor(s.guard.StreamServer))
	s.conn = dial(t, s.backend.addr, opts...)
	s.TestServiceClient = pb.NewTestServiceClient(s.conn)
	return s
}

func TestServerJudgesByCode(t *testing.T) {
	s := newGuardedServer(t, atomicbreaker.Config{ConsecutiveFailures: atomicbreaker.Off, FailureRate: 1})
	var want books
	for code, w := range codeOutcome {
		s.backend.fail(code)
		call(t, s)
		stream, err := s.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
		if err != nil {
			t.Fatal(err)
		}
		drain(stream)
		want.succeeded += 2 * w.succeeded
		want.failed += 2 * w.failed
		want.ignored += 2 * w.ignored
	}
	settled(t, s.guard.Breaker, want)
}

func TestServerRefusalTellsWhenToComeBack(t *testing.T) {
	s := newGuardedServer(t, atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second}})
	s.guard.Breaker.Trip()
	for _, c := range []struct {
		name, pushback string
		delay          time.Duration // 0: no RetryInfo
		bring          func()
	}{
		{"3.8 s left", "3800", 3800 * time.Millisecond, func() { s.clock.Advance(1200 * time.Millisecond) }},
		{"half a millisecond left", "1", time.Millisecond, func() { s.clock.Advance(3799*time.Millisecond + 500*time.Microsecond) }},
		{"half-open, its probe under way", "1000", time.Second, func() { s.clock.Advance(500 * time.Microsecond); s.guard.Breaker.Acquire() }},
		{"forced open", "-1", 0, func() { s.guard.Breaker.SetMode(atomicbreaker.ForcedOpen) }},
	} {
		c.bring()
		check := func(kind string, err error, trailer metadata.MD) {
			t.Helper()
			var delay time.Duration
			for _, d := range status.Convert(err).Details() {
				delay = d.(*errdetails.RetryInfo).GetRetryDelay().AsDuration()
			}
			if got := trailer.Get("grpc-retry-pushback-ms"); status.Code(err) != codes.Unavailable || delay != c.delay || len(got) != 1 || got[0] != c.pushback {
				t.Errorf("%s, %s: %v, RetryInfo %v, pushback %q; want Unavailable, %v, %q", c.name, kind, err, delay, got, c.delay, c.pushback)
			}
		}
		var trailer metadata.MD
		check("unary", call(t, s, grpc.Trailer(&trailer)), trailer)
		stream, err := s.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		check("stream", err, stream.Trailer())
	}
	if s.backend.calls.Load() != 0 {
		t.Error("a refused RPC reached its handler")
	}
	if _, err := grpc_health_v1.NewHealthClient(s.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("a health check was refused: %v", err)
	}
}

// TestClientsRetryPolicyObeysTheRefusal is on real time: gRPC's client waits
// as it was told and comes back to a server that has recovered.
func TestClientsRetryPolicyObeysTheRefusal(t *testing.T) {
	s := newGuardedServer(t, atomicbreaker.Config{Clock: clock.System(), Cooldown: atomicbreaker.Cooldown{Min: 60 * time.Millisecond}},
		grpc.WithDefaultServiceConfig(retryThrice))
	s.guard.Breaker.Trip()
	began := time.Now()
	if err := call(t, s); err != nil {
		t.Errorf("the client gave up: %v", err)
	}
	if waited := time.Since(began); waited < 50*time.Millisecond {
		t.Errorf("the client came back after %v, before the cooldown of 60 ms", waited)
	}
	s.guard.Breaker.SetMode(atomicbreaker.ForcedOpen)
	before := booksOf(s.guard.Breaker).refused
	call(t, s)
	if got := booksOf(s.guard.Breaker).refused - before; got != 1 {
		t.Errorf("the client tried %d times at a server that is forced open, want once", got)
	}
}

func TestServerContexts(t *testing.T) {
	s := newGuardedServer(t, atomicbreaker.Config{})
	s.backend.answer(hang)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	s.EmptyCall(ctx, &pb.Empty{})
	settled(t, s.guard.Breaker, books{ignored: 1})
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	s.EmptyCall(ctx, &pb.Empty{})
	settled(t, s.guard.Breaker, books{ignored: 1, failed: 1})

	// A handler that answers with a bare context error, though the client is
	// still there: gRPC says Unknown, and so does the breaker.
	s.backend.answer(func(context.Context) error { return errors.New("wrapped: " + context.Canceled.Error()) })
	call(t, s)
	settled(t, s.guard.Breaker, books{ignored: 1, failed: 2})
}
