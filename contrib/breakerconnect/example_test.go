package breakerconnect_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerconnect"
	"google.golang.org/protobuf/types/known/emptypb"
)

const ping = "/billing.v1.Billing/Ping"

// sick serves an RPC that always fails.
func sick(options ...connect.HandlerOption) *httptest.Server {
	return httptest.NewServer(connect.NewUnaryHandler(ping,
		func(context.Context, *connect.Request[emptypb.Empty]) (*connect.Response[emptypb.Empty], error) {
			return nil, connect.NewError(connect.CodeUnavailable, errors.New("database is gone"))
		}, options...))
}

// A client with one breaker for a service.
func ExampleGuard() {
	server := sick()
	defer server.Close()

	guard := &breakerconnect.Guard{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{Name: "billing", ConsecutiveFailures: 2})}
	client := connect.NewClient[emptypb.Empty, emptypb.Empty](http.DefaultClient, server.URL+ping, connect.WithInterceptors(guard))
	for range 3 {
		_, err := client.CallUnary(context.Background(), connect.NewRequest(new(emptypb.Empty)))
		fmt.Println(connect.CodeOf(err), atomicbreaker.IsRejected(err))
	}
	// Output:
	// unavailable false
	// unavailable false
	// unavailable true
}

// A breaker for each procedure.
func ExamplePerProcedure() {
	server := sick()
	defer server.Close()

	procedures, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{
		Config: atomicbreaker.Config{ConsecutiveFailures: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	guard := &breakerconnect.Guard{BreakerFor: breakerconnect.PerProcedure(procedures)}
	client := connect.NewClient[emptypb.Empty, emptypb.Empty](http.DefaultClient, server.URL+ping, connect.WithInterceptors(guard))
	_, _ = client.CallUnary(context.Background(), connect.NewRequest(new(emptypb.Empty)))
	for name, b := range procedures.All() {
		fmt.Println(name, b.State())
	}
	// Output: /billing.v1.Billing/Ping open
}
