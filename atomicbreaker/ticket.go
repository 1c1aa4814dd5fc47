package atomicbreaker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// Ticket is leave to make one call, from [Breaker.Acquire]. It is settled
// once: the first Done, Report, ReportAfter or Cancel, from any
// goroutine, settles it and returns true; every other one does nothing and
// returns false. The zero Ticket counts as settled. A Ticket must not be
// copied; pass a pointer.
//
// An outcome counts only for the generation that admitted the call. One that
// comes after the breaker has changed its state, or was Reset, is late: it is
// counted as such, settles its ticket, and changes nothing.
type Ticket struct {
	breaker *Breaker
	claim   claim
	start   time.Duration // of a probe or a timed call
	settled atomic.Uint32

	// No fifth field: the compiler keeps structs of up to four in registers, and a
	// ticket that goes through memory costs its caller more than the rest of Acquire.
}

// A claim is what the admission was worth:
//
//	 63           32 31     17 16      3  2     1      0
//	+---------------+---------+----------+------+------+-----+
//	|  generation   |   cut   |  others  |shadow|timed |probe|
//	+---------------+---------+----------+------+------+-----+
//
//	others  of a probe: how many were in flight when it was admitted
//	cut     of a probe: how often the window had been cut, the low bits of it
type claim uint64

const (
	claimProbe  claim = 1 << iota // admitted in half-open
	claimTimed                    // start is set
	claimShadow                   // would have been refused; counts in the totals only
	claimFlags  = claimProbe | claimTimed | claimShadow

	othersShift = 3
	othersMask  = maxInFlight
	cutShift    = othersShift + inFlightBits
	cutMask     = 1<<(32-cutShift) - 1
)

// claimOfProbe is the claim of a probe that w has yet to admit.
func claimOfProbe(w word, cut uint16) claim {
	return claimOf(w) | claimProbe | claimTimed | claim(w.inFlight())<<othersShift | claim(cut&cutMask)<<cutShift
}

func claimOf(w word) claim           { return claim(w >> generationShift << generationShift) }
func (c claim) generation() uint32   { return uint32(c >> generationShift) }
func (c claim) cut() uint16          { return uint16(c >> cutShift & cutMask) }
func (c claim) others() int          { return int(c >> othersShift & othersMask) }
func (c claim) has(flags claim) bool { return c&flags != 0 }

// Report settles the ticket with an explicit outcome. An outcome that is none
// of Success, Failure and Ignored settles it as a Failure and panics.
func (t *Ticket) Report(o Outcome) bool {
	if !t.first() {
		return false
	}
	t.settle(o, 0)
	return true
}

// ReportAfter is Report for a server that said when to come back, as with
// HTTP's Retry-After: if this outcome opens the breaker, the cooldown is at
// least after, as far as Cooldown.Max allows. A negative after counts as zero.
func (t *Ticket) ReportAfter(o Outcome, after time.Duration) bool {
	if !t.first() {
		return false
	}
	t.settle(o, after)
	return true
}

// Done settles the ticket by the error of the call, which was made under ctx,
// the caller's own context:
//
//   - nil is Success, whatever became of the context;
//   - an error is Ignored if ctx was cancelled: the caller has left. A context
//     whose deadline passed was not cancelled;
//   - an error for which [IsRejected] is true, another breaker's refusal, is
//     Ignored;
//   - Config.Classify decides the rest, by default as Failure.
//
// If Classify or a method of err or ctx panics or ends the goroutine, the
// ticket is settled as a Failure and the panic goes on. So it is with an error
// and a nil ctx, on which Done panics; with a nil error ctx is not looked at.
// Who has no context uses [Ticket.Report].
func (t *Ticket) Done(ctx context.Context, err error) bool {
	if err != nil {
		return t.doneFailed(ctx, err)
	}
	if b := t.breaker; b != nil && !t.claim.has(claimFlags) {
		s, gen := b.ring.Pick(), t.claim.generation()
		n := s.Peek(ring.Success) // [E1 observe]
		if b.load().generation() == gen && ring.Live(n, gen) {
			if t.settled.Swap(1) != 0 {
				return false
			}
			if !s.Hit(ring.Success, n) {
				b.ring.Missed(s, ring.Success, n)
				b.countClosed(gen, ring.Success, false, 0)
			} else if s.Failing() || b.streak.v.Load()&streakLength != 0 {
				b.endStreak(s, gen)
			}
			return true
		}
	}
	if !t.first() {
		return false
	}
	t.settle(Success, 0)
	return true
}

// doneFailed is Done for an error.
func (t *Ticket) doneFailed(ctx context.Context, err error) bool {
	if !t.first() {
		return false
	}
	t.settleError(ctx, err)
	return true
}

// Cancel settles the ticket of a call that was not made. It is counted as
// cancelled and says nothing about health; a probe's place is given back.
func (t *Ticket) Cancel() bool {
	if !t.first() {
		return false
	}
	t.breaker.giveBack(t, countCancelled)
	return true
}

// first reports whether this call is the one that settles the ticket.
func (t *Ticket) first() bool { return t.breaker != nil && t.settled.Swap(1) == 0 }

// settleError settles by the error of a call under ctx. Both may have methods
// that panic: until they and Classify have answered, the outcome is Failure.
func (t *Ticket) settleError(ctx context.Context, err error) {
	outcome := Failure
	defer func() { t.settle(outcome, 0) }()
	outcome = t.breaker.outcomeOf(ctx, err)
}

// outcomeOf is what an error says about health.
func (b *Breaker) outcomeOf(ctx context.Context, err error) Outcome {
	switch {
	case saysNothing(ctx, err):
		return Ignored
	case b.cfg().Classify != nil:
		return b.cfg().Classify(err)
	}
	return Failure
}

// saysNothing reports whether an error says nothing about the dependency: the
// caller has left, or another breaker let nobody ask.
func saysNothing(ctx context.Context, err error) bool {
	if ctx == nil {
		panic("atomicbreaker: Done with a nil context: pass the caller's context, or settle with Report")
	}
	return cancelled(ctx) || IsRejected(err)
}

// cancelled reports whether the caller has left. A deadline is not leaving:
// being too slow is what breakers are for.
func cancelled(ctx context.Context) bool {
	err := ctx.Err()
	return err != nil && errors.Is(err, context.Canceled)
}

// settle counts an outcome of a ticket that nobody else will settle.
func (t *Ticket) settle(o Outcome, after time.Duration) {
	if o == Success && !t.claim.has(claimFlags) {
		t.breaker.countSuccess(t.claim.generation())
		return
	}
	t.settleSlow(o, max(after, 0))
}

func (t *Ticket) settleSlow(o Outcome, after time.Duration) {
	b := t.breaker
	if o > Ignored {
		t.settleSlow(Failure, after)
		panic(fmt.Sprintf("atomicbreaker: unknown Outcome %d: want Success, Failure or Ignored", o))
	}
	if o == Ignored {
		b.giveBack(t, countIgnored)
		return
	}
	kind := ring.Kind(o) // Success and Failure are the same numbers
	if t.claim.has(claimProbe) {
		b.settleProbe(t, kind, after)
		return
	}
	slow := t.claim.has(claimTimed) && t.isSlow()
	if t.claim.has(claimShadow) {
		b.countTotal(kind, slow)
		return
	}
	b.countClosed(t.claim.generation(), kind, slow, after)
}

// isSlow reads the clock for a call that is not a probe. If the clock panics,
// the call is a Failure, in the totals only.
func (t *Ticket) isSlow() bool {
	read := false
	defer func() {
		if !read {
			t.breaker.ring.AddTotal(ring.Failure)
		}
	}()
	now := t.breaker.cfg().Clock.Now()
	read = true
	return t.breaker.tooSlow(passed(t.start, now))
}

// tooSlow reports whether a call that took so long counts as slow.
func (b *Breaker) tooSlow(latency time.Duration) bool {
	return b.timed && latency >= b.cfg().SlowCallDuration
}

// giveBack settles a ticket that says nothing about health.
func (b *Breaker) giveBack(t *Ticket, counter int) {
	switch {
	case t.claim.has(claimProbe):
		b.returnProbe(t, counter)
	case t.claim.has(claimShadow) || b.load().generation() == t.claim.generation():
		b.ring.Count(counter)
	default:
		b.ring.Count(countLate)
	}
}

// countTotal counts an outcome in the totals, outside the rolling window.
func (b *Breaker) countTotal(k ring.Kind, slow bool) {
	b.ring.AddTotal(k)
	if slow {
		b.ring.AddTotal(ring.Slow)
	}
}
