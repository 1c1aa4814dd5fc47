package locked

import (
	"context"
	"sync"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Mutex is the breaker behind a sync.Mutex. Make one with [NewMutex]. Its
// methods mean what those of [atomicbreaker.Breaker] mean and are safe for
// concurrent use.
type Mutex struct {
	mu sync.Mutex
	body
}

// NewMutex returns a closed breaker, or one in the state of c.Mode. It fails
// where c.Validate does, with the same error.
func NewMutex(c atomicbreaker.Config) (*Mutex, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	b := new(Mutex)
	self := weak.Make(b)
	b.begin(c, func() {
		if b := self.Value(); b != nil {
			b.fired(&b.mu)
		}
	}, b.RetryAfter)
	return b, nil
}

// unlock gives the lock back and does what the operation left to do.
func (b *Mutex) unlock() {
	if b.atRest() {
		b.mu.Unlock()
		return
	}
	b.leave(&b.mu)
}

// Ready reports whether Acquire would admit a call now.
func (b *Mutex) Ready() bool {
	b.mu.Lock()
	ready := b.ready()
	b.mu.Unlock()
	return ready
}

// Acquire admits a call or returns a *RejectedError.
func (b *Mutex) Acquire() (MutexTicket, error) {
	c, v := b.admit()
	if v != admitted {
		return MutexTicket{}, b.refusals[v]
	}
	return MutexTicket{b: b, claim: c}, nil
}

func (b *Mutex) admit() (claim, verdict) {
	b.mu.Lock()
	c, v := b.acquire()
	b.unlock()
	if v != admitted {
		return c, v
	}
	return b.begun(c), v
}

// finish settles a claim unless settled says that it has been, and reports
// whether it did.
func (b *Mutex) finish(c claim, e ending, floor time.Duration, settled *bool) bool {
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
func (b *Mutex) Do(ctx context.Context, f func(context.Context) error) error {
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
func (b *Mutex) State() atomicbreaker.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// Snapshot tells everything about the breaker.
func (b *Mutex) Snapshot() atomicbreaker.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.snapshot(b.rules.clock.Now())
	s.ListenerPanics = b.panics
	return s
}

// RetryAfter returns the time left until an open breaker lets a probe through,
// at least 1 ms, and 0 for a breaker that is not open or is forced open.
func (b *Mutex) RetryAfter() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.retryAfter(b.rules.clock.Now())
}

// Trip opens the breaker.
func (b *Mutex) Trip() {
	b.mu.Lock()
	b.tripCalled()
	b.unlock()
}

// Reset closes the breaker and makes the calls in flight late.
func (b *Mutex) Reset() {
	b.mu.Lock()
	b.resetCalled()
	b.unlock()
}

// SetMode changes the mode. It panics if there is no such mode.
func (b *Mutex) SetMode(mode atomicbreaker.Mode) {
	checkMode(mode)
	b.mu.Lock()
	b.setMode(mode)
	b.unlock()
}

// MutexTicket is an admitted call of a [Mutex], to be settled once. The zero
// value is one that settles nothing. It must not be copied.
type MutexTicket struct {
	_       noCopy
	b       *Mutex
	claim   claim
	settled bool // guarded by b.mu
}

// Done settles with what err says of a call that had this context: see
// [atomicbreaker.Ticket.Done].
func (t *MutexTicket) Done(ctx context.Context, err error) bool {
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
func (t *MutexTicket) Report(o atomicbreaker.Outcome) bool { return t.ReportAfter(o, 0) }

// ReportAfter settles with an outcome, and where this opens the breaker, it
// stays open for at least the given time, but no longer than Cooldown.Max.
func (t *MutexTicket) ReportAfter(o atomicbreaker.Outcome, floor time.Duration) bool {
	if !t.settle(endingOf(o), floor) {
		return false
	}
	checkOutcome(o)
	return true
}

// Cancel gives the claim back: nothing was run.
func (t *MutexTicket) Cancel() bool { return t.settle(cancelled, 0) }

func (t *MutexTicket) settle(e ending, floor time.Duration) bool {
	return t.b != nil && t.b.finish(t.claim, e, floor, &t.settled)
}

// take claims the right to settle before the outcome is known.
func (t *MutexTicket) take() bool {
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	won := !t.settled
	t.settled = true
	return won
}
