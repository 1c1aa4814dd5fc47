package breakergrpc_test

import (
	"context"
	"fmt"
	"net"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

const pingMethod = "/billing.Billing/Ping"

// sick starts a server on loopback whose RPCs all fail, and returns its address.
func sick(options ...grpc.ServerOption) (address string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer(append(options, grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.Unavailable, "database is gone")
	}))...)
	go server.Serve(listener)
	return listener.Addr().String(), server.Stop
}

// invoke makes an RPC; use the client of your own service.
func invoke(conn *grpc.ClientConn) error {
	return conn.Invoke(context.Background(), pingMethod, new(emptypb.Empty), new(emptypb.Empty))
}

// A client with one breaker for a service.
func ExampleGuard() {
	address, stop := sick()
	defer stop()

	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{Name: "billing", ConsecutiveFailures: 2})}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(guard.UnaryClient), grpc.WithStreamInterceptor(guard.StreamClient))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	for range 3 {
		err := invoke(conn)
		fmt.Println(status.Code(err), atomicbreaker.IsRejected(err))
	}
	// Output:
	// Unavailable false
	// Unavailable false
	// Unavailable true
}

// A breaker for each method.
func ExamplePerMethod() {
	address, stop := sick()
	defer stop()

	methods, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[breakergrpc.Method]{
		Config: atomicbreaker.Config{ConsecutiveFailures: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	guard := &breakergrpc.Guard{BreakerFor: breakergrpc.PerMethod(methods)}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(guard.UnaryClient), grpc.WithStreamInterceptor(guard.StreamClient))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	_ = invoke(conn)
	for method, b := range methods.All() {
		fmt.Println(method.Name, b.State())
	}
	// Output: /billing.Billing/Ping open
}

// Several backends, each with a breaker. Register the policy once, when the program starts.
func ExampleRegisterPolicy() {
	policy, err := breakergrpc.RegisterPolicy("example_round_robin", breakergrpc.PolicyConfig{
		Choice: breakergrpc.LeastRequest,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	address, stop := sick()
	defer stop()
	conn, err := grpc.NewClient("dns:///"+address, policy.DialOption(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(status.Code(invoke(conn)))
	for _, b := range policy.Breakers().All() {
		fmt.Println(b.State(), b.Snapshot().Failed)
	}
	// Output:
	// Unavailable
	// closed 1
}
