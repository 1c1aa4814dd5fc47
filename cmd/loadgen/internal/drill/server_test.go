package drill

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"
)

func startServer(t *testing.T) (*faultyServer, *http.Client) {
	t.Helper()
	s := &faultyServer{delay: 200 * time.Millisecond, capacity: 1, patience: 500 * time.Millisecond}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		s.kill()
	})
	return s, &http.Client{Transport: transport}
}

// ask makes a call and returns the status and the error.
func ask(s *faultyServer, c *http.Client, timeout time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", s.url(), nil)
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

// TestFaultsShowAndEnd inflicts each fault, looks at it from outside, and
// expects a healthy server at the same address after the mend.
func TestFaultsShowAndEnd(t *testing.T) {
	timedOut := func(_ int, err error) bool { return errors.Is(err, context.DeadlineExceeded) }
	for f, shows := range map[fault]func(int, error) bool{
		dead:      func(_ int, err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
		hang:      timedOut,
		slow:      timedOut,
		errors5xx: func(status int, err error) bool { return status == 500 && err == nil },
		overload:  timedOut, // a request a second: a second of work
	} {
		t.Run(string(f), func(t *testing.T) {
			s, client := startServer(t)
			url := s.url()
			if status, err := ask(s, client, 5*time.Second); status != 200 || err != nil {
				t.Fatalf("before the fault: %d, %v", status, err)
			}
			if err := s.inflict(f); err != nil {
				t.Fatal(err)
			}
			if status, err := ask(s, client, 100*time.Millisecond); !shows(status, err) {
				t.Errorf("with the fault: %d, %v", status, err)
			}
			if err := s.inflict(healthy); err != nil {
				t.Fatal(err)
			}
			if status, err := ask(s, client, 5*time.Second); status != 200 || err != nil || s.url() != url {
				t.Errorf("after the mend: %d, %v at %s, was %s", status, err, s.url(), url)
			}
		})
	}
}

func TestSlowServerAnswersLate(t *testing.T) {
	s, client := startServer(t)
	s.inflict(slow)
	start := time.Now()
	status, err := ask(s, client, 5*time.Second)
	if took := time.Since(start); status != 200 || err != nil || took < s.delay {
		t.Errorf("%d, %v after %v; want 200 after at least %v", status, err, took, s.delay)
	}
}

func TestOverloadedServerTurnsAwayWhatWouldWaitTooLong(t *testing.T) {
	s, client := startServer(t)
	s.inflict(overload)
	ask(s, client, 50*time.Millisecond) // given up, but it keeps its second of work
	if status, err := ask(s, client, 5*time.Second); status != 503 || err != nil {
		t.Errorf("%d, %v; want 503 at once", status, err)
	}
}

func TestStoppingTheServerEndsHangingCalls(t *testing.T) {
	s := &faultyServer{}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	s.inflict(hang)
	ended := make(chan error, 1)
	go func() {
		_, err := ask(s, &http.Client{Transport: &http.Transport{}}, 10*time.Second)
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	s.kill()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("hanging call ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("hanging call outlived the server")
	}
}

func TestFluidQueueServesItsCapacity(t *testing.T) {
	var q fluidQueue
	start := time.Unix(0, 0)
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for i, c := range []struct {
		at   int // milliseconds
		wait int // until served, milliseconds; -1: turned away
	}{
		{0, 100}, {0, 200}, {50, 250}, {50, 350}, // 10 a second
		{50, -1},    // 350 ms before it is its turn
		{150, 350},  // 250 ms before it: in time
		{1000, 100}, // idle in between: no credit
		{1000, 200},
	} {
		wait, ok := q.enter(start.Add(ms(c.at)), 10, ms(300))
		if ok != (c.wait >= 0) || ok && wait != ms(c.wait) {
			t.Errorf("request %d at %d ms: %v, %v; want %d ms", i, c.at, wait, ok, c.wait)
		}
	}
	q.reset()
	if wait, _ := q.enter(start, 10, ms(300)); wait != ms(100) {
		t.Errorf("after a reset: %v", wait)
	}
}
