package breakerhttp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// guarded is a server behind a Handler.
type guarded struct {
	harness
	handler *breakerhttp.Handler
}

// onBothServers runs a test against a guarded server of either version.
func onBothServers(t *testing.T, next http.HandlerFunc, f func(t *testing.T, g *guarded)) {
	t.Helper()
	for _, version := range []string{"http1", "http2"} {
		t.Run(version, func(t *testing.T) {
			g := &guarded{handler: new(breakerhttp.Handler)}
			g.handler.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				g.served.Add(1)
				next(w, r)
			})
			g.guard(t, atomicbreaker.Config{})
			g.server = httptest.NewUnstartedServer(g.handler)
			g.server.Config.ErrorLog = log.New(io.Discard, "", 0)
			if g.server.EnableHTTP2 = version == "http2"; g.server.EnableHTTP2 {
				g.server.StartTLS()
			} else {
				g.server.Start()
			}
			t.Cleanup(func() { g.server.CloseClientConnections(); g.server.Close() })
			g.client = g.server.Client()
			f(t, g)
		})
	}
}

func (g *guarded) guard(t *testing.T, c atomicbreaker.Config) {
	t.Helper()
	g.clock = new(clock.Manual)
	c.Clock = g.clock
	c.Cooldown.Jitter = atomicbreaker.Off
	g.breaker = atomicbreaker.MustNew(c)
	g.handler.Breaker = g.breaker
}

// settled waits until the server has told the breaker of n requests; the
// client may have its answer before the handler returns.
func (g *guarded) settled(t *testing.T, want books) {
	t.Helper()
	eventually(t, fmt.Sprintf("%+v", want), func() bool { return g.books() == want })
}

// A refused request is answered with 503 and the seconds left, rounded up and never 0,
// without a call of the handler.
//
// Field: S157, dapr/dapr#4454 (2022-03-30); App-vNext/Polly#2324 (2024).
func TestHandlerRefusesWithoutCallingNext(t *testing.T) {
	onBothServers(t, answer(500), func(t *testing.T, g *guarded) {
		g.guard(t, atomicbreaker.Config{ConsecutiveFailures: 1, Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second}})
		g.get(t)
		g.settled(t, books{failed: 1})
		for _, c := range []struct {
			name, after string
			bring       func()
		}{
			{"3.8 s left", "4", func() { g.clock.Advance(1200 * time.Millisecond) }},
			{"1 ms left", "1", func() { g.clock.Advance(3799 * time.Millisecond) }},
			{"half-open, its probe under way", "1", func() { g.clock.Advance(time.Millisecond); g.breaker.Acquire() }},
			{"forced open", "", func() { g.breaker.SetMode(atomicbreaker.ForcedOpen) }},
		} {
			c.bring()
			resp, err := g.client.Post(g.server.URL, "text/plain", strings.NewReader("hello"))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get("Retry-After"); resp.StatusCode != 503 || got != c.after {
				t.Errorf("%s: %s, Retry-After %q; want 503, %q", c.name, resp.Status, got, c.after)
			}
		}
		if n := g.served.Load(); n != 1 {
			t.Errorf("Next was called %d times, want once", n)
		}
	})
}

func TestHandlerRefuseIsTheUsersAnswer(t *testing.T) {
	onBothServers(t, answer(200), func(t *testing.T, g *guarded) {
		g.breaker.Trip()
		g.handler.Refuse = func(w http.ResponseWriter, _ *http.Request, refusal error) {
			if !errors.Is(refusal, atomicbreaker.ErrOpen) {
				t.Errorf("refusal %v", refusal)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}
		if status, err := g.get(t); status != 429 || err != nil {
			t.Errorf("got %d, %v", status, err)
		}
	})
}

func TestHandlerJudgesByStatus(t *testing.T) {
	onBothServers(t, func(w http.ResponseWriter, r *http.Request) {
		var status int
		fmt.Sscan(r.URL.Query().Get("status"), &status)
		switch status {
		case 0: // nothing is written
		case 1:
			io.WriteString(w, "a body without a status")
		case 2:
			io.Copy(w, strings.NewReader("by ReadFrom where there is one"))
			w.WriteHeader(500) // too late: the server says 200
		case 3:
			http.NewResponseController(w).Flush()
			w.WriteHeader(500)
		case 4:
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(status)
		}
	}, func(t *testing.T, g *guarded) {
		for status, want := range map[int]books{
			0: {succeeded: 1}, 1: {succeeded: 1}, 2: {succeeded: 1}, 3: {succeeded: 1}, 4: {failed: 1},
			200: {succeeded: 1}, 404: {succeeded: 1}, 429: {succeeded: 1}, 499: {succeeded: 1},
			500: {failed: 1}, 501: {succeeded: 1}, 502: {failed: 1}, 503: {failed: 1}, 504: {failed: 1}, 505: {succeeded: 1},
		} {
			g.guard(t, atomicbreaker.Config{})
			resp, err := g.client.Get(fmt.Sprint(g.server.URL, "/?status=", status))
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			g.settled(t, want)
		}
		g.guard(t, atomicbreaker.Config{})
		g.handler.FailureStatuses = []int{429}
		g.handler.Classify = func(status int, _ http.Header) atomicbreaker.Outcome {
			if status == 404 {
				return atomicbreaker.Ignored
			}
			return atomicbreaker.Success
		}
		for _, status := range []int{429, 404, 500} {
			resp, err := g.client.Get(fmt.Sprint(g.server.URL, "/?status=", status))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		g.settled(t, books{failed: 1, ignored: 1, succeeded: 1})
	})
}

func TestHandlerRetryAfterOfNextIsTheLeastCooldown(t *testing.T) {
	onBothServers(t, answer(503, "Retry-After", "3"), func(t *testing.T, g *guarded) {
		g.guard(t, atomicbreaker.Config{ConsecutiveFailures: 1})
		g.get(t)
		g.settled(t, books{failed: 1})
		if got := g.breaker.RetryAfter(); got != 3*time.Second {
			t.Errorf("cooldown %v, want 3s", got)
		}
	})
}

// A panic goes on as it was, the abort sentinel too, and is a failure; nothing is
// written into the answer.
//
// Field: S154, stacklok/toolhive#4065 (2026-03-10);
// SolaceProducts/solace-broker-mcp#120 review.
func TestHandlerPanicIsAFailureAndPassesThrough(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name  string
		value any
	}{{"an error", boom}, {"the abort sentinel", http.ErrAbortHandler}} {
		h := &breakerhttp.Handler{
			Breaker: atomicbreaker.MustNew(atomicbreaker.Config{}),
			Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half an ans")
				panic(c.value)
			}),
		}
		rec := httptest.NewRecorder()
		func() {
			defer func() {
				if got := recover(); got != c.value {
					t.Errorf("%s: recovered %v", c.name, got)
				}
				stack := make([]byte, 1<<14)
				if !strings.Contains(string(stack[:runtime.Stack(stack, false)]), "handler_test.go") {
					t.Errorf("%s: the stack of the panic is lost", c.name)
				}
			}()
			h.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
		}()
		if s := h.Breaker.Snapshot(); s.Failed != 1 {
			t.Errorf("%s: %d failures, want 1", c.name, s.Failed)
		}
		if rec.Body.String() != "half an ans" {
			t.Errorf("%s: the middleware wrote into the answer: %q", c.name, rec.Body)
		}
	}
}

// The abort of a running answer cuts the connection, closed and half-open.
//
// Field: S154, stacklok/toolhive#4065 (2026-03-10);
// SolaceProducts/solace-broker-mcp#120 review.
func TestHandlerAbortReachesTheClientInClosedAndHalfOpen(t *testing.T) {
	onBothServers(t, cut(), func(t *testing.T, g *guarded) {
		g.guard(t, atomicbreaker.Config{ConsecutiveFailures: 1})
		for n := range uint64(2) {
			if _, err := g.get(t); err == nil {
				t.Error("the client saw a whole answer")
			}
			g.settled(t, books{failed: n + 1})
			if n == 0 {
				g.wantState(t, atomicbreaker.StateOpen)
				g.clock.Advance(time.Second)
			}
			g.wantState(t, atomicbreaker.StateHalfOpen) // of a probe the begun answer was the verdict
		}
	})
}

func TestHandlerGoexitIsAFailure(t *testing.T) {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	h := &breakerhttp.Handler{Breaker: b, Next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		t.Error("Goexit did not end the goroutine")
	}()
	<-done
	if b.Snapshot().Failed != 1 {
		t.Error("not counted as a failure")
	}
}

func TestHandlerIgnoresAClientThatLeft(t *testing.T) {
	for _, abort := range []bool{false, true} {
		arrived := make(chan struct{}, 1)
		onBothServers(t, func(w http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			<-r.Context().Done()
			if abort { // as a reverse proxy does
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(500)
		}, func(t *testing.T, g *guarded) {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", g.server.URL, nil)
			ctx, leave := contextWithCancel(req)
			go func() { <-arrived; leave() }()
			if _, err := g.client.Do(ctx); err == nil {
				t.Fatal("the client did not leave")
			}
			g.settled(t, books{ignored: 1})
		})
	}
}

// Behind the middleware a writer can do what it can without: flush, hijack, deadlines.
//
// Field: S155, vulcand/oxy#59, #77; yaitoo/xun#125 (2026-09-05).
func TestHandlerWriterCanDoWhatTheServersCan(t *testing.T) {
	onBothServers(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		far := time.Now().Add(time.Hour)
		if err := errors.Join(rc.SetReadDeadline(far), rc.SetWriteDeadline(far), rc.EnableFullDuplex()); err != nil {
			t.Errorf("ResponseController: %v", err)
		}
		_, flusher := w.(http.Flusher)
		_, hijacker := w.(http.Hijacker)
		_, pusher := w.(http.Pusher)
		_, from := w.(io.ReaderFrom)
		one := r.ProtoMajor == 1
		if !flusher || hijacker != one || pusher == one || from != one {
			t.Errorf("HTTP/%d: flusher %v, hijacker %v, pusher %v, reader from %v", r.ProtoMajor, flusher, hijacker, pusher, from)
		}
		// Server-sent events: the client sees each before the next is made.
		next := make(chan struct{})
		defer close(next)
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			if i == 1 {
				w.(http.Flusher).Flush()
			} else if err := rc.Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
			select {
			case <-seen:
			case <-time.After(5 * time.Second):
				t.Error("an event was held back")
			}
		}
	}, func(t *testing.T, g *guarded) {
		resp, err := g.client.Get(g.server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "data: ") {
				seen <- struct{}{}
			}
		}
		g.settled(t, books{succeeded: 1})
	})
}

var seen = make(chan struct{})

func TestHandlerWriterPromisesNothingThatItCannot(t *testing.T) {
	h := &breakerhttp.Handler{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{}), Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Hijacker); ok {
			t.Error("offers to hijack a connection that there is not")
		}
		if _, ok := w.(http.Flusher); ok {
			t.Error("offers to flush what cannot")
		}
	})}
	h.ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
}

// TestHandlerUpgradeIsASuccessAtTheUpgrade: by hijacking and by a controller.
// The session outlives the hour of a slow call.
//
// Field: S155, vulcand/oxy#59, #77; yaitoo/xun#125 (2026-09-05).
func TestHandlerUpgradeIsASuccessAtTheUpgrade(t *testing.T) {
	for name, hijack := range map[string]func(http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error){
		"controller": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
			return http.NewResponseController(w).Hijack()
		},
		"type assertion": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) { return w.(http.Hijacker).Hijack() },
	} {
		t.Run(name, func(t *testing.T) {
			g := &guarded{}
			g.handler = &breakerhttp.Handler{Next: echoUpgrade(t, hijack)}
			g.guard(t, atomicbreaker.Config{SlowCallDuration: time.Second})
			g.server = httptest.NewServer(g.handler)
			defer g.server.Close()
			session := upgrade(t, g.server.Client(), g.server.URL)
			g.settled(t, books{succeeded: 1})
			g.clock.Advance(time.Hour)
			io.WriteString(session, "hello\n")
			if line, _ := io.ReadAll(session); string(line) != "hello\n" {
				t.Errorf("session echoed %q", line)
			}
			session.Close()
			if s := g.breaker.Snapshot(); s.Slow != 0 || s.Succeeded != 1 {
				t.Errorf("%d slow, %d succeeded; want 0, 1", s.Slow, s.Succeeded)
			}
		})
	}
}

// A handler that is wrongly set up says so at the first request.
//
// Field: S116, cloudwego/kitex#526 (2022-08-19); nzin/traefik-cluster-ratelimit#4
// (2025-01-15); exaring/hoglet commit f1e1e09 (2023-10-11).
func TestHandlerValidateNamesEveryFault(t *testing.T) {
	h := &breakerhttp.Handler{FailureStatuses: []int{600}}
	err := h.Validate()
	for _, want := range []string{"Next is nil", "Breaker is nil", "Handler.FailureStatuses[0] is 600, want 200 to 599"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for _, h := range []*breakerhttp.Handler{h, {Next: h, BreakerFor: func(*http.Request) *atomicbreaker.Breaker { return nil }}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a handler without a breaker served a request")
				}
			}()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		}()
	}
}
