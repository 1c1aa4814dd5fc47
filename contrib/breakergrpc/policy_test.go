package breakergrpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

// balanced is a client of several backends under a Policy of its own.
type balanced struct {
	policy   *breakergrpc.Policy
	clock    *clock.Manual
	resolver *manual.Resolver
	backends []*backend
	conn     *grpc.ClientConn
	pb.TestServiceClient
}

var policies atomic.Int64

func newBalanced(t *testing.T, n int, c atomicbreaker.Config, opts ...grpc.DialOption) *balanced {
	t.Helper()
	b := &balanced{clock: new(clock.Manual)}
	c.Clock = b.clock
	c.Cooldown.Jitter = atomicbreaker.Off
	name := fmt.Sprint("test_policy_", policies.Add(1))
	policy, err := breakergrpc.RegisterPolicy(name, breakergrpc.PolicyConfig{Breakers: atomicbreaker.GroupConfig[breakergrpc.Backend]{Config: c}})
	if err != nil {
		t.Fatal(err)
	}
	b.policy = policy
	for range n {
		b.backends = append(b.backends, startBackend(t))
	}
	b.resolver = manual.NewBuilderWithScheme(strings.ReplaceAll(name, "_", "-"))
	b.resolver.InitialState(b.endpoints(b.backends...))
	b.conn = dial(t, b.resolver.Scheme()+":///service", append(opts, grpc.WithResolvers(b.resolver), policy.DialOption(), fastReconnect)...)
	b.TestServiceClient = pb.NewTestServiceClient(b.conn)
	b.connected(t, n)
	return b
}

// endpoints is an answer of the resolver that fills in Endpoints only.
func (b *balanced) endpoints(backends ...*backend) resolver.State {
	var s resolver.State
	for _, backend := range backends {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: backend.addr}}})
	}
	return s
}

func (b *balanced) breaker(backend *backend) *atomicbreaker.Breaker {
	return b.policy.Breakers().Get(breakergrpc.Backend{Target: b.resolver.Scheme() + ":///service", Address: backend.addr})
}

// connected waits until n backends take turns.
func (b *balanced) connected(t *testing.T, n int) {
	t.Helper()
	var before []int64
	for _, backend := range b.backends {
		before = append(before, backend.calls.Load())
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		call(t, b, grpc.WaitForReady(true))
		served := 0
		for i, backend := range b.backends {
			if backend.calls.Load() > before[i] {
				served++
			}
		}
		if served >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d backends served within 5 s", served, n)
		}
	}
}

// served makes n calls and returns how many each backend got, and the last error.
func (b *balanced) served(t *testing.T, n int, opts ...grpc.CallOption) (counts []int64, last error) {
	t.Helper()
	for _, backend := range b.backends {
		counts = append(counts, -backend.calls.Load())
	}
	for range n {
		if err := call(t, b, opts...); err != nil {
			last = err
		}
	}
	for i, backend := range b.backends {
		counts[i] += backend.calls.Load()
	}
	return counts, last
}

func TestPolicySkipsTheBackendWhoseBreakerIsOpen(t *testing.T) {
	b := newBalanced(t, 3, atomicbreaker.Config{ConsecutiveFailures: 3})
	b.backends[0].fail(codes.Internal)
	for range 30 { // each one's turn may begin anew while connections settle
		if b.breaker(b.backends[0]).State() != atomicbreaker.StateOpen {
			b.served(t, 1)
		}
	}
	if failed := b.breaker(b.backends[0]).Snapshot().Failed; failed != 3 {
		t.Errorf("%d failures, want 3", failed)
	}
	counts, err := b.served(t, 40)
	if counts[0] != 0 || counts[1] != 20 || counts[2] != 20 || err != nil {
		t.Errorf("%v, %v; want the other two to share 40 evenly, without an error", counts, err)
	}
	if s := b.breaker(b.backends[0]).State(); s != atomicbreaker.StateOpen {
		t.Errorf("%v, want open", s)
	}

	b.backends[0].fail(codes.OK)
	b.clock.Advance(500 * time.Millisecond)
	for range 3 {
		if _, err := b.served(t, 30); err != nil {
			t.Error(err)
		}
		b.clock.Advance(time.Second)
	}
	if s := b.breaker(b.backends[0]).State(); s != atomicbreaker.StateClosed {
		t.Errorf("%v after the backend came back, want closed", s)
	}
}

func TestPolicyFailsAtOnceWhenAllAreOpen(t *testing.T) {
	b := newBalanced(t, 2, atomicbreaker.Config{ConsecutiveFailures: 1, Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second}}, grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	for _, backend := range b.backends {
		backend.fail(codes.Unavailable)
	}
	b.served(t, 1)
	b.clock.Advance(time.Second)
	b.served(t, 1)
	began := time.Now()
	counts, err := b.served(t, 40)
	if took := time.Since(began); took > time.Second || counts[0]+counts[1] != 0 {
		t.Errorf("40 RPCs took %v, backends got %v", took, counts)
	}
	var refusal *atomicbreaker.RejectedError
	if status.Code(err) != codes.Unavailable || !errors.Is(err, atomicbreaker.ErrOpen) || !errors.As(err, &refusal) || refusal.RetryAfter() != 4*time.Second {
		t.Errorf("got %v, want Unavailable by the breaker that will be ready first, in 4 s", err)
	}
	if s, err := b.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{}); err == nil {
		if _, err = s.Recv(); !atomicbreaker.IsRejected(err) {
			t.Errorf("stream: %v", err)
		}
	} else if !atomicbreaker.IsRejected(err) {
		t.Errorf("stream: %v", err)
	}
}

// TestPolicysRefusalIsIgnoredAbove: breakers in a row must not feed each other.
func TestPolicysRefusalIsIgnoredAbove(t *testing.T) {
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	b := newBalanced(t, 1, atomicbreaker.Config{}, grpc.WithUnaryInterceptor(guard.UnaryClient), grpc.WithStreamInterceptor(guard.StreamClient))
	want := booksOf(guard.Breaker)
	b.breaker(b.backends[0]).Trip()
	if err := call(t, b); !atomicbreaker.IsRejected(err) {
		t.Fatalf("got %v", err)
	}
	if s, err := b.StreamingOutputCall(t.Context(), &pb.StreamingOutputCallRequest{}); err == nil {
		drain(s)
	}
	want.ignored += 2
	settled(t, guard.Breaker, want)
}

func TestPolicyKeepsBreakersThroughReresolution(t *testing.T) {
	b := newBalanced(t, 3, atomicbreaker.Config{ConsecutiveFailures: 2})
	bad := b.backends[0]
	bad.fail(codes.Internal)
	b.served(t, 6)
	want := b.breaker(bad)
	if want.State() != atomicbreaker.StateOpen {
		t.Fatalf("%v, want open", want.State())
	}
	for _, answer := range [][]*backend{
		{b.backends[2], b.backends[1], bad}, // another order
		{b.backends[1]},                     // gone
		{bad, b.backends[1]},                // back
	} {
		b.resolver.UpdateState(b.endpoints(answer...))
		if counts, err := b.served(t, 20); counts[0] != 0 || err != nil {
			t.Errorf("after an answer of %d addresses: %v, %v; want none for the open one", len(answer), counts, err)
		}
	}
	if got := b.breaker(bad); got != want || got.State() != atomicbreaker.StateOpen {
		t.Error("the backend has another breaker now")
	}
	// An address of an endpoint that has two: their order is no matter.
	s := b.endpoints(b.backends[1])
	before := b.policy.Breakers().Len()
	fresh := startBackend(t)
	for _, addr := range [][]string{{"127.0.0.1:1", fresh.addr}, {fresh.addr, "127.0.0.1:1"}} {
		var as []resolver.Address
		for _, a := range addr {
			as = append(as, resolver.Address{Addr: a})
		}
		s.Endpoints = []resolver.Endpoint{s.Endpoints[0], {Addresses: as}}
		b.resolver.UpdateState(s)
		want := fresh.calls.Load() + 1
		for deadline := time.Now().Add(5 * time.Second); fresh.calls.Load() < want && time.Now().Before(deadline); {
			b.served(t, 1)
		}
	}
	if n := b.policy.Breakers().Len() - before; n != 1 {
		t.Errorf("%d breakers for an endpoint with two addresses, want 1", n)
	}
}

func TestPolicyKeepsBreakersThroughIdleness(t *testing.T) {
	b := newBalanced(t, 1, atomicbreaker.Config{}, grpc.WithIdleTimeout(20*time.Millisecond))
	want := b.breaker(b.backends[0])
	for deadline := time.Now().Add(5 * time.Second); b.conn.GetState() != connectivity.Idle; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the connection does not become idle")
		}
	}
	want.Trip()
	if err := call(t, b, grpc.WaitForReady(true)); !atomicbreaker.IsRejected(err) || b.breaker(b.backends[0]) != want {
		t.Errorf("after idleness the breaker is a new one: %v", err)
	}
}

func TestPolicySurvivesKilledAndRestartedServers(t *testing.T) {
	b := newBalanced(t, 2, atomicbreaker.Config{ConsecutiveFailures: 2})
	b.backends[0].kill()
	if counts, _ := b.served(t, 30, grpc.WaitForReady(true)); counts[1] < 28 {
		t.Errorf("%v; want the backend that lives to serve, but for RPCs in the moment of the kill", counts)
	}
	b.backends[0].start(t)
	b.clock.Advance(500 * time.Millisecond) // if it did trip
	b.connected(t, 2)
	b.backends[0].kill()
	b.backends[1].kill()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for status.Code(call(t, b)) == codes.OK { // until gRPC has noticed
		time.Sleep(time.Millisecond)
	}
	if _, err := b.EmptyCall(ctx, &pb.Empty{}, grpc.WaitForReady(true)); status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Unavailable {
		t.Errorf("with no backend at all: %v", err)
	}
	for _, backend := range b.backends {
		backend.start(t)
	}
	for range 4 {
		b.clock.Advance(time.Second)
		b.connected(t, 1)
	}
	b.connected(t, 2)
}

// TestPolicyCountsEveryTryForItsBackend: gRPC's retry goes elsewhere, and the
// interceptor above sees one success.
func TestPolicyCountsEveryTryForItsBackend(t *testing.T) {
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	b := newBalanced(t, 2, atomicbreaker.Config{ConsecutiveFailures: 3}, grpc.WithUnaryInterceptor(guard.UnaryClient))
	// One config for both: what DialOption sets, with a retry policy.
	config := strings.Replace(retryThrice, "{", b.policy.ServiceConfig()[:len(b.policy.ServiceConfig())-1]+",", 1)
	s := b.endpoints(b.backends...)
	if s.ServiceConfig = b.resolver.CC().ParseServiceConfig(config); s.ServiceConfig.Err != nil {
		t.Fatal(s.ServiceConfig.Err)
	}
	b.resolver.UpdateState(s)
	b.connected(t, 2)
	bad := b.breaker(b.backends[0])
	b.backends[0].fail(codes.Unavailable)
	guard.Breaker.Reset()
	before := guard.Breaker.Snapshot()
	if _, err := b.served(t, 20); err != nil {
		t.Errorf("a user saw %v", err)
	}
	after := guard.Breaker.Snapshot()
	if bad.Snapshot().Failed != 3 || bad.State() != atomicbreaker.StateOpen || after.Succeeded-before.Succeeded != 20 || after.Failed != before.Failed {
		t.Errorf("backend: %d failed, %v; operations: %d succeeded, %d failed; want 3, open, 20, 0",
			bad.Snapshot().Failed, bad.State(), after.Succeeded-before.Succeeded, after.Failed-before.Failed)
	}
}

func TestPolicyIgnoresCancellation(t *testing.T) {
	b := newBalanced(t, 1, atomicbreaker.Config{ConsecutiveFailures: 1})
	b.backends[0].answer(hang)
	before := booksOf(b.breaker(b.backends[0]))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	b.EmptyCall(ctx, &pb.Empty{})
	before.ignored++
	settled(t, b.breaker(b.backends[0]), before)
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	b.EmptyCall(ctx, &pb.Empty{})
	before.failed++
	settled(t, b.breaker(b.backends[0]), before)
}

func TestRegisterPolicyNamesEveryFault(t *testing.T) {
	_, err := breakergrpc.RegisterPolicy("No Good", breakergrpc.PolicyConfig{Breakers: atomicbreaker.GroupConfig[breakergrpc.Backend]{Max: -1}})
	if err == nil || !strings.Contains(err.Error(), `policy name is "No Good"`) || !strings.Contains(err.Error(), "GroupConfig.Max is -1") {
		t.Errorf("got %v", err)
	}
	if _, err := breakergrpc.RegisterPolicy("round_robin", breakergrpc.PolicyConfig{}); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("got %v", err)
	}
	if balancer.Get("no good") != nil {
		t.Error("a policy with faults was registered")
	}
}
