package breakerhttp_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func TestRefusalIsATypedErrorAndClosesTheRequestBody(t *testing.T) {
	for _, judgeBody := range []bool{false, true} {
		onBoth(t, answer(500), func(t *testing.T, h *harness) {
			h.guard(t, atomicbreaker.Config{Name: "billing", ConsecutiveFailures: 1, Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second}})
			h.transport.JudgeBody = judgeBody
			h.get(t)
			h.clock.Advance(1200 * time.Millisecond)
			body := &spyBody{Reader: strings.NewReader("x")}
			resp, err := h.client.Post(h.server.URL, "text/plain", body)
			if resp != nil {
				t.Errorf("got a response: %v", resp.Status)
			}
			var refusal *atomicbreaker.RejectedError
			if !errors.Is(err, atomicbreaker.ErrOpen) || !atomicbreaker.IsRejected(err) || !errors.As(err, &refusal) {
				t.Fatalf("got %v, want the breaker's refusal", err)
			}
			if got := refusal.RetryAfter(); got != 3800*time.Millisecond || refusal.Name() != "billing" {
				t.Errorf("refusal by %q, retry after %v; want billing, 3.8s", refusal.Name(), got)
			}
			var netErr net.Error
			//lint:ignore SA1019 what old retry loops ask
			if errors.As(err, &netErr) && (netErr.Timeout() || netErr.Temporary()) {
				t.Error("a refusal looks like a timeout or a temporary error")
			}
			if !body.closed.Load() {
				t.Error("request body was left open")
			}
			if h.served.Load() != 1 {
				t.Errorf("server got %d requests, want only the first", h.served.Load())
			}
			h.wantBooks(t, books{failed: 1, refused: 1})
		})
	}
}

func TestRefusalAsResponse(t *testing.T) {
	onBoth(t, answer(500), func(t *testing.T, h *harness) {
		h.guard(t, atomicbreaker.Config{ConsecutiveFailures: 1, Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second}})
		h.transport.Respond503 = true
		first, err := h.client.Get(h.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		first.Body.Close()
		if breakerhttp.Refusal(first) != nil {
			t.Error("a server's own 500 was taken for a refusal")
		}
		h.clock.Advance(1200 * time.Millisecond)
		for _, c := range []struct {
			name  string
			bring func()
			kind  error
			after string
		}{
			{"open for 3.8 s", func() {}, atomicbreaker.ErrOpen, "4"},
			{"open for 1 ms", func() { h.clock.Advance(3799 * time.Millisecond) }, atomicbreaker.ErrOpen, "1"},
			{"half-open with its probe under way", func() {
				h.clock.Advance(time.Millisecond)
				h.breaker.Acquire()
			}, atomicbreaker.ErrProbeLimit, "1"},
			{"forced open", func() { h.breaker.SetMode(atomicbreaker.ForcedOpen) }, atomicbreaker.ErrForced, ""},
		} {
			c.bring()
			body := &spyBody{Reader: strings.NewReader("x")}
			resp, err := h.client.Post(h.server.URL, "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if got := resp.Header.Get("Retry-After"); resp.StatusCode != 503 || got != c.after || string(text) != "service unavailable\n" {
				t.Errorf("%s: got %s, Retry-After %q, body %q; want 503, %q", c.name, resp.Status, got, text, c.after)
			}
			if err := breakerhttp.Refusal(resp); !errors.Is(err, c.kind) {
				t.Errorf("%s: Refusal says %v, want %v", c.name, err, c.kind)
			}
			if !body.closed.Load() {
				t.Errorf("%s: request body was left open", c.name)
			}
		}
	})
}

func TestRefusalByABreakerBelowIsIgnored(t *testing.T) {
	for _, respond := range []bool{false, true} {
		h := newHarness(t, false, answer(200))
		below := atomicbreaker.MustNew(atomicbreaker.Config{Mode: atomicbreaker.ForcedOpen})
		h.transport.Base = &breakerhttp.Transport{Breaker: below, Base: h.base, Respond503: respond}
		h.transport.FailureStatuses = []int{503}
		h.get(t)
		h.wantBooks(t, books{ignored: 1})
	}
}

// TestRetryAfterIsTheLeastCooldown covers the cap at the longest cooldown and
// the responses whose Retry-After is none of the breaker's business.
func TestRetryAfterIsTheLeastCooldown(t *testing.T) {
	date := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		header []string
		want   time.Duration
	}{
		{"none", nil, 500 * time.Millisecond},
		{"seconds", []string{"Retry-After", "7"}, 7 * time.Second},
		{"beyond the longest cooldown", []string{"Retry-After", "60"}, 10 * time.Second},
		{"date", []string{"Date", date.Format(http.TimeFormat), "Retry-After", date.Add(8 * time.Second).Format(http.TimeFormat)}, 8 * time.Second},
		{"nonsense", []string{"Retry-After", "soon"}, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, status := range []int{503, 429} {
				h := newHarness(t, false, answer(status, c.header...))
				h.guard(t, atomicbreaker.Config{ConsecutiveFailures: 1, Cooldown: atomicbreaker.Cooldown{Max: 10 * time.Second}})
				h.transport.FailureStatuses = []int{429}
				h.get(t)
				if got := h.breaker.RetryAfter(); got != c.want {
					t.Errorf("status %d: cooldown %v, want %v", status, got, c.want)
				}
			}
		})
	}
}

func TestRefusalCostsNoAllocation(t *testing.T) {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	b.Trip()
	transport := &breakerhttp.Transport{Breaker: b, FailureStatuses: []int{429}}
	req := httptest.NewRequest("GET", "http://localhost/", nil)
	if n := testing.AllocsPerRun(100, func() { transport.RoundTrip(req) }); n != 0 {
		t.Errorf("%v allocations per refusal, want none", n)
	}
}

func TestExchangeCostsNoAllocationOfItsOwn(t *testing.T) {
	resp := &http.Response{StatusCode: 204, Body: http.NoBody}
	base := roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })
	transport := &breakerhttp.Transport{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{}), Base: base}
	req := httptest.NewRequest("GET", "http://localhost/", nil)
	if n := testing.AllocsPerRun(100, func() { transport.RoundTrip(req) }); n != 0 {
		t.Errorf("%v allocations per exchange, want none", n)
	}
}
