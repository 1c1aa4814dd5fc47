package breakerhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// onBoth runs a test against a server of either version of HTTP. The client
// goes through a Transport around the server's own, which the test may change
// before the first call.
func onBoth(t *testing.T, handler http.HandlerFunc, f func(t *testing.T, h *harness)) {
	t.Helper()
	for _, version := range []string{"http1", "http2"} {
		t.Run(version, func(t *testing.T) { f(t, newHarness(t, version == "http2", handler)) })
	}
}

type harness struct {
	server    *httptest.Server
	base      *http.Transport
	transport *breakerhttp.Transport
	client    *http.Client
	breaker   *atomicbreaker.Breaker
	clock     *clock.Manual
	served    atomic.Int64 // requests that reached the server
}

func newHarness(t *testing.T, http2 bool, handler http.HandlerFunc) *harness {
	t.Helper()
	h := &harness{clock: new(clock.Manual)}
	h.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.served.Add(1)
		handler(w, r)
	}))
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.server.EnableHTTP2 = http2
	if http2 {
		h.server.StartTLS()
	} else {
		h.server.Start()
	}
	t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
	})
	h.base = h.server.Client().Transport.(*http.Transport)
	h.guard(t, atomicbreaker.Config{})
	return h
}

// guard puts a breaker of its own in front of the server.
func (h *harness) guard(t *testing.T, c atomicbreaker.Config) {
	t.Helper()
	h.clock = new(clock.Manual)
	c.Clock = h.clock
	c.Cooldown.Jitter = atomicbreaker.Off
	b, err := atomicbreaker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	h.breaker = b
	h.transport = &breakerhttp.Transport{Base: h.base, Breaker: b}
	h.client = &http.Client{Transport: h.transport}
}

// get makes a call, reads the body to its end and closes it. It returns the
// status, 0 if there was no response, and the first error.
func (h *harness) get(t *testing.T) (int, error) {
	t.Helper()
	resp, err := h.client.Get(h.server.URL)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// books are the outcomes that a breaker has counted.
type books struct{ succeeded, failed, ignored, cancelled, late, refused uint64 }

func (h *harness) books() books {
	s := h.breaker.Snapshot()
	return books{s.Succeeded, s.Failed, s.Ignored, s.Cancelled, s.Late, s.Refused()}
}

func (h *harness) wantBooks(t *testing.T, want books) {
	t.Helper()
	if got := h.books(); got != want {
		t.Errorf("breaker counted %+v, want %+v", got, want)
	}
}

func (h *harness) wantState(t *testing.T, want atomicbreaker.State) {
	t.Helper()
	if got := h.breaker.State(); got != want {
		t.Fatalf("breaker is %v, want %v", got, want)
	}
}

// answer returns a handler that gives every request the same status.
func answer(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

// cut returns a handler that sends 200 and half of what it promised.
func cut() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Write(make([]byte, 500))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// roundTrip is a Base made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// spyBody is a body that knows whether it was closed.
type spyBody struct {
	io.Reader
	closed atomic.Bool
}

func (b *spyBody) Close() error {
	b.closed.Store(true)
	return nil
}

// eventually waits for something that happens on another goroutine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
	}
}

// contextWithCancel gives a request a context that the test can cancel.
func contextWithCancel(r *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	return r.WithContext(ctx), cancel
}

// echoUpgrade switches protocols and sends back one line.
func echoUpgrade(t *testing.T, hijack func(http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "echo" {
			t.Errorf("upgrade to %q, want echo", r.Header.Get("Upgrade"))
		}
		conn, buf, err := hijack(w)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := buf.ReadString('\n')
		io.WriteString(conn, line)
	}
}

func hijackByController(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w).Hijack()
}

// upgrade asks for the echo protocol and returns the session.
func upgrade(t *testing.T, client *http.Client, url string) io.ReadWriteCloser {
	t.Helper()
	req, _ := http.NewRequest("GET", url, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	session, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != 101 || !ok {
		t.Fatalf("got %s with a body of type %T, want a session", resp.Status, resp.Body)
	}
	return session
}
