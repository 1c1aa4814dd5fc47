package breakerhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func TestResponseTimeout(t *testing.T) {
	onBothFronts(t, func(t *testing.T, http2 bool) {
		release := make(chan struct{})
		r := newRig(t, http2, breakerhttp.PoolConfig{ResponseTimeout: 200 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/hang":
				select {
				case <-release:
				case <-r.Context().Done():
				}
			case "/slow-body":
				http.NewResponseController(w).Flush()
				time.Sleep(400 * time.Millisecond)
				io.WriteString(w, "all of it")
			default:
				body, _ := io.ReadAll(r.Body)
				w.Write(body)
			}
		})
		t.Cleanup(func() { close(release) })
		if resp, err := r.client.Get(r.front.URL + "/hang"); err != nil || resp.StatusCode != 504 {
			t.Errorf("hang: %v, %v; want 504", resp, err)
		}
		if s := r.breaker(0).Snapshot(); s.Failed != 1 {
			t.Errorf("%d failures, want the timeout to be one", s.Failed)
		}
		resp, err := r.client.Get(r.front.URL + "/slow-body")
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "all of it" {
			t.Errorf("slow body: %q, %v", body, err)
		}
		pr, pw := io.Pipe()
		go func() {
			for range 4 {
				time.Sleep(100 * time.Millisecond)
				io.WriteString(pw, "x")
			}
			pw.Close()
		}()
		resp, err = r.client.Post(r.front.URL+"/upload", "text/plain", pr)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(body) != "xxxx" {
			t.Errorf("slow upload: %d %q", resp.StatusCode, body)
		}
		eventually(t, "nothing is in flight", func() bool { return r.pool.Backends()[0].InFlight() == 0 })
	})
}

func TestTheClientsDeadlineEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: func(r *http.Request) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		}}
		pool := newPool(t, s, breakerhttp.PoolConfig{ResponseTimeout: time.Second}, "a", "b", "c")
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := pool.RoundTrip(httptest.NewRequestWithContext(ctx, "GET", "http://pool/", nil))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 1500*time.Millisecond || s.total() != 2 {
			t.Errorf("%v after %v and %d tries, want the deadline after two", err, took, s.total())
		}
	})
}

func TestDefaultLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: func(r *http.Request) (int, error) {
			<-r.Context().Done()
			return 0, r.Context().Err()
		}}
		pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
		start := time.Now()
		_, err := pool.RoundTrip(httptest.NewRequest("POST", "http://pool/", nil))
		if took := time.Since(start); !errors.Is(err, breakerhttp.ErrResponseTimeout) || took != 30*time.Second {
			t.Errorf("%v after %v, want the limit after 30 s", err, took)
		}
		start = time.Now()
		off := newPool(t, s, breakerhttp.PoolConfig{ResponseTimeout: atomicbreaker.Off}, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		off.RoundTrip(httptest.NewRequestWithContext(ctx, "POST", "http://pool/", nil))
		if took := time.Since(start); took != time.Hour {
			t.Errorf("off: gave up after %v", took)
		}
	})
}
