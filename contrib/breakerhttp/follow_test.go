package breakerhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

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
