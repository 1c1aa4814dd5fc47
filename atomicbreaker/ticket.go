package atomicbreaker

import (
	"context"
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

// The states of a ticket.
const (
	ticketOut = iota
	ticketSettled
	ticketAnswered // and not settled yet
)

// Report settles the ticket with an explicit outcome. An outcome other than Success,
// Failure, Ignored and Local settles it as a Failure and panics.
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
//   - nil is Success, also if the context has ended;
//   - an error for which [IsRejected] is true, another breaker's refusal, is
//     Ignored;
//   - an error after ctx has ended, cancelled or past its deadline, is judged by how
//     long the dependency was given: it is a Failure from Config.Patience on, and
//     [Local] before. It is Local too if ctx was cancelled after Answered;
//   - Config.Classify decides the rest, by default as Failure.
//
// How long a call has taken is known of a ticket from [Breaker.AcquireContext], of
// a probe, and of a few calls in each second that the breaker times. An ordinary
// ticket from Acquire is judged as the last of those whose context ended.
//
// If Classify or a method of err or ctx panics or ends the goroutine, the
// ticket is settled as a Failure and the panic goes on. An error with a nil ctx
// is a Failure too, and Done panics; with a nil error ctx is not looked at.
// Who has no context uses [Ticket.Report].
func (t *Ticket) Done(ctx context.Context, err error) bool {
	if err != nil {
		return t.doneFailed(ctx, err)
	}
	if b := t.breaker; b != nil && !t.claim.has(claimFlags) {
		s, gen := b.ring.Pick(), t.claim.generation()
		n := s.Peek(ring.Success) // [E1 observe]
		if b.load().generation() == gen && ring.Live(n, gen) {
			if was := t.settled.Swap(ticketSettled); was != ticketOut {
				return was == ticketAnswered && t.end(Success, 0)
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
	t.breaker.unsample(t.claim, t.start)
	t.breaker.giveBack(t, countCancelled)
	return true
}

// Answered says that the dependency has begun to answer: with the headers of a
// response, the first message of a stream, the first row. It returns true for the
// call that did so, and false for a ticket that is settled or was answered already.
//
// For a probe that is the verdict, a Success, and its place goes to the next one: a
// stream that lasts for an hour keeps no breaker half-open. The caller still settles the ticket at the end of
// the call, with what became of it. If its context was cancelled by then, that is Local,
// however long the call took: streams end so.
func (t *Ticket) Answered() bool {
	b, c, start := t.breaker, t.claim, t.start
	if b == nil || !t.settled.CompareAndSwap(ticketOut, ticketAnswered) {
		return false
	}
	switch {
	case c.has(claimProbe):
		b.settleProbe(&Ticket{breaker: b, claim: c, start: start}, ring.Success, 0, true)
	case c.others() > 0:
		b.learn(c, start, b.cfg().Clock.Now())
	}
	return true
}

// first reports whether this call is the one that settles the ticket.
func (t *Ticket) first() bool {
	if t.breaker == nil {
		return false
	}
	was := t.settled.Swap(ticketSettled)
	if was == ticketAnswered {
		t.claim |= claimAnswered // nobody else reads the claim of a settled ticket
	}
	return was != ticketSettled
}

// end settles a ticket that was answered and that nobody else will settle.
func (t *Ticket) end(o Outcome, after time.Duration) bool {
	t.claim |= claimAnswered
	t.settle(o, after)
	return true
}

// settleError settles by the error of a call under ctx. Both may have methods
// that panic: until they and Classify have answered, the outcome is Failure.
func (t *Ticket) settleError(ctx context.Context, err error) {
	outcome := Failure
	defer func() { t.settle(outcome, 0) }()
	outcome = t.outcomeOf(ctx, err)
}

// outcomeOf is what an error says about health.
func (t *Ticket) outcomeOf(ctx context.Context, err error) Outcome {
	if o, ok := t.withoutAsking(ctx, err); ok {
		return o
	}
	if c := t.breaker.cfg(); c.Classify != nil {
		return c.Classify(err)
	}
	return Failure
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
	if o > Local {
		t.settleSlow(Failure, after)
		panic(fmt.Sprintf("atomicbreaker: unknown Outcome %d: want Success, Failure, Ignored or Local", o))
	}
	if o == Ignored || o == Local {
		b.unsample(t.claim, t.start)
		if b.giveBack(t, countIgnored) && o == Local {
			b.ring.Count(countLocal)
		}
		return
	}
	kind := ring.Kind(o) // Success and Failure are the same numbers
	switch {
	case t.claim.has(claimProbe) && t.claim.has(claimAnswered):
		b.endProbe(t.claim.generation(), kind)
	case t.claim.has(claimProbe):
		if !b.settleProbe(t, kind, after, false) {
			b.ring.Count(countLate)
		}
	case t.claim.has(claimTimed) && (b.timed || t.claim.others() > 0):
		t.settleTimed(kind, after)
	case t.claim.has(claimShadow):
		b.countTotal(kind, false)
	case kind == ring.Success:
		b.countSuccess(t.claim.generation())
	default:
		b.countClosed(t.claim.generation(), kind, false, after)
	}
}

// settleTimed is for a call whose latency somebody wants to know.
func (t *Ticket) settleTimed(kind ring.Kind, after time.Duration) {
	b, sampled := t.breaker, t.claim.others() > 0
	now := t.arrived()
	slow := b.tooSlow(passed(t.start, now))
	if kind == ring.Failure {
		b.unsample(t.claim, t.start)
	}
	if t.claim.has(claimShadow) {
		b.countTotal(kind, slow)
		return
	}
	b.countClosed(t.claim.generation(), kind, slow, after)
	switch {
	case !sampled || t.claim.has(claimAnswered): // which has told its latency already
	case kind == ring.Failure:
		b.kickAt(now) // who calls seldom must not wait for a tick
	default:
		b.learn(t.claim, t.start, now)
	}
}

// arrived reads the clock for a call that is not a probe. If the clock panics,
// the call is a Failure, in the totals only.
func (t *Ticket) arrived() (now time.Duration) {
	read := false
	defer func() {
		if !read {
			t.breaker.ring.AddTotal(ring.Failure)
		}
	}()
	now = t.breaker.cfg().Clock.Now()
	read = true
	return now
}

// tooSlow reports whether a call that took so long counts as slow.
func (b *Breaker) tooSlow(latency time.Duration) bool {
	return b.timed && latency >= b.cfg().SlowCallDuration
}

// giveBack settles a ticket that says nothing about health. It reports whether
// that was in time.
func (b *Breaker) giveBack(t *Ticket, counter int) bool {
	switch {
	case t.claim.has(claimProbe) && !t.claim.has(claimAnswered):
		return b.returnProbe(t, counter)
	case t.claim.has(claimShadow) || b.load().generation() == t.claim.generation():
		b.ring.Count(counter)
		return true
	default:
		b.ring.Count(countLate)
		return false
	}
}

// countTotal counts an outcome in the totals, outside the rolling window.
func (b *Breaker) countTotal(k ring.Kind, slow bool) {
	b.ring.AddTotal(k)
	if slow {
		b.ring.AddTotal(ring.Slow)
	}
}
