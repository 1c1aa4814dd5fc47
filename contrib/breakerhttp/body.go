package breakerhttp

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/local"
)

// judgedBody settles the ticket of its call when the body is closed or breaks.
// Read and Close may race, as with any response body: the ticket takes the first
// verdict.
type judgedBody struct {
	io.ReadCloser
	ctx    context.Context // the caller's, to tell a cancelled read from a broken one
	stall  time.Duration   // Off for no limit
	ticket atomicbreaker.Ticket

	mu      sync.Mutex
	timer   *time.Timer
	armed   bool
	reading int           // Reads under way
	changed time.Time     // when the reader came or went
	waited  time.Duration // by the reader, for the dependency
	away    time.Duration // by the dependency, for the reader
	ended   bool          // the end of the body was read
}

// forgotten is how long a body whose end was read may be left open. Its reader may
// tell by Fail what it makes of it until it closes it.
const forgotten = time.Second

// slowReader is how long a reader must have kept the dependency waiting
// before that may be why the body broke off.
const slowReader = time.Second

func (b *judgedBody) Read(p []byte) (int, error) {
	b.begin()
	returned := false
	defer func() {
		if !returned { // a panic passes through
			b.ticket.Report(atomicbreaker.Failure)
			b.end(false)
		}
	}()
	n, err := b.ReadCloser.Read(p)
	returned = true
	late := b.end(err == io.EOF)
	switch {
	case err == nil || err == io.EOF:
	case late:
		// The dependency had to wait for the reader, and nobody knows whether it would
		// have gone on to send: servers do not wait for ever.
		b.ticket.Report(atomicbreaker.Local)
	default:
		b.ticket.Done(local.CallerOf(b.ctx), err)
	}
	return n, err
}

// Close settles first: closing makes a Read that is under way fail. It is a
// Success even after a cancellation, because decoders stop short of the end of
// the body and callers cancel before they close.
func (b *judgedBody) Close() error {
	b.ticket.Report(atomicbreaker.Success)
	b.mu.Lock()
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	return b.ReadCloser.Close()
}

func (b *judgedBody) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading++; b.reading > 1 {
		return
	}
	now := time.Now()
	b.away += now.Sub(b.changed)
	b.changed = now
	if b.stall > 0 && !b.armed && !b.ended {
		b.arm(b.stall)
	}
}

// end notes that a Read has returned, and reports whether the reader has kept the
// dependency waiting for most of the time.
func (b *judgedBody) end(eof bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.reading--; b.reading == 0 {
		now := time.Now()
		b.waited += now.Sub(b.changed)
		b.changed = now
	}
	if eof && !b.ended {
		b.ended = true
		b.arm(forgotten)
	}
	return b.away >= slowReader && b.away > b.waited
}

func (b *judgedBody) arm(d time.Duration) {
	b.armed = true
	if b.timer == nil {
		b.timer = time.AfterFunc(d, b.tick)
	} else {
		b.timer.Reset(d)
	}
}

// tick looks whether a Read waits for too long.
func (b *judgedBody) tick() {
	b.mu.Lock()
	b.armed = false
	outcome, over := atomicbreaker.Success, b.ended
	if !over && b.reading > 0 {
		left := b.stall - time.Since(b.changed)
		if left > 0 {
			b.arm(left)
		}
		outcome, over = atomicbreaker.Failure, left <= 0
	}
	b.mu.Unlock()
	if over {
		b.ticket.Report(outcome)
	}
}

// worthJudging reports whether the body can say more than the header did.
func worthJudging(req *http.Request, resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody || req.Method == http.MethodHead {
		return false
	}
	// A body that can be written to is a connection that was handed over.
	// Wrapping would hide the Writer, and a session is not a call.
	_, upgraded := resp.Body.(io.Writer)
	return !upgraded && resp.StatusCode != http.StatusSwitchingProtocols
}

// judgedKey finds the body of a response by the context of its request:
// an http.Client may have put another body around it.
type judgedKey struct{}

// put makes b the body of the response.
func (b *judgedBody) put(req *http.Request, resp *http.Response) {
	b.ReadCloser, b.changed = resp.Body, time.Now()
	resp.Body = b
	if resp.Request != nil {
		req = resp.Request
	}
	resp.Request = b.mark(req)
}

func (b *judgedBody) mark(req *http.Request) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), judgedKey{}, b))
}

// bodyOf returns the body that settles the response's call, or nil.
func bodyOf(resp *http.Response) *judgedBody {
	if resp == nil {
		return nil
	}
	if b, ok := resp.Body.(*judgedBody); ok {
		return b
	}
	if resp.Request == nil {
		return nil
	}
	b, _ := resp.Request.Context().Value(judgedKey{}).(*judgedBody)
	return b
}

// Fail tells the breaker what the reader of a response makes of its body: that
// it is no answer, whatever the status says, because of err, such as an error of a
// decoder. Config.Classify is asked about err; by default it is a Failure, and a
// nil err is one. It reports whether that was in time: before the body is closed,
// and within a second after its end was read, for a response that came through a [Transport] with JudgeBody.
//
//	defer resp.Body.Close()
//	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
//		breakerhttp.Fail(resp, err)
//	}
//
// An error that Read itself returned has been judged already, and so Fail changes nothing.
func Fail(resp *http.Response, err error) bool {
	b := bodyOf(resp)
	switch {
	case b == nil:
		return false
	case err == nil:
		return b.ticket.Report(atomicbreaker.Failure)
	}
	return b.ticket.Done(context.Background(), err)
}
