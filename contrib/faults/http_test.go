package faults

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// serveBytes answers with as many bytes as the path says, without telling
// beforehand where it begins with /end: the end is then that of the connection.
func serveBytes(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		if r.URL.Path == "/end" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
			conn.Write(make([]byte, n))
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(n))
		w.Write(make([]byte, n))
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.Listener.Addr().String()
}

func get(t *testing.T, transport http.RoundTripper, url string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return errors.New(resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func TestHTTP(t *testing.T) {
	server := serveBytes(t)
	for _, c := range []struct {
		name, toxic, path string
		atHeaders, atBody books // what it counts as, by when the verdict is
	}{
		{"sound", "", "/?n=1000", books{succeeded: 1}, books{succeeded: 1}},
		{"latency beyond the deadline", latency, "/?n=10", books{failed: 1}, books{failed: 1}},
		{"latency within the deadline is slow", late, "/?n=10", books{succeeded: 1, slow: 1}, books{succeeded: 1, slow: 1}},
		{"half-open TCP", halfOpen, "/?n=10", books{failed: 1}, books{failed: 1}},
		{"request swallowed", swallowed, "/?n=10", books{failed: 1}, books{failed: 1}},
		{"closed without an answer", closed, "/?n=10", books{failed: 1}, books{failed: 1}},
		{"reset", reset, "/?n=10", books{failed: 1}, books{failed: 1}},
		{"bandwidth too small for the body", bandwidth, "/?n=100000", books{succeeded: 1}, books{failed: 1}},
		{"body cut", cut, "/?n=100000", books{succeeded: 1}, books{failed: 1}},
		{"body in slices", sliced, "/?n=1000", books{succeeded: 1}, books{succeeded: 1}},
		{"slow close delays the end", slowClose, "/end?n=1000", books{succeeded: 1}, books{succeeded: 1, slow: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			for judgeBody, want := range map[bool]books{false: c.atHeaders, true: c.atBody} {
				n := newNetwork(t, server)
				n.spoil(t, c.toxic)
				base := &http.Transport{}
				defer base.CloseIdleConnections()
				b := atomicbreaker.MustNew(atomicbreaker.Config{SlowCallDuration: 40 * time.Millisecond})
				get(t, &breakerhttp.Transport{Base: base, Breaker: b, JudgeBody: judgeBody}, "http://"+n.addr()+c.path)
				wantBooks(t, b, want)
			}
		})
	}
}

func TestHTTPOutages(t *testing.T) {
	server := serveBytes(t)
	for name, toxic := range map[string]string{"down": "", "half-open TCP": halfOpen, "reset": reset, "closed": closed, "cut": cut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, server)
			base := &http.Transport{}
			defer base.CloseIdleConnections()
			b := quick()
			transport := &breakerhttp.Transport{Base: base, Breaker: b, JudgeBody: true}
			call := func() error { return get(t, transport, "http://"+n.addr()+"/?n=2000") }
			if err := call(); err != nil {
				t.Fatal(err)
			}
			if toxic == "" {
				n.down()
				outage(t, b, call, func() { n.up(t) })
				return
			}
			n.spoil(t, toxic)
			outage(t, b, call, func() { n.heal(t) })
		})
	}
}

// TestHTTPPool: users of a pool see nothing of a backend's network that is
// down, that hangs or that resets: another backend answers.
func TestHTTPPool(t *testing.T) {
	server := serveBytes(t)
	for name, c := range map[string]struct {
		toxic  string
		errors int
	}{"down": {"", 0}, "half-open TCP": {halfOpen, 0}, "reset": {reset, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, bad := newNetwork(t, server), newNetwork(t, server)
			base := &http.Transport{ResponseHeaderTimeout: patience / 2}
			defer base.CloseIdleConnections()
			pool, err := breakerhttp.NewPool(breakerhttp.PoolConfig{
				Backends:  []string{"http://" + bad.addr(), "http://" + good.addr()},
				Breaker:   atomicbreaker.Config{ConsecutiveFailures: 3, Cooldown: atomicbreaker.Cooldown{Min: time.Minute, Max: time.Minute}},
				Transport: breakerhttp.Transport{Base: base, JudgeBody: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			front := httptest.NewServer(pool.Proxy())
			defer front.Close()
			if bad.spoil(t, c.toxic); c.toxic == "" {
				bad.down()
			}
			failed := 0
			for range 40 {
				if get(t, http.DefaultTransport, front.URL+"/?n=10") != nil {
					failed++
				}
			}
			if failed != c.errors {
				t.Errorf("%d users of 40 got an error, want %d", failed, c.errors)
			}
		})
	}
}

// TestHTTPKernel: the same by the kernel, without a proxy.
func TestHTTPKernel(t *testing.T) {
	rst, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer rst.Close()
	go func() {
		for {
			conn, err := rst.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			conn.(*net.TCPConn).SetLinger(0) // close by RST
			conn.Close()
		}
	}()
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close()
	for name, addr := range map[string]string{"RST": rst.Addr().String(), "refused": refused.Addr().String(), "SYN dropped": fullBacklog(t)} {
		b := atomicbreaker.MustNew(atomicbreaker.Config{})
		if err := get(t, &breakerhttp.Transport{Base: &http.Transport{DisableKeepAlives: true}, Breaker: b}, "http://"+addr); err == nil {
			t.Errorf("%s: no error", name)
		}
		wantBooks(t, b, books{failed: 1})
	}
}
