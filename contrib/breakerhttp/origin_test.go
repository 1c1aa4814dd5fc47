package breakerhttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// However an origin is spelled it is one key, without user or password.
//
// Field: S194, derived (host normalisation); yammer/circuitbox#87 stopped parsing
// hosts implicitly.
func TestSpellingsOfOneOriginAreOneKey(t *testing.T) {
	for want, spellings := range map[string][]string{
		"https://example.com:443": {"https://EXAMPLE.com", "HTTPS://example.com/a?b", "https://example.com.", "https://example.com:443", "https://user:secret@example.com/"},
		"http://example.com:80":   {"http://example.com", "http://Example.Com.:80/x"},
		"http://[::1]:80":         {"http://[::1]:80", "http://[0:0:0:0:0:0:0:1]:80", "http://[::1]"},
		"http://127.0.0.1:8080":   {"http://127.0.0.1:8080"},
		"http://[fe80::1%eth0]:1": {"http://[FE80::1%25eth0]:1"},
		"wss://example.com:443":   {"wss://example.com"},
		"ftp://example.com:":      {"ftp://example.com"},
	} {
		for _, spelling := range spellings {
			u, err := url.Parse(spelling)
			if err != nil {
				t.Fatal(err)
			}
			if got := breakerhttp.OriginOf(u).String(); got != want {
				t.Errorf("%s is %s, want %s", spelling, got, want)
			}
		}
	}
	different := map[breakerhttp.Origin]bool{}
	for _, s := range []string{"http://a", "https://a", "http://a:8080", "http://b", "http://a.b", "http://ab"} {
		u, _ := url.Parse(s)
		different[breakerhttp.OriginOf(u)] = true
	}
	if len(different) != 6 {
		t.Errorf("%d keys for 6 origins: %v", len(different), different)
	}
}

func newGroup(t *testing.T, c atomicbreaker.GroupConfig[breakerhttp.Origin]) *atomicbreaker.Group[breakerhttp.Origin] {
	t.Helper()
	g, err := atomicbreaker.NewGroup(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Each host has a breaker of its own, named after it without a secret.
//
// Field: S192, diegosouzapw/OmniRoute#10837 (2026-08-20); krakenjs/levee#7 (2015).
//
// Field: S132, traefik/traefik#3590 (2018-07-10); resilience4j/resilience4j#1062.
func TestPerHostKeepsHostsApart(t *testing.T) {
	onBoth(t, answer(500), func(t *testing.T, bad *harness) {
		good := newHarness(t, false, answer(http.StatusFound, "Location", bad.server.URL+"/"))
		g := newGroup(t, atomicbreaker.GroupConfig[breakerhttp.Origin]{Config: atomicbreaker.Config{Name: "out", ConsecutiveFailures: 2}})
		client := &http.Client{Transport: &breakerhttp.Transport{BreakerFor: breakerhttp.PerHost(g), Base: bad.base}}
		for range 4 {
			if resp, err := client.Get(good.server.URL); err == nil { // and on to bad
				resp.Body.Close()
			}
		}
		states := map[string]atomicbreaker.State{}
		for o, b := range g.All() {
			states[o.String()] = b.State()
			if strings.Contains(b.Name(), "@") || b.Name() != "out "+o.String() {
				t.Errorf("name %q for %v", b.Name(), o)
			}
		}
		if len(states) != 2 || states[good.server.URL] != atomicbreaker.StateClosed || states[bad.server.URL] != atomicbreaker.StateOpen {
			t.Errorf("%v; want %s closed and %s open", states, good.server.URL, bad.server.URL)
		}
		if good.served.Load() != 4 || bad.served.Load() != 2 {
			t.Errorf("good served %d, bad %d; want 4, 2", good.served.Load(), bad.served.Load())
		}
	})
}

func TestPerHostIsBoundedWhateverRedirectsSay(t *testing.T) {
	g := newGroup(t, atomicbreaker.GroupConfig[breakerhttp.Origin]{Max: 16})
	transport := &breakerhttp.Transport{BreakerFor: breakerhttp.PerHost(g), Base: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 500, Body: http.NoBody}, nil
	})}
	for i := range 1000 {
		if _, err := transport.RoundTrip(httptest.NewRequest("GET", fmt.Sprintf("http://host%d/", i), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if g.Len() != 16 {
		t.Errorf("%d breakers, want 16", g.Len())
	}
}

func TestPerHostLookupAllocatesNothing(t *testing.T) {
	g := newGroup(t, atomicbreaker.GroupConfig[breakerhttp.Origin]{})
	resp := &http.Response{StatusCode: 204, Body: http.NoBody}
	transport := &breakerhttp.Transport{BreakerFor: breakerhttp.PerHost(g), Base: roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })}
	for _, u := range []string{"http://example.com/", "https://127.0.0.1:8443/", "http://[::1]/"} {
		req := httptest.NewRequest("GET", u, nil)
		if n := testing.AllocsPerRun(100, func() { transport.RoundTrip(req) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", u, n)
		}
	}
}
