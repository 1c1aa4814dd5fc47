package watchhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch/watchhttp"
)

func ExampleTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	defer server.Close()

	var watch breakerwatch.Watch
	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "stock"}))
	client := &http.Client{Transport: &breakerhttp.Transport{
		Breaker: b,
		Base:    &watchhttp.Transport{Watch: &watch, Name: b.Name()},
	}}
	if resp, err := client.Get(server.URL); err == nil {
		resp.Body.Close()
	}
	last, _ := watch.LastError("stock")
	fmt.Println(last.Kind, "-", last.Text)
	// Output: status - status 502 Bad Gateway
}
