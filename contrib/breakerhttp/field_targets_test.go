package breakerhttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// One request is one admission and one exchange, as a probe too.
//
// Field: S047, resilience4j/resilience4j#1003; danielfm/pybreaker 0.3.2 changelog (2017-06).
func TestFieldOneRequestIsSentOnce(t *testing.T) {
	h := newHarness(t, false, answer(200))
	h.guard(t, streakConfig())
	h.breaker.Trip()
	h.clock.Advance(5 * time.Second)
	if status, err := h.get(t); status != 200 || h.served.Load() != 1 {
		t.Errorf("%d, %v, served %d times, want once", status, err, h.served.Load())
	}
	h.wantState(t, ab.StateClosed)
	h.wantBooks(t, books{succeeded: 1})
}

// A Transport without a breaker says so and sends nothing.
//
// Field: S116, cloudwego/kitex#526 (2022-08-19); nzin/traefik-cluster-ratelimit#4
// (2025-01-15); exaring/hoglet commit f1e1e09 (2023-10-11).
func TestFieldTransportWithoutABreakerFailsLoudly(t *testing.T) {
	h := newHarness(t, false, answer(200))
	client := &http.Client{Transport: &breakerhttp.Transport{Base: h.base}}
	if _, err := client.Get(h.server.URL); err == nil || !strings.Contains(err.Error(), "Breaker is nil") || h.served.Load() != 0 {
		t.Errorf("got %v and %d requests, want an error that names the field", err, h.served.Load())
	}
}

// What a refusal tells has the breaker's name and no secret of the request.
//
// Field: S132, traefik/traefik#3590 (2018-07-10); resilience4j/resilience4j#1062.
func TestFieldRefusalNamesTheBreakerAndNoSecret(t *testing.T) {
	h := newHarness(t, false, answer(200))
	c := streakConfig()
	c.Name = "billing"
	h.guard(t, c)
	h.breaker.Trip()
	req := httptest.NewRequest("GET", "http://user:secret@billing.example/?token=secret", nil)
	req.Header.Set("Authorization", "secret")
	_, err := h.transport.RoundTrip(req)
	if text := err.Error(); !strings.Contains(text, "billing") || strings.Contains(text, "secret") {
		t.Errorf("the refusal says %q", text)
	}
}

// One breaker per host, chosen per request, keeps a host that fails from
// cutting off one that is well.
//
// Field: S192, diegosouzapw/OmniRoute#10837 (2026-08-20); krakenjs/levee#7 (2015).
func TestFieldHostsHaveTheirOwnBreakers(t *testing.T) {
	ill := newHarness(t, false, answer(500))
	well := newHarness(t, false, answer(200))
	ill.guard(t, streakConfig())
	well.guard(t, streakConfig())
	byHost := map[string]*ab.Breaker{
		ill.server.Listener.Addr().String():  ill.breaker,
		well.server.Listener.Addr().String(): well.breaker,
	}
	client := &http.Client{Transport: &breakerhttp.Transport{
		Base:       ill.base,
		BreakerFor: func(r *http.Request) *ab.Breaker { return byHost[r.URL.Host] },
	}}
	for range 5 {
		for _, h := range []*harness{ill, well} {
			if resp, err := client.Get(h.server.URL); err == nil {
				resp.Body.Close()
			}
		}
	}
	ill.wantState(t, ab.StateOpen)
	ill.wantBooks(t, books{failed: 3, refused: 2})
	well.wantState(t, ab.StateClosed)
	well.wantBooks(t, books{succeeded: 5})
}

// Each try of a failover counts for its own target, so that a request which
// fails everywhere opens every breaker; then nobody is asked, and the caller
// is told at once. A try that is cancelled because another won counts for
// nothing.
//
// Field: S172, samosa-ai-com/opencode-go-multi-auth#6 (2026-09-03).
func TestFieldEveryTryCountsForItsTarget(t *testing.T) {
	var targets []*harness
	for range 3 {
		h := newHarness(t, false, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/poison":
				w.WriteHeader(500)
			case "/slow":
				<-r.Context().Done()
			}
		})
		h.guard(t, streakConfig())
		targets = append(targets, h)
	}
	failover := func(path string) (last error) {
		for _, h := range targets {
			resp, err := h.client.Get(h.server.URL + path)
			if last = err; err != nil {
				continue
			}
			resp.Body.Close()
			if resp.StatusCode < 500 {
				return nil
			}
		}
		return last
	}
	if err := failover("/"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		failover("/poison")
	}
	for _, h := range targets {
		h.wantState(t, ab.StateOpen)
	}
	if err := failover("/"); !errors.Is(err, ab.ErrOpen) {
		t.Errorf("with all targets open: %v, want a refusal", err)
	}

	hedged := targets[0]
	hedged.breaker.Reset()
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, "GET", hedged.server.URL+"/slow", nil)
		before := hedged.served.Load()
		go func() {
			for hedged.served.Load() == before {
				runtime.Gosched()
			}
			cancel() // the other try has won
		}()
		hedged.client.Do(req)
		cancel()
	}
	hedged.wantState(t, ab.StateClosed)
	if got := hedged.books().ignored; got != 5 {
		t.Errorf("%d tries ignored, want 5", got)
	}
}
