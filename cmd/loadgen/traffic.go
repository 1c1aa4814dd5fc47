package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// traffic is an open loop: calls start at instants drawn beforehand, whether
// or not earlier ones have ended, and are timed from these instants. So a
// server that stalls cannot hide the calls that it kept from being made. The
// timeout runs from when a call really starts, as a caller's own would.
type traffic struct {
	transport http.RoundTripper
	url       string
	rate      float64 // calls a second, at exponentially distributed distances
	timeout   time.Duration
	seed      uint64
	watch     *stopwatch
	tally     *tally
}

// batch is the pause between two looks at what has fallen due. Shorter sleeps
// overshoot by more than they last.
const batch = 2 * time.Millisecond

// run makes calls for d from start on and returns when all have ended.
func (t *traffic) run(ctx context.Context, start time.Time, d time.Duration) {
	arrivals := rand.New(rand.NewPCG(t.seed, 0))
	gap := func() time.Duration { return time.Duration(arrivals.ExpFloat64() / t.rate * float64(time.Second)) }
	var calls sync.WaitGroup
	defer calls.Wait()
	for due := gap(); due < d; {
		now := time.Since(start)
		for ; due <= now && due < d; due += gap() {
			at := due
			t.tally.sent(now - at)
			calls.Go(func() { t.call(ctx, start, at) })
		}
		select {
		case <-time.After(max(batch, due-now)):
		case <-ctx.Done():
			return
		}
	}
}

// call makes one call that was due at an instant since start.
func (t *traffic) call(ctx context.Context, start time.Time, due time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		t.tally.ended(failed, due, time.Since(start), 0)
		return
	}
	began := t.watch.now()
	resp, err := t.transport.RoundTrip(req)
	took := t.watch.now() - began
	kind := kindOf(err)
	if err == nil {
		if resp.StatusCode >= 500 {
			kind = failed
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			kind = failed
		}
		resp.Body.Close()
	}
	t.tally.ended(kind, due, time.Since(start), took)
}

// kind is how a call ended for its caller.
type kind int

const (
	answered kind = iota
	failed
	refusedOpen
	refusedHalfOpen
)

func kindOf(err error) kind {
	switch {
	case err == nil:
		return answered
	case errors.Is(err, atomicbreaker.ErrProbeLimit):
		return refusedHalfOpen
	case atomicbreaker.IsRejected(err):
		return refusedOpen
	}
	return failed
}

// tally is the caller's side of the books. Safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	total   counts
	byKind  [4]int
	latency *latencies    // of answered calls from their intended start, in nanoseconds
	refusal *latencies    // of refused calls, in ticks of the stopwatch
	latest  time.Duration // by which a call started after it was due

	watched     time.Duration   // since the start: from here on the next three are looked for
	firstAnswer time.Duration   // 0: none
	lastRefusal time.Duration   // 0: none
	stalls      []time.Duration // when an answer came that took longer than stalled
}

// stalled is the latency of an answer that a healthy server on this machine
// gives only if the machine has no time for it.
const stalled = 25 * serviceTime

// counts are calls by what became of them.
type counts struct {
	Sent    int `json:"sent"`
	OK      int `json:"ok"`
	Failed  int `json:"failed"`
	Refused int `json:"refused"`
}

func (c counts) minus(o counts) counts {
	return counts{c.Sent - o.Sent, c.OK - o.OK, c.Failed - o.Failed, c.Refused - o.Refused}
}

// inFlight is the number of calls that have not ended.
func (c counts) inFlight() int { return c.Sent - c.OK - c.Failed - c.Refused }

func newTally() *tally {
	return &tally{latency: newLatencies(0), refusal: newLatencies(0)}
}

// sent counts a call that starts so long after it was due.
func (t *tally) sent(late time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total.Sent++
	t.latest = max(t.latest, late)
}

// ended counts a call that was due at an instant and ended at another, and
// spent so many ticks in the transport.
func (t *tally) ended(k kind, due, at time.Duration, ticks int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byKind[k]++
	watching := t.watched > 0 && due >= t.watched
	switch k {
	case answered:
		t.total.OK++
		t.latency.record(int64(at - due))
		if watching && t.firstAnswer == 0 {
			t.firstAnswer = at
		}
		if watching && at-due > stalled {
			t.stalls = append(t.stalls, at)
		}
	case failed:
		t.total.Failed++
	default:
		t.total.Refused++
		t.refusal.record(ticks)
		if watching {
			t.lastRefusal = max(t.lastRefusal, at)
		}
	}
}

// watch looks, among the calls due from an instant on, for the first answer,
// the last refusal and stalls.
func (t *tally) watch(from time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watched = from
}

func (t *tally) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// wire counts, below the breaker, the calls that reached the network.
type wire struct {
	base http.RoundTripper
	good atomic.Int64 // answered with anything but a server error
	bad  atomic.Int64 // the others
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(req)
	if err != nil || resp.StatusCode >= 500 {
		w.bad.Add(1)
	} else {
		w.good.Add(1)
	}
	return resp, err
}
