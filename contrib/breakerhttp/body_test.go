package breakerhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func TestBodyThatBreaksIsAFailureOnlyWithJudgeBody(t *testing.T) {
	onBoth(t, cut(), func(t *testing.T, h *harness) {
		for range 3 {
			if status, err := h.get(t); status != 200 || err == nil {
				t.Fatalf("got %d, %v; want 200 and an error while reading", status, err)
			}
		}
		h.wantBooks(t, books{succeeded: 3})

		h.guard(t, atomicbreaker.Config{ConsecutiveFailures: 3})
		h.transport.JudgeBody = true
		for range 3 {
			h.wantState(t, atomicbreaker.StateClosed)
			h.get(t)
		}
		h.wantBooks(t, books{failed: 3})
		h.wantState(t, atomicbreaker.StateOpen)
		h.clock.Advance(500 * time.Millisecond)
		h.wantState(t, atomicbreaker.StateHalfOpen)
		h.get(t)
		h.clock.Advance(2 * time.Second)
		h.wantState(t, atomicbreaker.StateClosed) // for a probe the header is the verdict
	})
}

func TestJudgeBodyWaitsForTheEnd(t *testing.T) {
	onBoth(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 100_000)) }, func(t *testing.T, h *harness) {
		h.transport.JudgeBody = true
		resp, err := h.client.Get(h.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		io.ReadFull(resp.Body, make([]byte, 99_999))
		h.wantBooks(t, books{})
		io.Copy(io.Discard, resp.Body)
		h.wantBooks(t, books{}) // the reader may still say what it makes of it
		resp.Body.Close()
		h.wantBooks(t, books{succeeded: 1})
		resp.Body.Close()
		h.wantBooks(t, books{succeeded: 1})
	})
}

func TestBodyThatIsReadAndNotClosedIsASuccessInAWhile(t *testing.T) {
	onBoth(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "two words") }, func(t *testing.T, h *harness) {
		h.transport.JudgeBody = true
		resp, err := h.client.Get(h.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		eventually(t, "the call is settled", func() bool { return h.books() == books{succeeded: 1} })
	})
}

// TestEarlyCloseIsASuccess includes the order of defers in which the caller
// cancels first: decoders seldom read up to the end of the body.
func TestEarlyCloseIsASuccess(t *testing.T) {
	for _, cancelFirst := range []bool{false, true} {
		onBoth(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1_000_000)) }, func(t *testing.T, h *harness) {
			h.transport.JudgeBody = true
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, "GET", h.server.URL, nil)
			resp, err := h.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadFull(resp.Body, make([]byte, 10))
			if cancelFirst {
				cancel()
			}
			resp.Body.Close()
			io.Copy(io.Discard, resp.Body) // fails: the body is closed
			h.wantBooks(t, books{succeeded: 1})
		})
	}
}

func TestContextThatEndsWhileReading(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 10))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for _, c := range []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		end  bool
		want books
	}{
		{"cancel", context.WithCancel, true, books{ignored: 1}},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		}, false, books{failed: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBoth(t, handler, func(t *testing.T, h *harness) {
				h.transport.JudgeBody = true
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", h.server.URL, nil)
				resp, err := h.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if c.end {
					time.AfterFunc(10*time.Millisecond, cancel)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err == nil {
					t.Error("reading saw no error")
				}
				h.wantBooks(t, c.want)
			})
		})
	}
}

func TestClientTimeoutWhileReadingIsADeadline(t *testing.T) {
	onBoth(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 10))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, h *harness) {
		h.transport.JudgeBody = true
		h.client.Timeout = 50 * time.Millisecond
		if status, err := h.get(t); status != 200 || err == nil {
			t.Fatalf("got %d, %v", status, err)
		}
		h.wantBooks(t, books{failed: 1})
	})
}

// TestBodyNeverClosedDoesNotStrandTheBreaker: a caller who forgets the body of
// a probe costs time, not the breaker.
func TestBodyNeverClosedDoesNotStrandTheBreaker(t *testing.T) {
	var broken atomic.Bool
	onBoth(t, func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(500)
		}
		w.Write([]byte("hello"))
	}, func(t *testing.T, h *harness) {
		h.guard(t, atomicbreaker.Config{ConsecutiveFailures: 1})
		h.transport.JudgeBody = true
		broken.Store(true)
		h.get(t)
		broken.Store(false)
		h.clock.Advance(500 * time.Millisecond)
		forgotten, err := h.client.Get(h.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer forgotten.Body.Close()
		for range 40 {
			if _, err := h.get(t); err != nil {
				t.Fatal(err)
			}
			h.clock.Advance(time.Second)
		}
		h.wantState(t, atomicbreaker.StateClosed)
	})
}

func TestJudgeBodyLeavesAloneWhatHasNoMoreToSay(t *testing.T) {
	h := newHarness(t, false, answer(200))
	writable := struct {
		io.Writer
		io.ReadCloser
	}{io.Discard, io.NopCloser(strings.NewReader(""))}
	for _, c := range []struct {
		name, method string
		body         io.ReadCloser
		status       int
	}{
		{"no body", "GET", http.NoBody, 204},
		{"nil body", "GET", nil, 200},
		{"HEAD", "HEAD", io.NopCloser(strings.NewReader("")), 200},
		{"writable body", "CONNECT", writable, 200},
		{"101", "GET", io.NopCloser(strings.NewReader("")), 101},
		{"failed status", "GET", io.NopCloser(strings.NewReader("")), 500},
	} {
		transport := &breakerhttp.Transport{Breaker: h.breaker, JudgeBody: true, Base: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: c.status, Body: c.body}, nil
		})}
		before := h.books()
		resp, err := transport.RoundTrip(httptest.NewRequest(c.method, "http://localhost/", nil))
		if err != nil || resp.Body != c.body {
			t.Errorf("%s: body was replaced by %T, error %v", c.name, resp.Body, err)
		}
		if h.books() == before {
			t.Errorf("%s: no verdict at the headers", c.name)
		}
	}
}
