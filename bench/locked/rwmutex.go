package locked

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// RWMutex is the breaker behind a sync.RWMutex: whatever changes nothing, or
// nothing but the number of refusals, holds it for reading only. Make one with
// [NewRWMutex]. Its methods mean what those of [atomicbreaker.Breaker] mean
// and are safe for concurrent use.
type RWMutex struct {
	mu sync.RWMutex
	body
	refused [verdicts]atomic.Uint64 // refusals made under the read lock
}

// NewRWMutex returns a closed breaker, or one in the state of c.Mode. It fails
// where c.Validate does, with the same error.
func NewRWMutex(c atomicbreaker.Config) (*RWMutex, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := new(RWMutex)
	self := weak.Make(b)
	b.begin(c, func() {
		if b := self.Value(); b != nil {
			b.fired(&b.mu)
		}
	}, b.RetryAfter)
	return b, nil
}

// unlock gives the lock back and does what the operation left to do.
func (b *RWMutex) unlock() {
	if b.atRest() {
		b.mu.Unlock()
		return
	}
	b.leave(&b.mu)
}

// Ready reports whether Acquire would admit a call now.
func (b *RWMutex) Ready() bool {
	b.mu.RLock()
	ready := b.ready()
	b.mu.RUnlock()
	return ready
}

// Acquire admits a call or returns a *RejectedError.
func (b *RWMutex) Acquire() (RWMutexTicket, error) {
	c, v := b.admit()
	if v != admitted {
		return RWMutexTicket{}, b.refusals[v]
	}
	return RWMutexTicket{b: b, claim: c}, nil
}

func (b *RWMutex) admit() (claim, verdict) {
	b.mu.RLock()
	c, v, decided := b.look()
	b.mu.RUnlock()
	switch {
	case !decided:
		b.mu.Lock()
		c, v = b.acquire()
		b.unlock()
	case v != admitted:
		b.refused[v].Add(1)
	}
	if v != admitted {
		return c, v
	}
	return b.begun(c), v
}

// finish settles a claim unless settled says that it has been, and reports
// whether it did.
func (b *RWMutex) finish(c claim, e ending, floor time.Duration, settled *bool) bool {
	now := b.present(c)
	b.mu.Lock()
	if *settled {
		b.mu.Unlock()
		return false
	}
	*settled = true
	ask, counts := b.settle(c, e, floor, now)
	b.unlock()
	if ask && b.rules.readyToTrip(counts) {
		b.mu.Lock()
		b.tripIf(c.generation, counts, floor)
		b.unlock()
	}
	return true
}

// Do acquires, runs f and settles. See [atomicbreaker.Breaker.Do].
func (b *RWMutex) Do(ctx context.Context, f func(context.Context) error) error {
	checkDo(ctx, f)
	if err := ctx.Err(); err != nil {
		return err
	}
	c, v := b.admit()
	if v != admitted {
		return b.refusals[v]
	}
	e, settled := failed, false // if f does not return
	defer func() { b.finish(c, e, 0, &settled) }()
	err := f(ctx)
	e = b.judge(ctx, err)
	return err
}

// State returns the state.
func (b *RWMutex) State() atomicbreaker.State {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.state
}

// Snapshot tells everything about the breaker.
func (b *RWMutex) Snapshot() atomicbreaker.Snapshot {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.snapshot(b.rules.clock.Now())
	s.ListenerPanics = b.panics
	s.RefusedOpen += b.refused[refusedOpen].Load()
	s.RefusedHalfOpen += b.refused[refusedHalfOpen].Load()
	s.RefusedForced += b.refused[refusedForced].Load()
	return s
}

// RetryAfter returns the time left until an open breaker lets a probe through,
// at least 1 ms, and 0 for a breaker that is not open or is forced open.
func (b *RWMutex) RetryAfter() time.Duration {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.retryAfter(b.rules.clock.Now())
}

// Trip opens the breaker.
func (b *RWMutex) Trip() {
	b.mu.Lock()
	b.tripCalled()
	b.unlock()
}

// Reset closes the breaker and makes the calls in flight late.
func (b *RWMutex) Reset() {
	b.mu.Lock()
	b.resetCalled()
	b.unlock()
}

// SetMode changes the mode. It panics if there is no such mode.
func (b *RWMutex) SetMode(mode atomicbreaker.Mode) {
	checkMode(mode)
	b.mu.Lock()
	b.setMode(mode)
	b.unlock()
}

// RWMutexTicket is an admitted call of a [RWMutex], to be settled once. The
// zero value is one that settles nothing. It must not be copied.
type RWMutexTicket struct {
	_       noCopy
	b       *RWMutex
	claim   claim
	settled bool // guarded by b.mu
}

// Done settles with what err says of a call that had this context: see
// [atomicbreaker.Ticket.Done].
func (t *RWMutexTicket) Done(ctx context.Context, err error) bool {
	if t.b == nil {
		return false
	}
	if err == nil {
		return t.settle(succeeded, 0)
	}
	if !t.take() {
		return false
	}
	e, settled := failed, false
	defer func() { t.b.finish(t.claim, e, 0, &settled) }() // as a failure if a method of ctx or err panics, or Classify
	e = t.b.judge(ctx, err)
	return true
}

// Report settles with an outcome. An unknown one counts as a Failure and
// panics.
func (t *RWMutexTicket) Report(o atomicbreaker.Outcome) bool { return t.ReportAfter(o, 0) }

// ReportAfter settles with an outcome, and where this opens the breaker, it
// stays open for at least the given time, but no longer than Cooldown.Max.
func (t *RWMutexTicket) ReportAfter(o atomicbreaker.Outcome, floor time.Duration) bool {
	if !t.settle(endingOf(o), floor) {
		return false
	}
	checkOutcome(o)
	return true
}

// Cancel gives the claim back: nothing was run.
func (t *RWMutexTicket) Cancel() bool { return t.settle(cancelled, 0) }

func (t *RWMutexTicket) settle(e ending, floor time.Duration) bool {
	return t.b != nil && t.b.finish(t.claim, e, floor, &t.settled)
}

// take claims the right to settle before the outcome is known.
func (t *RWMutexTicket) take() bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	won := !t.settled
	t.settled = true
	return won
}
