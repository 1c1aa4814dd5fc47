package breakerhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// The benchmarks compare each integration with the same host without it: over
// loopback, which is what a user sees, and without any network, which is what
// the integration costs.

func benchClient(b *testing.B, transport http.RoundTripper, url string) {
	b.ReportAllocs()
	client := &http.Client{Transport: transport}
	for b.Loop() {
		resp, err := client.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func BenchmarkTransport(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer server.Close()
	hosts, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[breakerhttp.Origin]{})
	if err != nil {
		b.Fatal(err)
	}
	breaker := atomicbreaker.MustNew(atomicbreaker.Config{})
	answer := &http.Response{StatusCode: 200, Body: http.NoBody}
	for net, base := range map[string]http.RoundTripper{
		"loopback": &http.Transport{},
		"none":     roundTrip(func(*http.Request) (*http.Response, error) { return answer, nil }),
	} {
		for guard, transport := range map[string]http.RoundTripper{
			"none":      base,
			"breaker":   &breakerhttp.Transport{Base: base, Breaker: breaker},
			"perhost":   &breakerhttp.Transport{Base: base, BreakerFor: breakerhttp.PerHost(hosts)},
			"judgebody": &breakerhttp.Transport{Base: base, Breaker: breaker, JudgeBody: true},
		} {
			b.Run("net="+net+"/guard="+guard, func(b *testing.B) {
				if net == "loopback" {
					benchClient(b, transport, server.URL)
					return
				}
				b.ReportAllocs()
				req := httptest.NewRequest("GET", server.URL, nil)
				for b.Loop() {
					transport.RoundTrip(req)
				}
			})
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	guarded := &breakerhttp.Handler{Next: next, Breaker: atomicbreaker.MustNew(atomicbreaker.Config{})}
	for guard, h := range map[string]http.Handler{"none": next, "breaker": guarded} {
		b.Run("net=loopback/guard="+guard, func(b *testing.B) {
			server := httptest.NewServer(h)
			defer server.Close()
			benchClient(b, &http.Transport{}, server.URL)
		})
		b.Run("net=none/guard="+guard, func(b *testing.B) {
			b.ReportAllocs()
			req := httptest.NewRequest("GET", "/", nil)
			w := &nullWriter{header: http.Header{}}
			for b.Loop() {
				h.ServeHTTP(w, req)
			}
		})
	}
}

type nullWriter struct{ header http.Header }

func (w *nullWriter) Header() http.Header         { return w.header }
func (w *nullWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *nullWriter) WriteHeader(int)             {}
func (w *nullWriter) Flush()                      {}

func BenchmarkProxy(b *testing.B) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer backend.Close()
	target, _ := url.Parse(backend.URL)
	plain := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.SetXForwarded() }, Transport: &http.Transport{}}
	proxies := map[string]http.Handler{"none": plain}
	for name, choice := range map[string]breakerhttp.Choice{"roundrobin": breakerhttp.RoundRobin, "leastinflight": breakerhttp.LeastRequest} {
		pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{backend.URL}, Choice: choice, Transport: breakerhttp.Transport{Base: &http.Transport{}}})
		if err != nil {
			b.Fatal(err)
		}
		proxies[name] = pool.Proxy()
	}
	for guard, proxy := range proxies {
		b.Run("net=loopback/guard="+guard, func(b *testing.B) {
			front := httptest.NewServer(proxy)
			defer front.Close()
			benchClient(b, &http.Transport{}, front.URL)
		})
	}
	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{
		Backends: []string{"http://a", "http://b", "http://c"},
		Transport: breakerhttp.Transport{Base: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("net=none/guard=pool-of-3", func(b *testing.B) {
		b.ReportAllocs()
		req := httptest.NewRequestWithContext(context.Background(), "GET", "/", nil)
		for b.Loop() {
			pool.RoundTrip(req)
		}
	})
}
