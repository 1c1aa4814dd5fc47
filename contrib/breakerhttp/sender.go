package breakerhttp

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ErrResponseTimeout is the error of a request to a backend that sent no
// header within [PoolConfig].ResponseTimeout. It is a timeout as net.Error has
// it, and [context.DeadlineExceeded].
var ErrResponseTimeout error = responseTimeout{}

type responseTimeout struct{}

func (responseTimeout) Error() string {
	return "breakerhttp: the backend sent no header within ResponseTimeout"
}
func (responseTimeout) Timeout() bool        { return true }
func (responseTimeout) Temporary() bool      { return true }
func (responseTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// sender sends what the breaker has admitted to one backend. It counts what is
// in flight, to the end of the bodies, and ends an exchange without an answer.
// It is below the breaker, for which the limit is the backend's own timeout.
type sender struct {
	base     http.RoundTripper
	limit    time.Duration // Off for none
	inFlight atomic.Int64
	idle     func() // told when nothing is in flight; may be nil
}

func (s *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	e := &exchange{sender: s}
	s.inFlight.Add(1)
	landed := false
	defer func() {
		if !landed {
			e.end()
		}
	}()
	if s.limit > 0 {
		var ctx context.Context
		ctx, e.cancel = context.WithCancel(req.Context())
		e.timer = time.AfterFunc(s.limit, e.expire)
		defer e.answered()
		req = req.WithContext(ctx)
		if req.Body != nil && req.Body != http.NoBody {
			req.Body = &timedBody{req.Body, e}
		}
	}
	resp, err := s.base.RoundTrip(req)
	if !e.answered() {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return nil, ErrResponseTimeout
	}
	if err != nil || resp == nil || resp.Body == nil || resp.Body == http.NoBody {
		return resp, err
	}
	landed = true
	e.ReadCloser = resp.Body
	resp.Body = e
	if w, ok := e.ReadCloser.(io.Writer); ok { // a protocol upgrade
		resp.Body = struct {
			*exchange
			io.Writer
		}{e, w}
	}
	return resp, nil
}

// CloseIdleConnections passes on the call of the same name of an http.Client.
func (s *sender) CloseIdleConnections() {
	if base, ok := s.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// exchange is a request on its way, and then its response's body.
type exchange struct {
	io.ReadCloser
	sender *sender
	cancel context.CancelFunc // nil without a limit
	ended  atomic.Bool

	mu      sync.Mutex
	timer   *time.Timer
	over    bool // answered, or expired
	expired bool
	reading int // Reads of the request's body under way
}

func (e *exchange) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.end()
	}
	return n, err
}

func (e *exchange) Close() error {
	err := e.ReadCloser.Close()
	e.end()
	return err
}

// end is idempotent.
func (e *exchange) end() {
	if e.ended.Swap(true) {
		return
	}
	if e.cancel != nil {
		e.cancel()
	}
	if e.sender.inFlight.Add(-1) == 0 && e.sender.idle != nil {
		e.sender.idle()
	}
}

func (e *exchange) expire() {
	e.mu.Lock()
	now := !e.over && e.reading == 0
	if now {
		e.over, e.expired = true, true
	}
	e.mu.Unlock()
	if now {
		e.cancel()
	}
}

// answered stops the limit, and reports whether it has not struck.
func (e *exchange) answered() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	if e.timer != nil {
		e.timer.Stop()
	}
	return !e.expired
}

// timedBody keeps the limit from striking while the request's own body is
// waited for, and starts it anew with each piece.
type timedBody struct {
	io.ReadCloser
	e *exchange
}

func (b *timedBody) Read(p []byte) (int, error) {
	b.e.waits(1)
	defer b.e.waits(-1)
	return b.ReadCloser.Read(p)
}

func (e *exchange) waits(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reading += n
	if !e.over && e.reading == 0 {
		e.timer.Reset(e.sender.limit)
	}
}
