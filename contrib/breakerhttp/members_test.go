package breakerhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// TestAllSickServesWhatIsPossible: four backends that fail 60 % of calls each.
func TestAllSickServesWhatIsPossible(t *testing.T) {
	run := func(maxOpen float64) (served, asked int) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			dice := rand.New(rand.NewPCG(1, 2))
			s := &site{answer: func(*http.Request) (int, error) {
				time.Sleep(20 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				if dice.Float64() < 0.6 {
					return 500, nil
				}
				return 200, nil
			}}
			pool := newPool(t, s, breakerhttp.PoolConfig{MaxOpen: maxOpen}, "a", "b", "c", "d")
			var clients sync.WaitGroup
			for range 9000 { // 300 a second
				asked++
				clients.Go(func() {
					if status(pool, "POST") == 200 {
						mu.Lock()
						served++
						mu.Unlock()
					}
				})
				time.Sleep(time.Second / 300)
			}
			clients.Wait()
		})
		return served, asked
	}
	served, asked := run(0)
	if possible := 0.4 * float64(asked); float64(served) < 0.9*possible {
		t.Errorf("served %d of %d, want at least 0.9 of the %.0f that are possible", served, asked, possible)
	}
	if without, _ := run(1); without > served*4/5 {
		t.Errorf("with MaxOpen 1 it serves %d too: the test tests nothing", without)
	}
}

// TestAllDeadIsThrottled: what serves nothing gets next to nothing, though
// MaxOpen keeps the pool from refusing for all.
func TestAllDeadIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: func(*http.Request) (int, error) { return 500, nil }}
		pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b", "c", "d")
		for range 600 {
			status(pool, "GET")
			time.Sleep(time.Second / 60)
		}
		before := s.total()
		for range 3600 {
			status(pool, "GET")
			time.Sleep(time.Second / 60)
		}
		if got := s.total() - before; got > 360 {
			t.Errorf("in a minute 3600 requests came through %d times, want at most a tenth", got)
		}
	})
}

func TestHeldOpenStaysOpen(t *testing.T) {
	s := &site{answer: func(*http.Request) (int, error) { return 200, nil }}
	pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
	for _, b := range pool.Backends() {
		b.Breaker().SetMode(atomicbreaker.ForcedOpen)
	}
	if got := status(pool, "GET"); got != 0 || s.total() != 0 {
		t.Errorf("got %d, %d were asked; want a refusal", got, s.total())
	}
}

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

func TestWeights(t *testing.T) {
	for _, choice := range []breakerhttp.Choice{breakerhttp.LeastRequest, breakerhttp.RoundRobin} {
		s := &site{answer: func(*http.Request) (int, error) { return 200, nil }}
		c := breakerhttp.PoolConfig{Choice: choice, Members: []breakerhttp.Member{{URL: "http://a"}, {URL: "http://b", Weight: 3}}, Transport: breakerhttp.Transport{Base: s}}
		pool, err := breakerhttp.NewPool(c)
		if err != nil {
			t.Fatal(err)
		}
		for range 4000 {
			status(pool, "GET")
		}
		if a := s.asked["a"]; a > 1200 || choice == breakerhttp.RoundRobin && a != 1000 {
			t.Errorf("choice %d: %v, want a quarter at a, at most", choice, s.asked)
		}
	}
}

// TestAffinity: a key keeps its backend while that takes requests.
func TestAffinity(t *testing.T) {
	s := &site{answer: func(r *http.Request) (int, error) { return 200, nil }}
	hosts := []string{"a", "b", "c", "d"}
	pool := newPool(t, s, breakerhttp.PoolConfig{Key: func(r *http.Request) string { return r.Header.Get("User") }}, hosts...)
	home := func(user int) string {
		clear(s.asked)
		status(pool, "GET", "User", fmt.Sprint(user))
		for h := range s.asked {
			return h
		}
		return ""
	}
	homes := map[int]string{}
	count := map[string]int{}
	for u := range 1000 {
		homes[u] = home(u)
		count[homes[u]]++
		if home(u) != homes[u] {
			t.Fatal("a key has two homes")
		}
	}
	for _, h := range hosts {
		if count[h] < 200 || count[h] > 300 {
			t.Errorf("%v, want a quarter each", count)
		}
	}
	pool.Backends()[1].Breaker().Trip()
	for u := range 1000 {
		if h := home(u); homes[u] != "b" && h != homes[u] || h == "b" {
			t.Fatalf("key of %s went to %s while b is open", homes[u], h)
		}
	}
	pool.Backends()[1].Breaker().Reset()
	for u := range 1000 {
		if home(u) != homes[u] {
			t.Fatal("a key did not come home")
		}
	}
}

// TestBehindItsPeers: a member below its breaker's threshold that is slow or
// fails gets less; where all are alike nobody does.
func TestBehindItsPeers(t *testing.T) {
	for name, row := range map[string]struct {
		answer    func(host string, dice float64) (time.Duration, int)
		low, high int // requests of 3000 that a gets
	}{
		"alike":    {func(_ string, d float64) (time.Duration, int) { return time.Duration(d * 2e7), 200 }, 850, 1150},
		"all slow": {func(_ string, d float64) (time.Duration, int) { return time.Second, 200 }, 850, 1150},
		"all fail": {func(_ string, d float64) (time.Duration, int) { return 0, map[bool]int{true: 500, false: 200}[d < 0.3] }, 700, 1300},
		"one slow": {func(h string, _ float64) (time.Duration, int) {
			return map[bool]time.Duration{true: 100e6, false: 5e6}[h == "a"], 200
		}, 50, 500},
		"one fails": {func(h string, d float64) (time.Duration, int) {
			return 5e6, map[bool]int{true: 500, false: 200}[h == "a" && d < 0.4]
		}, 50, 500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dice := rand.New(rand.NewPCG(3, 4))
				s := &site{answer: func(r *http.Request) (int, error) {
					took, status := row.answer(r.URL.Host, dice.Float64())
					time.Sleep(took)
					return status, nil
				}}
				pool := newPool(t, s, breakerhttp.PoolConfig{Choice: breakerhttp.RoundRobin, Breaker: atomicbreaker.Config{Mode: atomicbreaker.ForcedClosed}}, "a", "b", "c")
				for range 3000 {
					status(pool, "POST")
					time.Sleep(5 * time.Millisecond)
				}
				if n := s.asked["a"]; n < row.low || n > row.high {
					t.Errorf("a got %d of 3000 (%v), want %d to %d", n, s.asked, row.low, row.high)
				}
			})
		})
	}
}

// TestRedirects: to another host past the pool, to its own name or a member
// through it.
func TestRedirects(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/further" {
			http.Redirect(w, r, "/end", http.StatusFound)
			return
		}
		elsewhere.Add(1)
		io.WriteString(w, "elsewhere")
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/further", http.StatusFound)
		case "/relative":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/self":
			http.Redirect(w, r, "http://"+r.Host+"/end", http.StatusFound)
		default:
			io.WriteString(w, "here")
		}
	}))
	defer s.Close()
	pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.CloseIdleConnections()
	client := &http.Client{Transport: pool}
	for path, want := range map[string]string{"/away": "elsewhere", "/relative": "here", "/self": "here"} {
		resp, err := client.Get("http://any.example" + path)
		if err != nil {
			t.Fatal(path, err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != want {
			t.Errorf("%s: %q, want %q", path, body, want)
		}
	}
	if n := pool.Backends()[0].Breaker().Snapshot().Succeeded; n != 5 || elsewhere.Load() != 1 {
		t.Errorf("the pool was asked %d times, want 5; elsewhere %d, want 1", n, elsewhere.Load())
	}
}

func TestFollowDNS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		addrs, fail := []string{"10.0.0.2", "10.0.0.1", "::ffff:10.0.0.1"}, error(nil)
		var failures int
		dns := breakerhttp.DNS{
			URL: "http://billing.internal:8080/api", Interval: time.Second, OnError: func(error) { failures++ },
			Lookup: func(_ context.Context, host string) (found []netip.Addr, _ error) {
				mu.Lock()
				defer mu.Unlock()
				if host != "billing.internal" {
					t.Errorf("looked up %q", host)
				}
				for _, a := range addrs {
					found = append(found, netip.MustParseAddr(a))
				}
				return found, fail
			},
		}
		members, err := dns.Members(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var host string
		pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{Members: members, Transport: breakerhttp.Transport{Base: &site{answer: func(r *http.Request) (int, error) {
			host = r.Host
			return 200, nil
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		wantMembers := func(want string) {
			t.Helper()
			var got []string
			for _, b := range pool.Backends() {
				got = append(got, b.URL().String())
			}
			if fmt.Sprint(got) != want {
				t.Errorf("members %v, want %s", got, want)
			}
		}
		wantMembers("[http://10.0.0.1:8080/api http://10.0.0.2:8080/api]")
		if status(pool, "GET"); host != "billing.internal:8080" {
			t.Errorf("Host is %q", host)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pool.Follow(ctx, dns) }()
		change := func(err error, to ...string) {
			mu.Lock()
			addrs, fail = to, err
			mu.Unlock()
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
		}
		kept := pool.Backends()[1]
		change(nil, "10.0.0.2", "2001:db8::1")
		wantMembers("[http://10.0.0.2:8080/api http://[2001:db8::1]:8080/api]")
		if pool.Backends()[0] != kept {
			t.Error("the member that stayed lost its state")
		}
		change(errors.New("no such host"))
		change(nil)
		wantMembers("[http://10.0.0.2:8080/api http://[2001:db8::1]:8080/api]")
		if failures < 2 {
			t.Errorf("%d failures told, want 2", failures)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestChecks: they take members out and back, and count nowhere.
func TestChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sick atomic.Value
		sick.Store("b")
		s := &site{answer: func(r *http.Request) (int, error) {
			if r.URL.Path == "/healthz" && strings.Contains(sick.Load().(string), r.URL.Host) {
				return 503, nil
			}
			return 200, nil
		}}
		pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b", "c", "d")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- pool.Check(ctx, breakerhttp.Check{Path: "/healthz", Interval: time.Second}) }()
		asked := func() int {
			s.mu.Lock()
			clear(s.asked)
			s.mu.Unlock()
			for range 100 {
				status(pool, "GET")
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.asked["b"]
		}
		time.Sleep(1500 * time.Millisecond) // two checks
		if n := asked(); n == 0 {
			t.Error("out after two failed checks, want three")
		}
		time.Sleep(2 * time.Second)
		if n := asked(); n != 0 || !pool.Backends()[1].Down() {
			t.Errorf("%d requests to a member whose checks fail", n)
		}
		sick.Store("bcd") // more than MaxOpen: not believed
		time.Sleep(4 * time.Second)
		if n := asked(); n == 0 {
			t.Error("checks took out more than half of the members")
		}
		sick.Store("")
		time.Sleep(3 * time.Second)
		if n := asked(); n == 0 || pool.Backends()[1].Down() {
			t.Error("not taken back")
		}
		for _, b := range pool.Backends() {
			if n := b.Breaker().Snapshot(); n.Failed != 0 || b.InFlight() != 0 {
				t.Errorf("checks counted: %d failures", n.Failed)
			}
		}
		cancel()
		<-ended
		if err := (breakerhttp.Check{Path: "x", Fall: -1, Interval: time.Nanosecond, Timeout: time.Hour}).Validate(); err == nil || strings.Count(err.Error(), "\n") != 3 {
			t.Errorf("%v, want four faults", err)
		}
	})
}
