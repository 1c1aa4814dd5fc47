package faults

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

type server struct {
	pb.UnimplementedTestServiceServer
}

func (server) UnaryCall(_ context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	return &pb.SimpleResponse{Payload: &pb.Payload{Body: make([]byte, r.ResponseSize)}}, nil
}

func serveGRPC(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterTestServiceServer(s, server{})
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

var fastReconnect = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff: backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 5 * time.Millisecond}, MinConnectTimeout: 2 * time.Second,
})

func dial(t *testing.T, target string, opts ...grpc.DialOption) pb.TestServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(target, append(opts, fastReconnect, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return pb.NewTestServiceClient(conn)
}

func call(t *testing.T, c pb.TestServiceClient, size int32) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := c.UnaryCall(ctx, &pb.SimpleRequest{ResponseSize: size})
	return err
}

// connect makes a call, and takes the time that it needs.
func connect(t *testing.T, c pb.TestServiceClient) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.UnaryCall(ctx, &pb.SimpleRequest{ResponseSize: 1}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
}

func TestGRPC(t *testing.T) {
	addr := serveGRPC(t)
	for _, c := range []struct {
		name, toxic string
		want        books
	}{
		{"sound", "", books{succeeded: 1}},
		{"latency beyond the deadline", latency, books{failed: 1}},
		{"latency within the deadline is slow", late, books{succeeded: 1, slow: 1}},
		{"half-open TCP", halfOpen, books{failed: 1}},
		{"request swallowed", swallowed, books{failed: 1}},
		{"reset", reset, books{failed: 1}},
		{"closed", closed, books{failed: 1}},
		{"bandwidth too small for the answer", bandwidth, books{failed: 1}},
		{"answer cut", cut, books{failed: 1}},
		{"in slices", sliced, books{succeeded: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			n := newNetwork(t, addr)
			guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{SlowCallDuration: 40 * time.Millisecond})}
			client := dial(t, n.addr(), grpc.WithUnaryInterceptor(guard.UnaryClient))
			connect(t, client) // before the fault
			guard.Breaker = atomicbreaker.MustNew(atomicbreaker.Config{SlowCallDuration: 40 * time.Millisecond})
			n.spoil(t, c.toxic)
			size := int32(1000)
			if c.want.failed == 1 {
				size = 100_000
			}
			call(t, client, size)
			wantBooks(t, guard.Breaker, c.want)
		})
	}
}

func TestGRPCOutages(t *testing.T) {
	addr := serveGRPC(t)
	for name, toxic := range map[string]string{"down": "", "half-open TCP": halfOpen, "reset": reset, "closed": closed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, addr)
			guard := &breakergrpc.Guard{Breaker: quick()}
			client := dial(t, n.addr(), grpc.WithUnaryInterceptor(guard.UnaryClient))
			f := func() error { return call(t, client, 10) }
			connect(t, client)
			if toxic == "" {
				n.down()
				outage(t, guard.Breaker, f, func() { n.up(t) })
				return
			}
			n.spoil(t, toxic)
			outage(t, guard.Breaker, f, func() { n.heal(t) })
		})
	}
}

// TestGRPCPolicy: a backend whose connection stays up and carries nothing,
// which gRPC itself takes for a good one, is left out after three RPCs.
func TestGRPCPolicy(t *testing.T) {
	addr := serveGRPC(t)
	good, bad := newNetwork(t, addr), newNetwork(t, addr)
	policy, err := breakergrpc.RegisterPolicy(fmt.Sprint("faults_", time.Now().UnixNano()), breakergrpc.PolicyConfig{Breakers: atomicbreaker.GroupConfig[breakergrpc.Backend]{
		Config: atomicbreaker.Config{ConsecutiveFailures: 3, Cooldown: atomicbreaker.Cooldown{Min: time.Minute, Max: time.Minute}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := manual.NewBuilderWithScheme("faults")
	r.InitialState(resolver.State{Endpoints: []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: good.addr()}}}, {Addresses: []resolver.Address{{Addr: bad.addr()}}}}})
	client := dial(t, "faults:///", policy.DialOption(), grpc.WithResolvers(r))
	for range 20 { // until both are connected
		connect(t, client)
	}
	bad.spoil(t, halfOpen)
	failed := 0
	for range 40 {
		if call(t, client, 1) != nil {
			failed++
		}
	}
	states := map[string]string{}
	for b, breaker := range policy.Breakers().All() {
		states[b.Address] = fmt.Sprint(breaker.State())
	}
	if failed != 3 || states[bad.addr()] != "open" || states[good.addr()] != "closed" {
		t.Errorf("%d of 40 RPCs failed, %v; want 3, %s open", failed, states, bad.addr())
	}
}

// TestGRPCKernel: the kernel drops what asks to connect, so that there is no
// connection within the deadline.
func TestGRPCKernel(t *testing.T) {
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	client := dial(t, fullBacklog(t), grpc.WithUnaryInterceptor(guard.UnaryClient))
	if err := call(t, client, 1); err == nil {
		t.Error("no error")
	}
	wantBooks(t, guard.Breaker, books{failed: 1})
}
