package breakerhttp_test

// What went wrong with circuit breakers around HTTP in the field, as laws. See
// atomicbreaker/field_test.go and verify/SCENARIOS.md.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
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
// a failure of a closed breaker, and does not end a streak by its headers.
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
	h.wantState(t, ab.StateClosed) // for a probe the header is the verdict
	h.wantBooks(t, books{failed: 3, late: 1})
}

// A probe whose body is forgotten holds no place: its header was the verdict. It leaves nothing
// but its connection.
//
// Field: S153, derived from hugalafutro/model-hotel#812 (deferring the verdict to the body
// reader).
func TestFieldForgottenBodyHoldsNoProbe(t *testing.T) {
	h := newHarness(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 100_000))
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
	h.wantState(t, ab.StateClosed)
	if status, err := h.get(t); status != 200 || err != nil {
		t.Fatal(status, err)
	}
	resp.Body.Close()
	h.wantBooks(t, books{succeeded: 1, late: 1}) // the end of the probe's body comes after its verdict
	h.wantState(t, ab.StateClosed)
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
