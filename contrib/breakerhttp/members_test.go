package breakerhttp_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// TestAllSickServesWhatIsPossible: four backends that fail 60 % of calls each.
// TestAllDeadIsThrottled: what serves nothing gets next to nothing, though
// MaxOpen keeps the pool from refusing for all.
func TestSetKeepsTheStateOfAnAddress(t *testing.T) {
	s := &site{answer: func(*http.Request) (int, error) { return 200, nil }}
	pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
	a := pool.Backends()[0]
	a.Breaker().Trip()
	if err := pool.Set(breakerhttp.Member{URL: "http://c"}, breakerhttp.Member{URL: "http://A:80/", Weight: 3, Drain: true}); err != nil {
		t.Fatal(err)
	}
	got := pool.Backends()
	if len(got) != 2 || got[1] != a || a.Breaker().State() != atomicbreaker.StateOpen || a.Weight() != 3 || !a.Drained() {
		t.Errorf("%d members; the one of the same address must be the same, open, drained and of weight 3", len(got))
	}
	for range 20 {
		if status(pool, "GET") != 200 {
			t.Fatal("a request failed")
		}
	}
	if s.asked["c"] != 20 {
		t.Errorf("%v, want all at c: a is drained and b has gone", s.asked)
	}
	err := pool.Set(breakerhttp.Member{URL: "x"}, breakerhttp.Member{URL: "http://y", Weight: -1})
	if err == nil || !strings.Contains(err.Error(), "[0]") || !strings.Contains(err.Error(), "[1].Weight is -1") {
		t.Errorf("%v, want both faults", err)
	}
	if len(pool.Backends()) != 2 {
		t.Error("members changed in spite of the fault")
	}
	pool.Set(breakerhttp.Member{URL: "http://a", Drain: true})
	if _, err := pool.RoundTrip(httptest.NewRequest("GET", "http://pool/", nil)); !errors.Is(err, breakerhttp.ErrNoBackend) {
		t.Errorf("all drained: %v", err)
	}
	w := httptest.NewRecorder()
	if pool.Proxy().ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Code != 503 {
		t.Errorf("all drained: the proxy answers %d, want 503", w.Code)
	}
}

// TestSetUnderLoad: members come and go, requests go on, nothing is left.
func TestSetUnderLoad(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	var urls []string
	var servers []*httptest.Server
	for range 4 {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
		servers = append(servers, s)
		urls = append(urls, s.URL)
	}
	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: urls})
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var failed, done atomic.Int64
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for !stop.Load() {
				resp, err := pool.RoundTrip(httptest.NewRequest("GET", "http://pool/", nil))
				if err != nil {
					failed.Add(1)
					continue
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				done.Add(1)
			}
		})
	}
	for i := range 50 {
		var members []breakerhttp.Member
		for k, u := range urls {
			if k != i%len(urls) {
				members = append(members, breakerhttp.Member{URL: u, Weight: float64(1 + i%3), Drain: k == (i+1)%len(urls)})
			}
		}
		if err := pool.Set(members...); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop.Store(true)
	load.Wait()
	if failed.Load() != 0 || done.Load() == 0 {
		t.Errorf("%d of %d failed", failed.Load(), done.Load()+failed.Load())
	}
	pool.CloseIdleConnections()
	for _, s := range servers {
		s.Close()
	}
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= files })
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // not on this system
	}
	return len(entries)
}

func TestARemovedMemberLetsGoOfItsConnections(t *testing.T) {
	var open atomic.Int64
	s := httptest.NewUnstartedServer(says("a"))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	pool, _ := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{s.URL}})
	resp, err := pool.RoundTrip(httptest.NewRequest("GET", "http://pool/", nil))
	if err != nil {
		t.Fatal(err)
	}
	pool.Set(breakerhttp.Member{URL: "http://127.0.0.1:1"})
	if open.Load() != 1 {
		t.Errorf("%d connections, want the one in use", open.Load())
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "a" {
		t.Errorf("%q, %v", body, err)
	}
	resp.Body.Close()
	eventually(t, "the connection is closed", func() bool { return open.Load() == 0 })
}

// TestIdleConnectionsAreKept: 30 in flight need some 30 connections, not one
// for every other request.
func TestIdleConnectionsAreKept(t *testing.T) {
	var dials atomic.Int64
	s := httptest.NewUnstartedServer(says("a"))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			dials.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	pool, _ := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{s.URL}})
	defer pool.CloseIdleConnections()
	var load sync.WaitGroup
	for range 30 {
		load.Go(func() {
			for range 50 {
				resp, err := pool.RoundTrip(httptest.NewRequest("GET", "http://pool/", nil))
				if err != nil {
					t.Error(err)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	load.Wait()
	if n := dials.Load(); n > 90 {
		t.Errorf("%d dials for 1500 requests at 30 in flight", n)
	}
}

// TestAffinity: a key keeps its backend while that takes requests.
// TestBehindItsPeers: a member below its breaker's threshold that is slow or
// fails gets less; where all are alike nobody does.
// TestRedirects: to another host past the pool, to its own name or a member
// through it.
// TestChecks: they take members out and back, and count nowhere.
