package breakerhttp_test

// What went wrong with circuit breakers around HTTP in the field, as laws. See
// atomicbreaker/field_test.go and verify/SCENARIOS.md.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// streakConfig trips on three failures in a row, is open for 5 s and closes on
// the success of one probe, which has 2 s.
func streakConfig() ab.Config {
	return ab.Config{
		FailureRate:         ab.Off,
		ConsecutiveFailures: 3,
		Cooldown:            ab.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1},
		Recovery:            ab.Recovery{Probes: 1, ProbeTimeout: 2 * time.Second},
	}
}

// A status of the server's own fault fails though there is no error, one of
// the client's does not, and the caller gets the response as it came.
//
// Field: S149, sony/gobreaker#46 and PR#121 (2026-07-25); arrow-kt/arrow#3844 (2026-01-09);
// Shopify/semian commit 4f35c20 (2017-06-13).
func TestFieldServerErrorsWithoutAnError(t *testing.T) {
	for _, c := range []struct {
		statuses []int
		want     ab.State
	}{
		{[]int{503, 503, 503}, ab.StateOpen},
		{[]int{404, 404, 404}, ab.StateClosed},
		{[]int{500, 502, 504}, ab.StateOpen},
	} {
		next := c.statuses
		h := newHarness(t, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request", "7")
			w.WriteHeader(next[0])
			io.WriteString(w, "what went wrong")
			next = next[1:]
		})
		h.guard(t, streakConfig())
		for _, status := range c.statuses {
			resp, err := h.client.Get(h.server.URL)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != status || resp.Header.Get("X-Request") != "7" || string(body) != "what went wrong" {
				t.Errorf("got %d, %q, %v, want the server's %d whole", resp.StatusCode, body, err, status)
			}
		}
		h.wantState(t, c.want)
	}
}

// With JudgeBody the verdict falls when the body ends: one that breaks off is
// a failure, closed and half-open, and does not end a streak by its headers.
//
// Field: S151, hugalafutro/model-hotel#812 (2026-08-29); jaseci-labs/jac#8430;
// ferro-labs/ai-gateway#136 (2026-05-24).
func TestFieldBodyThatBreaksOffFails(t *testing.T) {
	h := newHarness(t, false, cut())
	h.guard(t, streakConfig())
	h.transport.JudgeBody = true
	for range 3 {
		h.wantState(t, ab.StateClosed)
		if _, err := h.get(t); err == nil {
			t.Fatal("the body came whole")
		}
	}
	h.wantState(t, ab.StateOpen)
	h.clock.Advance(5 * time.Second)
	h.get(t)
	h.wantState(t, ab.StateOpen)
	h.wantBooks(t, books{failed: 4})
}

// A probe whose body is forgotten has its deadline like any other, and leaves
// nothing but its connection.
//
// Field: S153, derived from hugalafutro/model-hotel#812 (deferring the verdict to the body
// reader).
func TestFieldForgottenBodyIsAProbeWithoutAnswer(t *testing.T) {
	h := newHarness(t, false, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "two words")
	})
	h.guard(t, streakConfig())
	h.transport.JudgeBody = true
	h.breaker.Trip()
	h.clock.Advance(5 * time.Second)
	before := runtime.NumGoroutine()
	resp, err := h.client.Get(h.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.client.Get(h.server.URL); !errors.Is(err, ab.ErrProbeLimit) {
		t.Fatalf("beside the probe: %v, want ErrProbeLimit", err)
	}
	h.clock.Advance(2 * time.Second)
	h.wantState(t, ab.StateOpen)
	h.clock.Advance(5 * time.Second)
	if status, err := h.get(t); status != 200 {
		t.Fatal(status, err)
	}
	h.wantState(t, ab.StateClosed)
	resp.Body.Close()
	h.wantState(t, ab.StateClosed)
	h.wantBooks(t, books{succeeded: 1, late: 1, refused: 1})
	h.base.CloseIdleConnections()
	h.server.CloseClientConnections()
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

// A client that is refused gets the typed error with the time that is left,
// and no response; the server is not asked.
//
// Field: S157, dapr/dapr#4454 (2022-03-30); App-vNext/Polly#2324 (2024).
//
// Field: S187, projectbeskar/virtrigaud#70 (2026-05-21); failsafe-lib/failsafe#119
// (2017-12-29); juspay/neurolink#899.
func TestFieldRefusedClientGetsTheTypedError(t *testing.T) {
	h := newHarness(t, false, answer(200))
	h.guard(t, streakConfig())
	h.breaker.Trip()
	h.clock.Advance(1200 * time.Millisecond)
	body := &spyBody{Reader: strings.NewReader("order")}
	resp, err := h.client.Post(h.server.URL, "text/plain", body)
	refusal, ok := errors.AsType[*ab.RejectedError](err)
	if resp != nil || !ok || !errors.Is(err, ab.ErrOpen) || refusal.RetryAfter() != 3800*time.Millisecond {
		t.Errorf("got %v, %v, want ErrOpen with 3.8 s left and no response", resp, err)
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("the refusal looks like a timeout")
	}
	if !body.closed.Load() || h.served.Load() != 0 {
		t.Errorf("request body closed: %v, requests served: %d", body.closed.Load(), h.served.Load())
	}
	h.transport.Respond503 = true
	if resp, err = h.client.Get(h.server.URL); err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "4" {
		t.Errorf("as a response: %v, %v, want 503 with Retry-After 4", resp, err)
	}
}

// Listed statuses are failures whatever the user's rule says of them.
//
// Field: S159, alexfalkowski/go-service#2524 (2026-05-21).
func TestFieldListedStatusesComeBeforeTheRule(t *testing.T) {
	h := newHarness(t, false, answer(429))
	h.guard(t, streakConfig())
	h.transport.FailureStatuses = []int{429}
	h.transport.Classify = func(*http.Response) ab.Outcome { return ab.Success }
	for range 3 {
		if status, err := h.get(t); status != 429 {
			t.Fatal(status, err)
		}
	}
	h.wantState(t, ab.StateOpen)
}

// Calls that one caller cancels together, with a cause of his own that their
// errors then carry, are nobody's failures. Nor are those that he cancels
// before any header is there.
//
// Field: S060, ReliablyObserve/loki-vl-proxy#555 (2026-09-15; one request opened the breaker
// for all tenants).
//
// Field: S174, caddyserver/caddy#3816 (2020-11-25).
func TestFieldCancelledRequestsAreIgnored(t *testing.T) {
	arrived, left := make(chan struct{}, 20), make(chan struct{})
	onBoth(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-left
	}, func(t *testing.T, h *harness) {
		left = make(chan struct{})
		h.guard(t, streakConfig())
		cause := errors.New("the user went elsewhere")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				req, _ := http.NewRequestWithContext(ctx, "GET", h.server.URL, nil)
				// HTTP/1 returns the cause, HTTP/2 the cancellation.
				if _, err := h.client.Do(req); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want the cancellation or its cause", err)
				}
			})
		}
		for range 20 {
			<-arrived
		}
		cancel(cause)
		wg.Wait()
		close(left)
		h.wantState(t, ab.StateClosed)
		h.wantBooks(t, books{ignored: 20})
	})
}

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
