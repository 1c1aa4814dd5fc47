// Package breakergrpc puts circuit breakers into gRPC: interceptors for clients
// and servers, and a load balancing policy with a breaker for each backend.
//
// Use it when your program calls or serves gRPC. A first program, a client:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"time"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakergrpc"
//		"google.golang.org/grpc"
//		"google.golang.org/grpc/credentials/insecure"
//		"google.golang.org/grpc/health/grpc_health_v1"
//	)
//
//	func main() {
//		guard := &breakergrpc.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{Name: "billing"})}
//		conn, err := grpc.NewClient("billing.example:443",
//			grpc.WithTransportCredentials(insecure.NewCredentials()),
//			grpc.WithUnaryInterceptor(guard.UnaryClient),
//			grpc.WithStreamInterceptor(guard.StreamClient))
//		if err != nil {
//			panic(err)
//		}
//		defer conn.Close()
//
//		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
//		defer cancel()
//		_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, new(grpc_health_v1.HealthCheckRequest))
//		fmt.Println(err, atomicbreaker.IsRejected(err)) // use the client of your own service
//	}
//
// # Choices
//
//   - One service: a [Guard] as interceptor. It sees operations: one outcome for
//     each RPC, however often gRPC's own retry policy tried it.
//   - A breaker for each method: [Guard] with BreakerFor and [PerMethod].
//   - Several backends: [RegisterPolicy]. The policy sees each try, and for
//     which backend. It leaves out backends whose breakers refuse.
//   - A server that protects itself: the server interceptors of [Guard].
//
// gRPC's own outlier detection ejects backends too. It comes with the xds package
// and its configuration, and does not hold back the load of a backend that recovers.
//
// What each code counts as is in docs/statuses.md of the repository. A program
// with two servers is in examples/grpclb.
package breakergrpc
