package breakerhttp_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// rig is a reverse proxy in front of some backends.
type rig struct {
	pool     *breakerhttp.Pool
	proxy    *httputil.ReverseProxy
	front    *httptest.Server
	client   *http.Client
	backends []*httptest.Server
	clock    *clock.Manual
}

// newRig starts a backend for every handler; a nil one is dead from the start.
func newRig(t *testing.T, front2 bool, c breakerhttp.PoolConfig, handlers ...http.HandlerFunc) *rig {
	t.Helper()
	r := &rig{clock: new(clock.Manual)}
	c.Breaker.Clock = r.clock
	c.Breaker.Cooldown.Jitter = atomicbreaker.Off
	for _, h := range handlers {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.Start()
		if h == nil {
			s.Close()
		}
		t.Cleanup(s.Close)
		r.backends = append(r.backends, s)
		c.Backends = append(c.Backends, s.URL)
	}
	if c.Transport.Base == nil {
		base := &http.Transport{}
		t.Cleanup(base.CloseIdleConnections)
		c.Transport.Base = base
	}
	pool, err := breakerhttp.NewPool(c)
	if err != nil {
		t.Fatal(err)
	}
	r.pool, r.proxy = pool, pool.Proxy()
	r.front = httptest.NewUnstartedServer(r.proxy)
	r.front.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.proxy.ErrorLog = r.front.Config.ErrorLog
	if r.front.EnableHTTP2 = front2; front2 {
		r.front.StartTLS()
	} else {
		r.front.Start()
	}
	t.Cleanup(func() { r.front.CloseClientConnections(); r.front.Close() })
	r.client = r.front.Client()
	return r
}

func onBothFronts(t *testing.T, f func(t *testing.T, http2 bool)) {
	t.Helper()
	t.Run("http1", func(t *testing.T) { f(t, false) })
	t.Run("http2", func(t *testing.T) { f(t, true) })
}

// send makes a request through the proxy and returns status, body and Retry-After.
func (r *rig) send(t *testing.T, method, body string) (status int, text, after string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, method, r.front.URL+"/path?q=1", strings.NewReader(body))
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), resp.Header.Get("Retry-After")
}

func (r *rig) breaker(i int) *atomicbreaker.Breaker { return r.pool.Backends()[i].Breaker() }

// says returns a handler that answers with a word and the request's body.
func says(word string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, word+string(body))
	}
}

func TestDeadBackendCausesNoUserErrors(t *testing.T) {
	onBothFronts(t, func(t *testing.T, http2 bool) {
		for _, choice := range []breakerhttp.Choice{breakerhttp.RoundRobin, breakerhttp.LeastRequest} {
			r := newRig(t, http2, breakerhttp.PoolConfig{Choice: choice, Breaker: atomicbreaker.Config{ConsecutiveFailures: 3}}, nil, says("b"), says("c"))
			served := map[string]int{}
			for range 60 {
				status, text, _ := r.send(t, "POST", "!")
				if status != 200 {
					t.Fatalf("a user got %d", status)
				}
				served[text]++
			}
			if r.breaker(0).State() != atomicbreaker.StateOpen || r.breaker(0).Snapshot().Failed != 3 {
				t.Errorf("dead backend: %v after %d failures, want open after 3", r.breaker(0).State(), r.breaker(0).Snapshot().Failed)
			}
			if b, c := served["b!"], served["c!"]; b+c != 60 || b < 20 || c < 20 {
				t.Errorf("%v; want the two that live to share 60 evenly", served)
			}
		}
	})
}

// With MaxOpen 1 all backends may be open; then a request is refused at once.
//
// Field: S170, envoyproxy/envoy#3263 (2018-05-01), #26877 (2023-04-22), #27066,
// PR#27909.
func TestAllBackendsOpenIsRefusedAtOnce(t *testing.T) {
	onBothFronts(t, func(t *testing.T, http2 bool) {
		var asked atomic.Int64
		handler := func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.WriteHeader(500) }
		r := newRig(t, http2, breakerhttp.PoolConfig{MaxOpen: 1, Choice: breakerhttp.RoundRobin, Breaker: atomicbreaker.Config{
			ConsecutiveFailures: 1, Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second},
		}}, handler, handler)
		for range 2 {
			if status, _, _ := r.send(t, "GET", ""); status != 500 {
				t.Fatalf("got %d, want the backend's own 500", status)
			}
			r.clock.Advance(1300 * time.Millisecond)
		}
		if r.pool.Ready() {
			t.Error("Ready with every breaker open")
		}
		if status, _, after := r.send(t, "POST", "x"); status != 503 || after != "3" { // 2.4 s and 3.7 s are left
			t.Errorf("got %d, Retry-After %q; want 503, the sooner one's 3", status, after)
		}
		r.breaker(0).SetMode(atomicbreaker.ForcedOpen)
		if status, _, after := r.send(t, "GET", ""); status != 503 || after != "4" {
			t.Errorf("one forced: got %d, Retry-After %q; want 503, the other one's 4", status, after)
		}
		r.breaker(1).SetMode(atomicbreaker.ForcedOpen)
		if status, _, after := r.send(t, "GET", ""); status != 503 || after != "" {
			t.Errorf("all forced: got %d, Retry-After %q; want 503 and none", status, after)
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("backends got %d requests, want 2", n)
		}
	})
}

func TestAllBackendsDeadGives502Then503AndRecovers(t *testing.T) {
	r := newRig(t, false, breakerhttp.PoolConfig{MaxOpen: 1, Choice: breakerhttp.RoundRobin, Breaker: atomicbreaker.Config{ConsecutiveFailures: 3}}, says("a"), says("b"))
	addr := []string{r.backends[0].Listener.Addr().String(), r.backends[1].Listener.Addr().String()}
	for _, b := range r.backends {
		b.CloseClientConnections()
		b.Close()
	}
	var got []int
	for range 5 {
		status, _, after := r.send(t, "GET", "")
		if status == 503 && after != "1" {
			t.Errorf("Retry-After %q", after)
		}
		got = append(got, status)
	}
	if got[0] != 502 || got[1] != 502 || got[2] != 502 || got[3] != 503 || got[4] != 503 {
		t.Errorf("%v; want three 502, one per strike of both, then 503", got)
	}
	for _, a := range addr {
		l, err := net.Listen("tcp", a)
		if err != nil {
			t.Skipf("the port was taken: %v", err)
		}
		s := &http.Server{Handler: says("back")}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
	}
	r.clock.Advance(time.Second)
	for range 6 { // the first two are the probes
		if status, _, _ := r.send(t, "GET", ""); status != 200 {
			t.Fatalf("got %d after the backends came back", status)
		}
		r.clock.Advance(time.Second)
	}
	for i := range addr {
		if s := r.breaker(i).State(); s != atomicbreaker.StateClosed {
			t.Errorf("backend %d is %v, want closed", i, s)
		}
	}
}

// TestFailedAnswerIsNotTriedElsewhere: one poisonous request must not go
// through all backends and open every breaker.
//
// Field: S172, samosa-ai-com/opencode-go-multi-auth#6 (2026-09-03).
func TestFailedAnswerIsNotTriedElsewhere(t *testing.T) {
	var asked atomic.Int64
	poisoned := func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.WriteHeader(500) }
	reset := func(http.ResponseWriter, *http.Request) { asked.Add(1); panic(http.ErrAbortHandler) }
	r := newRig(t, false, breakerhttp.PoolConfig{}, poisoned, poisoned)
	r.send(t, "GET", "")
	if asked.Load() != 1 {
		t.Errorf("a request that was answered with 500 was sent %d times", asked.Load())
	}
	asked.Store(0)
	r = newRig(t, false, breakerhttp.PoolConfig{}, reset, reset)
	if status, _, _ := r.send(t, "POST", "x"); status != 502 || asked.Load() != 1 {
		t.Errorf("a POST whose connection broke got %d and was sent %d times; want 502, once", status, asked.Load())
	}
}

func TestNextBackendNeedsTheWholeBody(t *testing.T) {
	refuse := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name      string
		reads     bool
		getBody   bool
		err       error
		wantTries int
	}{
		{"unread", false, false, refuse, 2},
		{"read", true, false, refuse, 1},
		{"read, can be had anew", true, true, refuse, 2},
		{"unread, but not a dial error", false, false, &net.OpError{Op: "read", Err: io.EOF}, 1},
	} {
		var tries int
		var bodies []string
		pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{
			Backends: []string{"http://a", "http://b"},
			Transport: breakerhttp.Transport{Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				tries++
				defer r.Body.Close()
				if tries == 1 {
					if c.reads {
						r.Body.Read(make([]byte, 3))
					}
					return nil, c.err
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Errorf("%s: reading the body again: %v", c.name, err)
				}
				bodies = append(bodies, string(body))
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			})},
		})
		if err != nil {
			t.Fatal(err)
		}
		body := &spyBody{Reader: strings.NewReader("hello")}
		req := httptest.NewRequest("POST", "http://pool/", body)
		if c.getBody {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("hello")), nil }
		}
		_, err = pool.RoundTrip(req)
		if tries != c.wantTries || (err == nil) != (c.wantTries == 2) {
			t.Errorf("%s: %d tries, error %v; want %d tries", c.name, tries, err, c.wantTries)
		}
		if len(bodies) == 1 && bodies[0] != "hello" {
			t.Errorf("%s: the second backend got %q", c.name, bodies)
		}
		if !body.closed.Load() {
			t.Errorf("%s: the body was left open", c.name)
		}
	}
}

// TestRefusalInTheRaceGoesToTheNextBackend opens the breaker of the chosen
// backend between the question and the claim: the transport asks the context
// there.
func TestRefusalInTheRaceGoesToTheNextBackend(t *testing.T) {
	r := newRig(t, false, breakerhttp.PoolConfig{Choice: breakerhttp.RoundRobin}, says("a"), says("b"))
	ctx := &askedContext{Context: t.Context(), asked: r.breaker(0).Trip}
	body := &spyBody{Reader: strings.NewReader("!")}
	resp, err := r.pool.RoundTrip(httptest.NewRequest("POST", "http://pool/", body).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); string(text) != "b!" || r.breaker(0).Snapshot().RefusedOpen != 1 || !body.closed.Load() {
		t.Errorf("got %q after %d refusals", text, r.breaker(0).Snapshot().RefusedOpen)
	}
}

type askedContext struct {
	context.Context
	asked func()
}

func (c *askedContext) Err() error {
	if c.asked != nil {
		c.asked()
		c.asked = nil
	}
	return c.Context.Err()
}

// A client that leaves is not charged to the backend, and shows as what it is in the
// log.
//
// Field: S174, caddyserver/caddy#3816 (2020-11-25).
func TestClientThatLeavesIsLocalAndAnsweredWith400(t *testing.T) {
	onBothFronts(t, func(t *testing.T, http2 bool) {
		arrived := make(chan struct{}, 1)
		r := newRig(t, http2, breakerhttp.PoolConfig{Breaker: atomicbreaker.Config{ConsecutiveFailures: 1}}, func(w http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			<-r.Context().Done()
		})
		status := make(chan int, 1)
		r.proxy.ErrorHandler = func(w http.ResponseWriter, req *http.Request, err error) {
			rec := httptest.NewRecorder()
			breakerhttp.ErrorHandler(rec, req, err)
			status <- rec.Code
		}
		for range 5 {
			req, leave := contextWithCancel(httptest.NewRequest("GET", r.front.URL, nil))
			req.RequestURI = ""
			go func() { <-arrived; leave() }()
			if _, err := r.client.Do(req); err == nil {
				t.Fatal("the client did not leave")
			}
			if got := <-status; got != 400 {
				t.Errorf("status %d, want 400", got)
			}
		}
		if s := r.breaker(0).Snapshot(); s.Ignored != 5 || s.Failed != 0 || s.State != atomicbreaker.StateClosed {
			t.Errorf("%d ignored, %d failed, %v; want 5, 0, closed", s.Ignored, s.Failed, s.State)
		}
	})
}

// TestBodyThatBreaksIsSeenOnlyByTheBody: neither ModifyResponse nor
// ErrorHandler learns of it; the breaker does, and the client's connection is cut.
func TestBodyThatBreaksIsSeenOnlyByTheBody(t *testing.T) {
	onBothFronts(t, func(t *testing.T, http2 bool) {
		for _, choice := range []breakerhttp.Choice{breakerhttp.RoundRobin, breakerhttp.LeastRequest} {
			r := newRig(t, http2, breakerhttp.PoolConfig{Choice: choice, Transport: breakerhttp.Transport{JudgeBody: true}}, cut())
			r.proxy.ErrorHandler = func(_ http.ResponseWriter, _ *http.Request, err error) { t.Errorf("ErrorHandler was called: %v", err) }
			resp, err := r.client.Get(r.front.URL)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Error("the client saw a whole answer")
			}
			eventually(t, "the breaker has its failure", func() bool { return r.breaker(0).Snapshot().Failed == 1 })
			eventually(t, "nothing is in flight", func() bool { return r.pool.Backends()[0].InFlight() == 0 })
		}
	})
}

func TestModifyResponseIsNotAskedAboutADeadBackend(t *testing.T) {
	r := newRig(t, false, breakerhttp.PoolConfig{}, nil)
	r.proxy.ModifyResponse = func(*http.Response) error { t.Error("ModifyResponse was called"); return nil }
	if status, _, _ := r.send(t, "GET", ""); status != 502 || r.breaker(0).Snapshot().Failed != 1 {
		t.Errorf("got %d, %d failures; want 502, 1", status, r.breaker(0).Snapshot().Failed)
	}
}

func TestUpgradeThroughTheProxy(t *testing.T) {
	for _, choice := range []breakerhttp.Choice{breakerhttp.RoundRobin, breakerhttp.LeastRequest} {
		for _, judgeBody := range []bool{false, true} {
			r := newRig(t, false, breakerhttp.PoolConfig{
				Choice: choice, Breaker: atomicbreaker.Config{SlowCallDuration: time.Second},
				Transport: breakerhttp.Transport{JudgeBody: judgeBody},
			}, echoUpgrade(t, hijackByController))
			guard := &breakerhttp.Handler{Breaker: atomicbreaker.MustNew(atomicbreaker.Config{}), Next: r.proxy}
			r.front.Config.Handler = guard // middleware, proxy and pool in a row
			session := upgrade(t, r.client, r.front.URL)
			r.clock.Advance(time.Hour)
			if n := r.pool.Backends()[0].InFlight(); n != 1 {
				t.Errorf("%d in flight, want 1", n)
			}
			io.WriteString(session, "hello\n")
			if line, _ := io.ReadAll(session); string(line) != "hello\n" {
				t.Errorf("session echoed %q", line)
			}
			session.Close()
			eventually(t, "nothing is in flight", func() bool { return r.pool.Backends()[0].InFlight() == 0 })
			for _, s := range []atomicbreaker.Snapshot{r.breaker(0).Snapshot(), guard.Breaker.Snapshot()} {
				if s.Succeeded != 1 || s.Failed+s.Slow != 0 {
					t.Errorf("%d succeeded, %d failed, %d slow; want one quick success", s.Succeeded, s.Failed, s.Slow)
				}
			}
		}
	}
}

func TestLeastRequestAvoidsTheBusyBackend(t *testing.T) {
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	busy := func(w http.ResponseWriter, _ *http.Request) {
		http.NewResponseController(w).Flush()
		<-hold
	}
	r := newRig(t, false, breakerhttp.PoolConfig{Choice: breakerhttp.LeastRequest}, busy, says("quick"))
	t.Cleanup(release) // before the servers close, which waits for it
	var held *http.Response
	for r.pool.Backends()[0].InFlight() == 0 { // which comes first is drawn
		resp, err := r.client.Get(r.front.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		held = resp
	}
	if n := r.pool.Backends()[0].InFlight(); n != 1 {
		t.Fatalf("%d in flight on the first backend, want 1", n)
	}
	for range 20 {
		if _, text, _ := r.send(t, "GET", ""); text != "quick" {
			t.Fatal("a request went to the backend that has one in flight")
		}
	}
	release()
	held.Body.Close()
	eventually(t, "nothing is in flight", func() bool { return r.pool.Backends()[0].InFlight() == 0 })
}

func TestRequestAsTheBackendGetsIt(t *testing.T) {
	got := make(chan *http.Request, 1)
	record := func(w http.ResponseWriter, r *http.Request) { got <- r }
	for _, preserve := range []bool{false, true} {
		r := newRig(t, false, breakerhttp.PoolConfig{PreserveHost: preserve}, record)
		req, _ := http.NewRequest("GET", r.front.URL+"/a%2Fb?q=1", nil)
		req.Host = "public.example"
		req.Header.Set("X-Forwarded-For", "6.6.6.6")
		if _, err := r.client.Do(req); err != nil {
			t.Fatal(err)
		}
		in := <-got
		want := r.backends[0].Listener.Addr().String()
		if preserve {
			want = "public.example"
		}
		if in.Host != want || in.URL.String() != "/a%2Fb?q=1" || in.Header.Get("X-Forwarded-Host") != "public.example" ||
			strings.Contains(in.Header.Get("X-Forwarded-For"), "6.6.6.6") {
			t.Errorf("host %q, URL %q, header %v; want host %q", in.Host, in.URL, in.Header, want)
		}
	}
	pool, _ := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{"http://h:1/base/"}, Transport: breakerhttp.Transport{
		Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.String() != "http://h:1/base/x" {
				t.Errorf("URL %s", r.URL)
			}
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		}),
	}})
	if _, err := pool.RoundTrip(httptest.NewRequest("GET", "http://any/x", nil)); err != nil {
		t.Error(err)
	}
}

// TestAskingAndNotChoosingLeavesTheProbe: balancers ask far more often than
// they send.
//
// Field: S009, linkerd/linkerd2-proxy#2371 (2023-03-31); Netflix/Hystrix#1568
// (2017-05) split the two for the same reason.
func TestAskingAndNotChoosingLeavesTheProbe(t *testing.T) {
	r := newRig(t, false, breakerhttp.PoolConfig{Choice: breakerhttp.RoundRobin}, says("a"), says("b"))
	r.breaker(0).Trip()
	r.clock.Advance(500 * time.Millisecond)
	for range 10_000 {
		r.pool.Ready()
	}
	s := r.breaker(0).Snapshot()
	if s.ProbesInFlight != 0 || !s.Unprobed || s.Refused() != 0 {
		t.Errorf("%+v after questions alone", s)
	}
	for range 2 {
		r.send(t, "GET", "")
	}
	if s := r.breaker(0).Snapshot(); s.Succeeded != 1 {
		t.Errorf("%d probes succeeded, want 1", s.Succeeded)
	}
}

func TestPoolIgnoresARefusalThatBasePassesOn(t *testing.T) {
	below := atomicbreaker.MustNew(atomicbreaker.Config{Name: "below", Mode: atomicbreaker.ForcedOpen})
	var tries int
	pool, _ := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{"http://a", "http://b"}, Transport: breakerhttp.Transport{
		Base: roundTrip(func(*http.Request) (*http.Response, error) {
			tries++
			_, err := below.Acquire()
			return nil, err
		}),
	}})
	if _, err := pool.RoundTrip(httptest.NewRequest("GET", "http://x", nil)); !errors.Is(err, atomicbreaker.ErrForced) || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestPoolGivesUpWithTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var tries int
	pool, _ := breakerhttp.NewPool(breakerhttp.PoolConfig{Backends: []string{"http://a", "http://b"}, Transport: breakerhttp.Transport{
		Base: roundTrip(func(*http.Request) (*http.Response, error) {
			tries++
			cancel()
			return nil, &net.OpError{Op: "dial", Err: context.Canceled}
		}),
	}})
	if _, err := pool.RoundTrip(httptest.NewRequest("GET", "http://x", nil).WithContext(ctx)); err == nil || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestPoolConfigValidateNamesEveryFault(t *testing.T) {
	_, err := breakerhttp.NewPool(breakerhttp.PoolConfig{
		Backends:  []string{"http://a", "a:80", "http://user:secret@b", "HTTP://A:80", "http://c?x"},
		Breaker:   atomicbreaker.Config{FailureRate: 7},
		Choice:    9,
		Transport: breakerhttp.Transport{Respond503: true, FailureStatuses: []int{1}},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"Backends[1] is", "Backends[2] is", "Backends[3] is http://a:80, as Backends[0] is", "Backends[4] is",
		"FailureRate is 7", "Choice is 9", "Respond503", "FailureStatuses[0] is 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%q tells a password", err)
	}
	if _, err := breakerhttp.NewPool(breakerhttp.PoolConfig{}); err == nil || !strings.Contains(err.Error(), "Backends is empty") {
		t.Errorf("no backends: %v", err)
	}
}
