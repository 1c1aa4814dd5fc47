// Package breakerconnect puts circuit breakers into Connect: one interceptor for clients
// and handlers, for unary calls and streams, in each of the three protocols.
//
// Use it when your program calls or serves Connect. A first program, a client:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"net/http"
//
//		"connectrpc.com/connect"
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerconnect"
//		"google.golang.org/protobuf/types/known/emptypb"
//	)
//
//	func main() {
//		guard := &breakerconnect.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{Name: "billing"})}
//
//		// Use the constructor of your own service: it takes the same options.
//		client := connect.NewClient[emptypb.Empty, emptypb.Empty](http.DefaultClient,
//			"http://billing.example/billing.v1.Billing/Ping", connect.WithInterceptors(guard))
//
//		_, err := client.CallUnary(context.Background(), connect.NewRequest(new(emptypb.Empty)))
//		fmt.Println(err, atomicbreaker.IsRejected(err))
//	}
//
// # Choices
//
//   - One service: [Guard] with a Breaker.
//   - A breaker for each procedure: BreakerFor with [PerProcedure].
//   - A server that protects itself: the same Guard as an option of the handler.
//
// The rules are those of package breakergrpc; docs/statuses.md of the repository has them.
// An RPC is one outcome: retries of an http.RoundTripper below it are not seen.
package breakerconnect
