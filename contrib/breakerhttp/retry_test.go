package breakerhttp_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// site is backends in memory: what each does is a function of its host.
type site struct {
	mu     sync.Mutex
	asked  map[string]int
	answer func(r *http.Request) (int, error)
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[r.URL.Host]++
	s.mu.Unlock()
	status, err := s.answer(r)
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func (s *site) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.asked {
		n += k
	}
	return n
}

func newPool(t *testing.T, s *site, c breakerhttp.PoolConfig, hosts ...string) *breakerhttp.Pool {
	t.Helper()
	for _, h := range hosts {
		c.Backends = append(c.Backends, "http://"+h)
	}
	c.Transport.Base = s
	pool, err := breakerhttp.NewPool(c)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// status makes one request and returns its status, 0 for an error.
func status(p http.RoundTripper, method string, header ...string) int {
	req := httptest.NewRequest(method, "http://pool/", nil)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := p.RoundTrip(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

var errReset = &net.OpError{Op: "read", Err: syscall.ECONNRESET}

// TestWhatIsRepeated is the rule, row by row: one of two backends is sick.
func TestWhatIsRepeated(t *testing.T) {
	for _, row := range []struct {
		method, header string
		status         int
		err            error
		want           int // what the client gets
		asked          int
	}{
		{"GET", "", 503, nil, 200, 2},
		{"GET", "", 502, nil, 200, 2},
		{"HEAD", "", 504, nil, 200, 2},
		{"PUT", "", 0, errReset, 200, 2},
		{"DELETE", "", 0, io.ErrUnexpectedEOF, 200, 2},
		{"POST", "Idempotency-Key", 503, nil, 200, 2},
		{"PATCH", "Idempotency-Key", 0, errReset, 200, 2},
		{"GET", "", 500, nil, 500, 1}, // an answer, which another backend would give too
		{"GET", "", 429, nil, 429, 1},
		{"GET", "Upgrade", 503, nil, 503, 1},
		{"POST", "", 503, nil, 503, 1},
		{"POST", "", 0, errReset, 0, 1},
		{"POST", "", 0, io.EOF, 0, 1},
		{"PATCH", "", 502, nil, 502, 1},
		{"POST", "", 0, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, 200, 2}, // nothing was sent
	} {
		t.Run(fmt.Sprint(row.method, row.header, row.status, row.err), func(t *testing.T) {
			first := true
			s := &site{answer: func(*http.Request) (int, error) {
				if first {
					first = false
					return row.status, row.err
				}
				return 200, nil
			}}
			pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
			if got := status(pool, row.method, row.header, "1"); got != row.want || s.total() != row.asked {
				t.Errorf("got %d after %d requests, want %d after %d", got, s.total(), row.want, row.asked)
			}
			if s.asked["a"] > 1 || s.asked["b"] > 1 {
				t.Errorf("%v: one backend was asked twice", s.asked)
			}
		})
	}
}

// TestPostIsNeverSentTwice: whatever becomes of a POST that has reached a
// backend, over real connections.
func TestPostIsNeverSentTwice(t *testing.T) {
	for name, sick := range map[string]http.HandlerFunc{
		"503": answer(503),
		"reset": func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		},
		"hang": func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{}
			record := func(next http.HandlerFunc) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					seen[r.Header.Get("Number")]++
					mu.Unlock()
					next(w, r)
				}
			}
			r := newRig(t, false, breakerhttp.PoolConfig{ResponseTimeout: 100 * time.Millisecond}, record(sick), record(sick))
			for i := range 6 {
				req, _ := http.NewRequest("POST", r.front.URL, strings.NewReader("money"))
				req.Header.Set("Number", fmt.Sprint(i))
				resp, err := r.client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				want := map[string]int{"503": 503, "reset": 502, "hang": 504}[name]
				if resp.StatusCode != want {
					t.Errorf("status %d, want %d", resp.StatusCode, want)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for n, times := range seen {
				if times != 1 {
					t.Errorf("POST %s reached %d backends", n, times)
				}
			}
			if len(seen) != 6 {
				t.Errorf("%d POSTs arrived, want 6", len(seen))
			}
		})
	}
}

// TestBodiesThatAreRepeated: anew by GetBody, or not at all.
func TestBodiesThatAreRepeated(t *testing.T) {
	for _, again := range []bool{true, false} {
		var bodies []string
		s := &site{answer: func(r *http.Request) (int, error) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			if len(bodies) == 1 {
				return 503, nil
			}
			return 200, nil
		}}
		pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
		req, _ := http.NewRequest("PUT", "http://pool/", strings.NewReader("text"))
		if !again {
			req.GetBody = nil
		}
		resp, err := pool.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if again && (resp.StatusCode != 200 || len(bodies) != 2 || bodies[1] != "text") || !again && (resp.StatusCode != 503 || len(bodies) != 1) {
			t.Errorf("GetBody %v: status %d, bodies %q", again, resp.StatusCode, bodies)
		}
	}
}

// TestABrokenBodyIsNotRepeated: the client is at fault, not the backend.
func TestABrokenBodyIsNotRepeated(t *testing.T) {
	broken := errors.New("broken upload")
	s := &site{answer: func(r *http.Request) (int, error) {
		_, err := io.ReadAll(r.Body)
		return 0, err
	}}
	pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
	req, _ := http.NewRequest("PUT", "http://pool/", io.MultiReader(strings.NewReader("x"), errReader{broken}))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
	if _, err := pool.RoundTrip(req); !errors.Is(err, broken) || s.total() != 1 {
		t.Errorf("%v after %d tries, want the reader's error after one", err, s.total())
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestRetryStorm: every backend answers 503 for a minute. What the backends
// get is at most 1.05 times the requests in the first 10 s and 1.01 after.
// TestBudgetIsRefilledByTime: after an outage in which nothing succeeded.
// TestRetriesBoundedByShare: half of all requests could be helped; the share
// says how many are.
// TestResponseTimeout: for the header, and not for the body that follows, nor
// while the request's own is waited for.
// TestTheClientsDeadlineEndsAll: no try begins after it.
// TestDefaultLimit: nobody waits for ever for a backend that hangs.
// TestAMendedBackendGetsItsShare: what the figures of its bad time say is
// forgotten once its breaker has judged it.
