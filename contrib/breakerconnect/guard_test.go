package breakerconnect_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerconnect"
	"github.com/atomicbreaker/breaker/contrib/breakertest"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/emptypb"
)

type (
	empty    = emptypb.Empty
	outcomes = breakertest.Outcomes
)

const (
	unary  = "/test.Service/Unary"
	down   = "/test.Service/Down" // the server sends a message, then ends as told
	up     = "/test.Service/Up"
	health = "/grpc.health.v1.Health/Check"
)

// server is a Connect server on loopback whose RPCs end as told.
type server struct {
	url   string
	calls atomic.Int64
	end   atomic.Pointer[func(context.Context) error]
}

func (s *server) answer(f func(context.Context) error) { s.end.Store(&f) }
func (s *server) fail(code connect.Code) {
	s.answer(func(context.Context) error { return connect.NewError(code, errors.New("as told")) })
}

func (s *server) run(ctx context.Context) error {
	s.calls.Add(1)
	if f := s.end.Load(); f != nil {
		return (*f)(ctx)
	}
	return nil
}

func serve(t *testing.T, opts ...connect.HandlerOption) *server {
	s := new(server)
	mux := http.NewServeMux()
	for _, p := range []string{unary, health} {
		mux.Handle(p, connect.NewUnaryHandler(p, func(ctx context.Context, _ *connect.Request[empty]) (*connect.Response[empty], error) {
			if err := s.run(ctx); err != nil {
				return nil, err
			}
			return connect.NewResponse(new(empty)), nil
		}, opts...))
	}
	mux.Handle(down, connect.NewServerStreamHandler(down, func(ctx context.Context, _ *connect.Request[empty], out *connect.ServerStream[empty]) error {
		if err := out.Send(new(empty)); err != nil {
			return err
		}
		return s.run(ctx)
	}, opts...))
	mux.Handle(up, connect.NewClientStreamHandler(up, func(ctx context.Context, in *connect.ClientStream[empty]) (*connect.Response[empty], error) {
		for in.Receive() {
		}
		if err := s.run(ctx); err != nil {
			return nil, err
		}
		return connect.NewResponse(new(empty)), nil
	}, opts...))
	h := httptest.NewUnstartedServer(mux)
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetHTTP1(true)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

// wires are what a client speaks.
var wires = map[string]struct {
	h2c  bool
	opts []connect.ClientOption
}{
	"connect over HTTP/1": {false, nil},
	"connect over h2c":    {true, nil},
	"gRPC over h2c":       {true, []connect.ClientOption{connect.WithGRPC()}},
	"gRPC-Web":            {false, []connect.ClientOption{connect.WithGRPCWeb()}},
}

func dial(t *testing.T, s *server, wire, procedure string, guard *breakerconnect.Guard) *connect.Client[empty, empty] {
	w := wires[wire]
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!w.h2c)
	transport.Protocols.SetUnencryptedHTTP2(w.h2c)
	t.Cleanup(transport.CloseIdleConnections)
	opts := w.opts
	if guard != nil {
		opts = append([]connect.ClientOption{connect.WithInterceptors(guard)}, opts...)
	}
	return connect.NewClient[empty, empty](&http.Client{Transport: transport}, s.url+procedure, opts...)
}

// rpcs make one RPC of each kind, to its end.
var rpcs = map[string]func(context.Context, *connect.Client[empty, empty]) error{
	unary: func(ctx context.Context, c *connect.Client[empty, empty]) error {
		_, err := c.CallUnary(ctx, connect.NewRequest(new(empty)))
		return err
	},
	down: func(ctx context.Context, c *connect.Client[empty, empty]) error {
		stream, err := c.CallServerStream(ctx, connect.NewRequest(new(empty)))
		if err != nil {
			return err
		}
		defer stream.Close()
		for stream.Receive() {
		}
		return stream.Err()
	},
	up: func(ctx context.Context, c *connect.Client[empty, empty]) error {
		stream := c.CallClientStream(ctx)
		_ = stream.Send(new(empty))
		_, err := stream.CloseAndReceive()
		return err
	},
}

var ofCode = map[connect.Code]atomicbreaker.Outcome{
	connect.CodeUnavailable: atomicbreaker.Failure, connect.CodeDeadlineExceeded: atomicbreaker.Failure,
	connect.CodeInternal: atomicbreaker.Failure, connect.CodeUnknown: atomicbreaker.Failure, connect.CodeDataLoss: atomicbreaker.Failure,
	connect.CodeCanceled: atomicbreaker.Ignored, connect.CodeResourceExhausted: atomicbreaker.Ignored,
	connect.CodeInvalidArgument: atomicbreaker.Ignored, connect.CodeUnauthenticated: atomicbreaker.Ignored,
	connect.CodePermissionDenied: atomicbreaker.Ignored, connect.CodeOutOfRange: atomicbreaker.Ignored,
}

func one(o atomicbreaker.Outcome) (want outcomes) {
	switch o {
	case atomicbreaker.Success:
		want.Succeeded = 1
	case atomicbreaker.Failure:
		want.Failed = 1
	case atomicbreaker.Ignored:
		want.Ignored = 1
	}
	return want
}

func TestEveryCodeOnEveryWireOnBothSides(t *testing.T) {
	for wire := range wires {
		t.Run(wire, func(t *testing.T) {
			guard := new(breakerconnect.Guard)
			handler := new(breakerconnect.Guard)
			s := serve(t, connect.WithInterceptors(handler))
			for procedure, rpc := range rpcs {
				c := dial(t, s, wire, procedure, guard)
				for code := connect.Code(0); code <= connect.CodeUnauthenticated; code++ {
					a := breakertest.New(t, breakertest.HalfOpen, atomicbreaker.Config{Name: procedure + " " + code.String()})
					b := breakertest.New(t, breakertest.HalfOpen, atomicbreaker.Config{Name: "handler of " + procedure + " " + code.String()})
					guard.Breaker, handler.Breaker = a.Breaker, b.Breaker
					s.answer(func(context.Context) error { return nil })
					if code != 0 {
						s.fail(code)
					}
					err := rpc(t.Context(), c)
					if code != 0 && connect.CodeOf(err) != code || code == 0 && err != nil {
						t.Errorf("%s: got %v", a.Name(), err)
					}
					a.WantOutcomes(one(ofCode[code]))
					a.WantNoProbe()
					b.WaitOutcomes(one(ofCode[code])) // a stream's handler may still be returning
				}
			}
		})
	}
}

func TestRefusedByTheClientsBreaker(t *testing.T) {
	s := serve(t)
	for procedure, rpc := range rpcs {
		b := breakertest.New(t, breakertest.Open, atomicbreaker.Config{Name: "billing"})
		err := rpc(t.Context(), dial(t, s, "connect over HTTP/1", procedure, &breakerconnect.Guard{Breaker: b.Breaker}))
		b.WantRefused(err)
		if connect.CodeOf(err) != connect.CodeUnavailable || !errors.Is(err, atomicbreaker.ErrOpen) || s.calls.Load() != 0 {
			t.Errorf("%s: %v after %d calls, want Unavailable that is ErrOpen after none", procedure, err, s.calls.Load())
		}
		b.WantOutcomes(outcomes{Refused: 1})
	}
}

func TestRefusedByTheHandlersBreaker(t *testing.T) {
	for start, want := range map[breakertest.Start]struct {
		pushback, after string
		delay           time.Duration
	}{
		breakertest.Open:       {"500", "1", 500 * time.Millisecond},
		breakertest.ProbesFull: {"1000", "1", time.Second},
		breakertest.ForcedOpen: {"-1", "", 0},
	} {
		b := breakertest.New(t, start, atomicbreaker.Config{})
		s := serve(t, connect.WithInterceptors(&breakerconnect.Guard{Breaker: b.Breaker}))
		for wire := range wires {
			for procedure, rpc := range rpcs {
				client := breakertest.New(t, breakertest.NearlyOpen, atomicbreaker.Config{})
				err := rpc(t.Context(), dial(t, s, wire, procedure, &breakerconnect.Guard{Breaker: client.Breaker}))
				e, ok := errors.AsType[*connect.Error](err)
				if !ok || e.Code() != connect.CodeUnavailable || s.calls.Load() != 0 {
					t.Fatalf("%v, %s, %s: %v after %d calls", start, wire, procedure, err, s.calls.Load())
				}
				if got := e.Meta().Get("Retry-After"); got != want.after {
					t.Errorf("%v, %s, %s: Retry-After %q, want %q", start, wire, procedure, got, want.after)
				}
				var delay time.Duration
				for _, d := range e.Details() {
					if v, err := d.Value(); err == nil {
						delay = v.(*errdetails.RetryInfo).GetRetryDelay().AsDuration()
					}
				}
				if delay != want.delay {
					t.Errorf("%v, %s, %s: RetryInfo %v, want %v", start, wire, procedure, delay, want.delay)
				}
				if wire == "gRPC over h2c" && e.Meta().Get("Grpc-Retry-Pushback-Ms") != want.pushback {
					t.Errorf("%v, %s: pushback %q, want %q", start, procedure, e.Meta().Get("Grpc-Retry-Pushback-Ms"), want.pushback)
				}
				// A server that refuses is not there for its client, whose breaker waits as told.
				client.WantTransitions(atomicbreaker.StateOpen)
				if got := client.RetryAfter(); got < want.delay {
					t.Errorf("%v, %s, %s: the client's breaker waits for %v, was told %v", start, wire, procedure, got, want.delay)
				}
			}
		}
	}
}

func TestWhoLeaves(t *testing.T) {
	arrived := make(chan struct{}, 1)
	hang := func(ctx context.Context) error { arrived <- struct{}{}; <-ctx.Done(); return ctx.Err() }
	for wire := range wires {
		for procedure, rpc := range rpcs {
			a := breakertest.New(t, breakertest.HalfOpen, atomicbreaker.Config{Name: "client of " + procedure + " " + wire})
			b := breakertest.New(t, breakertest.HalfOpen, atomicbreaker.Config{Name: "handler of " + procedure + " " + wire})
			s := serve(t, connect.WithInterceptors(&breakerconnect.Guard{Breaker: b.Breaker}))
			s.answer(hang)
			ctx, leave := context.WithCancel(t.Context())
			go func() { <-arrived; leave() }()
			c := dial(t, s, wire, procedure, &breakerconnect.Guard{Breaker: a.Breaker})
			if err := rpc(ctx, c); connect.CodeOf(err) != connect.CodeCanceled {
				t.Errorf("%s: %v", a.Name(), err)
			}
			a.WantOutcomes(outcomes{Ignored: 1})
			b.WaitOutcomes(outcomes{Ignored: 1})

			hurried, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if err := rpc(hurried, c); connect.CodeOf(err) != connect.CodeDeadlineExceeded {
				t.Errorf("%s: %v", a.Name(), err)
			}
			stop()
			select { // its handler need not have begun
			case <-arrived:
			default:
			}
			a.WantOutcomes(outcomes{Ignored: 1, Failed: 1})
		}
	}
}

// A handler cannot tell a client whose time is up from one that left a moment before.
func TestCancelledInTheLastTwentieth(t *testing.T) {
	for after, want := range map[time.Duration]outcomes{
		940 * time.Millisecond: {Ignored: 1},
		960 * time.Millisecond: {Failed: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{})
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			rpc := (&breakerconnect.Guard{Breaker: b.Breaker}).WrapUnary(func(ctx context.Context, _ connect.AnyRequest) (connect.AnyResponse, error) {
				time.Sleep(after)
				leave()
				return nil, ctx.Err()
			})
			_, _ = rpc(ctx, connect.NewRequest(new(empty)))
			b.WantOutcomes(want)
		})
	}
}

func TestStreamsThatAreNotReadToTheirEnd(t *testing.T) {
	s := serve(t)
	b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{})
	c := dial(t, s, "connect over h2c", down, &breakerconnect.Guard{Breaker: b.Breaker})
	stream, err := c.CallServerStream(t.Context(), connect.NewRequest(new(empty)))
	if err != nil || !stream.Receive() {
		t.Fatal(err, stream.Err())
	}
	stream.Close()
	b.WantOutcomes(outcomes{Succeeded: 1})
	stream, err = c.CallServerStream(t.Context(), connect.NewRequest(new(empty)))
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
	b.WantOutcomes(outcomes{Succeeded: 1, Ignored: 1})

	ctx, leave := context.WithCancel(t.Context()) // and nobody receives any more
	if _, err = c.CallServerStream(ctx, connect.NewRequest(new(empty))); err != nil {
		t.Fatal(err)
	}
	leave()
	b.WaitOutcomes(outcomes{Succeeded: 1, Ignored: 2})
}

func TestHealthPassesByAndPanicsPassThrough(t *testing.T) {
	b := breakertest.New(t, breakertest.Open, atomicbreaker.Config{})
	guard := &breakerconnect.Guard{Breaker: b.Breaker}
	s := serve(t, connect.WithInterceptors(guard))
	if err := rpcs[unary](t.Context(), dial(t, s, "gRPC over h2c", health, guard)); err != nil {
		t.Error(err)
	}
	b.WantOutcomes(outcomes{})
	if !breakerconnect.HealthOrReflection("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") || breakerconnect.HealthOrReflection(unary) {
		t.Error("reflection is exempt, others are not")
	}

	b.AdvanceToReady()
	broken := guard.WrapUnary(func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { panic("oops") })
	func() {
		defer func() {
			if recover() != "oops" {
				t.Error("the panic did not pass through")
			}
		}()
		_, _ = broken(t.Context(), connect.NewRequest(new(empty)))
	}()
	b.WantOutcomes(outcomes{Failed: 1})
	b.WantTransitions(atomicbreaker.StateHalfOpen, atomicbreaker.StateOpen)
}

func TestClassifyAndBreakersPerProcedure(t *testing.T) {
	s := serve(t)
	s.fail(connect.CodeResourceExhausted)
	g, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{})
	if err != nil {
		t.Fatal(err)
	}
	guard := &breakerconnect.Guard{
		BreakerFor: breakerconnect.PerProcedure(g),
		Classify:   func(error) atomicbreaker.Outcome { return atomicbreaker.Failure },
	}
	_ = rpcs[unary](t.Context(), dial(t, s, "connect over HTTP/1", unary, guard))
	if got := breakertest.OutcomesOf(g.Get(unary).Snapshot()); got != (outcomes{Failed: 1}) {
		t.Error(got)
	}
	if err := rpcs[unary](t.Context(), dial(t, s, "connect over HTTP/1", unary, new(breakerconnect.Guard))); connect.CodeOf(err) != connect.CodeInternal {
		t.Errorf("a Guard without a breaker: %v", err)
	}
}
