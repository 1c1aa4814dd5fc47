package breakerhttp_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func TestPanicInBaseIsAFailureAndPassesThrough(t *testing.T) {
	for _, judgeBody := range []bool{false, true} {
		h := newHarness(t, false, answer(200))
		h.transport.JudgeBody = judgeBody
		h.transport.Base = roundTrip(func(*http.Request) (*http.Response, error) { panic("boom") })
		func() {
			defer func() {
				if got := recover(); got != "boom" {
					t.Errorf("recovered %v, want boom", got)
				}
			}()
			h.transport.RoundTrip(httptest.NewRequest("GET", h.server.URL, nil))
		}()
		h.wantBooks(t, books{failed: 1})
	}
}

func TestPanicInClassifyIsAFailureAndClosesTheBody(t *testing.T) {
	h := newHarness(t, false, answer(200))
	body := &spyBody{Reader: strings.NewReader("x")}
	h.transport.Base = roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: body}, nil
	})
	for name, rule := range map[string]func(*http.Response) atomicbreaker.Outcome{
		"a panic":            func(*http.Response) atomicbreaker.Outcome { panic("boom") },
		"an unknown outcome": func(*http.Response) atomicbreaker.Outcome { return 77 },
	} {
		h.guard(t, atomicbreaker.Config{})
		body.closed.Store(false)
		h.transport = &breakerhttp.Transport{Breaker: h.breaker, Classify: rule, Base: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: body}, nil
		})}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not pass through", name)
				}
			}()
			h.transport.RoundTrip(httptest.NewRequest("GET", h.server.URL, nil))
		}()
		h.wantBooks(t, books{failed: 1})
		if !body.closed.Load() {
			t.Errorf("%s left the response's body open", name)
		}
	}
}

func TestBaseWithoutResponseOrErrorIsAFailure(t *testing.T) {
	h := newHarness(t, false, answer(200))
	h.transport.Base = roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil })
	if _, err := h.client.Get(h.server.URL); err == nil {
		t.Error("the client saw no error")
	}
	h.wantBooks(t, books{failed: 1})
}

func TestValidateNamesEveryFault(t *testing.T) {
	transport := &breakerhttp.Transport{FailureStatuses: []int{429, 42, 600}}
	err := transport.Validate()
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{"Breaker is nil", "FailureStatuses[1] is 42, want 200 to 599", "FailureStatuses[2] is 600"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not mention %q", err, want)
		}
	}
	body := &spyBody{Reader: strings.NewReader("x")}
	resp, err := transport.RoundTrip(httptest.NewRequest("POST", "http://localhost", body))
	if resp != nil || err == nil || !body.closed.Load() {
		t.Errorf("RoundTrip returned %v, %v, body closed %v; want the faults and a closed body", resp, err, body.closed.Load())
	}
}

func TestBreakerForThatFindsNothingIsAnError(t *testing.T) {
	transport := &breakerhttp.Transport{BreakerFor: func(*http.Request) *atomicbreaker.Breaker { return nil }}
	_, err := transport.RoundTrip(httptest.NewRequest("GET", "http://user:secret@localhost/", nil))
	if err == nil || !strings.Contains(err.Error(), "BreakerFor returned nil") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestCloseIdleConnectionsReachesBase(t *testing.T) {
	h := newHarness(t, false, answer(200))
	closed := make(chan struct{}, 1)
	h.base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &spyConn{Conn: conn, closed: closed}, err
	}
	h.get(t)
	h.client.CloseIdleConnections()
	eventually(t, "the idle connection is closed", func() bool { return len(closed) == 1 })
}

type spyConn struct {
	net.Conn
	closed chan struct{}
}

func (c *spyConn) Close() error {
	select {
	case c.closed <- struct{}{}:
	default:
	}
	return c.Conn.Close()
}
