package breakerhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func TestEachStatusHasItsOutcome(t *testing.T) {
	failing := map[int]bool{500: true, 502: true, 503: true, 504: true, 508: true, 599: true}
	ofTheRequest := map[int]bool{400: true, 401: true, 403: true, 405: true, 406: true, 411: true, 413: true, 414: true, 415: true, 416: true, 417: true, 421: true, 422: true, 426: true, 428: true, 431: true}
	for _, status := range []int{200, 201, 204, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 423, 426, 428, 429, 431, 499, 500, 501, 502, 503, 504, 505, 508, 599} {
		onBoth(t, answer(status), func(t *testing.T, h *harness) {
			for range 3 {
				if got, err := h.get(t); got != status || err != nil {
					t.Fatalf("caller got %d, %v; want %d unchanged", got, err, status)
				}
			}
			switch {
			case failing[status]:
				h.wantBooks(t, books{failed: 3})
			case ofTheRequest[status]:
				h.wantBooks(t, books{ignored: 3})
			default:
				h.wantBooks(t, books{succeeded: 3})
			}
		})
	}
}

func TestFailedResponseReachesTheCallerWhole(t *testing.T) {
	onBoth(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Why", "full")
		w.WriteHeader(503)
		io.WriteString(w, "come back later")
	}, func(t *testing.T, h *harness) {
		h.transport.JudgeBody = true
		resp, err := h.client.Get(h.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		h.wantBooks(t, books{failed: 1}) // before the body was touched
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if string(body) != "come back later" || err != nil || resp.Header.Get("X-Why") != "full" {
			t.Errorf("got body %q, error %v, header %v", body, err, resp.Header)
		}
		h.wantBooks(t, books{failed: 1})
	})
}

func TestListedStatusesComeBeforeTheUsersRule(t *testing.T) {
	onBoth(t, answer(http.StatusTooManyRequests), func(t *testing.T, h *harness) {
		h.guard(t, atomicbreaker.Config{ConsecutiveFailures: 3})
		h.transport.FailureStatuses = []int{418, http.StatusTooManyRequests}
		h.transport.Classify = func(*http.Response) atomicbreaker.Outcome { return atomicbreaker.Success }
		for range 3 {
			h.get(t)
		}
		h.wantState(t, atomicbreaker.StateOpen)
	})
}

func TestUsersRuleReplacesTheStatusRule(t *testing.T) {
	onBoth(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscan(r.URL.Query().Get("status"), &status)
		w.WriteHeader(status)
	}, func(t *testing.T, h *harness) {
		h.transport.Classify = func(resp *http.Response) atomicbreaker.Outcome {
			switch resp.StatusCode {
			case 404:
				return atomicbreaker.Failure
			case 409:
				return atomicbreaker.Ignored
			}
			return atomicbreaker.Success
		}
		for _, status := range []int{404, 409, 500, 500, 500} {
			resp, err := h.client.Get(fmt.Sprint(h.server.URL, "/?status=", status))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		h.wantBooks(t, books{succeeded: 3, failed: 1, ignored: 1})
	})
}

func TestNoAnswerIsAFailure(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		set     func(*harness)
	}{
		{"connection refused", hang, func(h *harness) { h.server.Listener.Close() }},
		{"aborted before the headers", abort, func(*harness) {}},
		{"header timeout", hang, func(h *harness) { h.base.ResponseHeaderTimeout = 20 * time.Millisecond }},
		{"client timeout", hang, func(h *harness) { h.client.Timeout = 20 * time.Millisecond }},
		{"unreachable by TLS", hang, func(h *harness) {
			h.server.URL = "https://" + h.server.Listener.Addr().String()
			h.transport.Base = &http.Transport{} // trusts no test certificate
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onBoth(t, c.handler, func(t *testing.T, h *harness) {
				c.set(h)
				if status, err := h.get(t); err == nil {
					t.Fatalf("got status %d, want an error", status)
				}
				h.wantBooks(t, books{failed: 1})
			})
		})
	}
}

func TestCallersContextDecidesBeforeTheError(t *testing.T) {
	cause := errors.New("the batch was given up")
	for _, c := range []struct {
		name    string
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		leaves  bool // the caller cancels once the request has arrived
		counted books
	}{
		{"cancelled", context.WithCancel, true, books{ignored: 1}},
		{"cancelled with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(cause) }
		}, true, books{ignored: 1}},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 30*time.Millisecond)
		}, false, books{failed: 1}},
		{"deadline with a cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 30*time.Millisecond, cause)
		}, false, books{failed: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			arrived := make(chan struct{}, 1)
			onBoth(t, func(_ http.ResponseWriter, r *http.Request) {
				arrived <- struct{}{}
				<-r.Context().Done()
			}, func(t *testing.T, h *harness) {
				ctx, cancel := c.ctx(t.Context())
				defer cancel()
				go func() {
					if <-arrived; c.leaves {
						cancel()
					}
				}()
				req, _ := http.NewRequestWithContext(ctx, "GET", h.server.URL, nil)
				if _, err := h.client.Do(req); err == nil {
					t.Fatal("call returned no error")
				}
				h.wantBooks(t, c.counted)
			})
		})
	}
}

func TestFailureStatusAfterACancelIsIgnored(t *testing.T) {
	h := newHarness(t, false, answer(200))
	for status, want := range map[int]books{503: {ignored: 1}, 200: {succeeded: 1}} {
		h.guard(t, atomicbreaker.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		h.transport.Base = roundTrip(func(r *http.Request) (*http.Response, error) {
			cancel() // the caller leaves just as the answer arrives
			return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
		})
		req, _ := http.NewRequestWithContext(ctx, "GET", h.server.URL, nil)
		h.transport.RoundTrip(req)
		h.wantBooks(t, want)
	}
}

func TestContextThatIsDoneIsNeitherSentNorCounted(t *testing.T) {
	cause := errors.New("too late")
	onBoth(t, answer(200), func(t *testing.T, h *harness) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		body := &spyBody{Reader: strings.NewReader("x")}
		req, _ := http.NewRequestWithContext(ctx, "POST", h.server.URL, body)
		if _, err := h.client.Do(req); !errors.Is(err, cause) {
			t.Errorf("got error %v, want %v", err, cause)
		}
		if !body.closed.Load() {
			t.Error("request body was left open")
		}
		h.wantBooks(t, books{})
		if n := h.served.Load(); n != 0 {
			t.Errorf("server got %d requests, want none", n)
		}
	})
}

func TestRequestReachesBaseAsItCame(t *testing.T) {
	h := newHarness(t, false, answer(200))
	for _, judgeBody := range []bool{false, true} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", h.server.URL, nil)
		h.transport.JudgeBody = judgeBody
		h.transport.Base = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r != req {
				t.Error("Base got another request than the caller's: a derived context would end the body early")
			}
			return h.base.RoundTrip(r)
		})
		resp, err := h.transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
}

func TestRedirectHopsAskTheirOwnBreakers(t *testing.T) {
	onBoth(t, answer(500), func(t *testing.T, target *harness) {
		h := newHarness(t, false, answer(http.StatusFound, "Location", target.server.URL+"/"))
		h.transport.Base = roundTrip(func(r *http.Request) (*http.Response, error) {
			if "http://"+r.URL.Host == h.server.URL {
				return h.base.RoundTrip(r)
			}
			return target.base.RoundTrip(r)
		})
		h.transport.BreakerFor = func(r *http.Request) *atomicbreaker.Breaker {
			if r.URL.Host == target.server.Listener.Addr().String() {
				return target.breaker
			}
			return nil
		}
		h.get(t)
		h.wantBooks(t, books{succeeded: 1})
		target.wantBooks(t, books{failed: 1})
	})
}

// TestUpgradeSettlesAtTheHeaders: a session is not a call. It must not be
// slow, its body must stay writable, and its end must not count.
//
// Field: S155, vulcand/oxy#59, #77; yaitoo/xun#125 (2026-09-05).
func TestUpgradeSettlesAtTheHeaders(t *testing.T) {
	for _, judgeBody := range []bool{false, true} {
		h := newHarness(t, false, func(w http.ResponseWriter, _ *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			line, _ := buf.ReadString('\n')
			io.WriteString(conn, line)
		})
		h.guard(t, atomicbreaker.Config{SlowCallDuration: time.Second})
		h.transport.JudgeBody = judgeBody
		h.transport.Classify = func(*http.Response) atomicbreaker.Outcome { return atomicbreaker.Failure } // is not asked
		req, _ := http.NewRequest("GET", h.server.URL, nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := h.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		h.wantBooks(t, books{succeeded: 1})
		h.clock.Advance(time.Hour)
		session, ok := resp.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatal("the body cannot be written to")
		}
		io.WriteString(session, "hello\n")
		if line, _ := io.ReadAll(session); string(line) != "hello\n" {
			t.Errorf("session echoed %q", line)
		}
		session.Close()
		h.wantBooks(t, books{succeeded: 1})
		if slow := h.breaker.Snapshot().Slow; slow != 0 {
			t.Errorf("%d slow calls, want none", slow)
		}
	}
}
