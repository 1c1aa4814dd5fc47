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

// A breaker for each host.
func ExamplePerHost() {
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer down.Close()
	well := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	defer well.Close()

	hosts, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[breakerhttp.Origin]{
		Config: atomicbreaker.Config{ConsecutiveFailures: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: &breakerhttp.Transport{BreakerFor: breakerhttp.PerHost(hosts)}}
	for _, url := range []string{down.URL, well.URL, down.URL} {
		resp, err := client.Get(url)
		if err != nil {
			fmt.Println("refused:", atomicbreaker.IsRejected(err))
			continue
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// 503 Service Unavailable
	// 200 OK
	// refused: true
}

// A server that protects itself: what it refuses is answered at once.
func ExampleHandler() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "search", ConsecutiveFailures: 2})
	handler := &breakerhttp.Handler{Breaker: b, Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	})}
	for range 3 {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
		fmt.Printf("%d, Retry-After %q\n", answer.Code, answer.Header().Get("Retry-After"))
	}
	// Output:
	// 500, Retry-After ""
	// 500, Retry-After ""
	// 503, Retry-After "1"
}

// A reverse proxy with two backends, of which one is broken.
func ExampleNewPool() {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer broken.Close()
	well := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer well.Close()

	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{
		Backends: []string{broken.URL, well.URL},
		Choice:   breakerhttp.RoundRobin,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.CloseIdleConnections()
	proxy := httptest.NewServer(pool.Proxy())
	defer proxy.Close()

	for range 4 { // a GET that failed is sent to the other backend
		resp, err := http.Get(proxy.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// 200 OK
	// 200 OK
	// 200 OK
	// 200 OK
}
