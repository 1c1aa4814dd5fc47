package breakergrpc_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/test/bufconn"
)

// BenchmarkUnary compares RPCs with each integration and without, over an
// in-memory connection.
func BenchmarkUnary(b *testing.B) {
	policy, err := breakergrpc.RegisterPolicy(fmt.Sprint("bench_", time.Now().UnixNano()), breakergrpc.PolicyConfig{})
	if err != nil {
		b.Fatal(err)
	}
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	for _, c := range []struct {
		name   string
		client []grpc.DialOption
		server []grpc.ServerOption
	}{
		{"none", nil, nil},
		{"client", []grpc.DialOption{grpc.WithUnaryInterceptor(guard.UnaryClient)}, nil},
		{"server", nil, []grpc.ServerOption{grpc.UnaryInterceptor(guard.UnaryServer)}},
		{"round_robin", []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`)}, nil},
		{"policy", []grpc.DialOption{policy.DialOption()}, nil},
	} {
		b.Run("guard="+c.name, func(b *testing.B) {
			l := bufconn.Listen(1 << 16)
			server := grpc.NewServer(c.server...)
			pb.RegisterTestServiceServer(server, &backend{})
			go server.Serve(l)
			defer server.Stop()
			dialer := grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return l.Dial() })
			conn, err := grpc.NewClient("passthrough:///bench", append(c.client, dialer, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			client := pb.NewTestServiceClient(conn)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.EmptyCall(context.Background(), &pb.Empty{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInterceptor is an interceptor around nothing.
func BenchmarkInterceptor(b *testing.B) {
	guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	ctx := context.Background()
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	handle := func(context.Context, any) (any, error) { return nil, nil }
	info := &grpc.UnaryServerInfo{FullMethod: "/s/m"}
	b.Run("net=none/guard=client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			guard.UnaryClient(ctx, "/s/m", nil, nil, nil, invoke)
		}
	})
	b.Run("net=none/guard=server", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			guard.UnaryServer(ctx, nil, info, handle)
		}
	})
}
