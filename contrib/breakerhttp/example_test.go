package breakerhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func ExampleTransport() {
	billing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "database is gone", http.StatusInternalServerError)
	}))
	defer billing.Close()

	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "billing", ConsecutiveFailures: 3})
	client := &http.Client{Transport: &breakerhttp.Transport{Breaker: b}}
	for range 5 {
		resp, err := client.Get(billing.URL)
		switch {
		case atomicbreaker.IsRejected(err):
			fmt.Println("not sent:", b.State())
		case err != nil:
			fmt.Println("no answer:", err)
		default:
			fmt.Println(resp.Status)
			resp.Body.Close()
		}
	}
	// Output:
	// 500 Internal Server Error
	// 500 Internal Server Error
	// 500 Internal Server Error
	// not sent: open
	// not sent: open
}
