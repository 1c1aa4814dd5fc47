package atomicbreaker

import (
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// countSuccess is countClosed for a quick success, as far as nothing special
// happens.
func (b *Breaker) countSuccess(gen uint32) {
	s := b.ring.Pick()
	n := s.Peek(ring.Success) // [E1 observe]
	if b.load().generation() == gen && ring.Live(n, gen) {
		if s.Hit(ring.Success, n) {
			if s.Failing() || b.streak.v.Load()&streakLength != 0 {
				b.endStreak(s, gen)
			}
			return
		}
		b.ring.Missed(s, ring.Success, n)
	}
	b.countClosed(gen, ring.Success, false, 0)
}

// countClosed settles a ticket of a closed generation.
func (b *Breaker) countClosed(gen uint32, k ring.Kind, slow bool, after time.Duration) {
	if b.last != nil {
		b.countLast(gen, k, slow, after)
		return
	}
	s, w, ok := b.count(gen, k)
	switch {
	case !ok:
		b.ring.Count(countLate)
		return
	case k == ring.Success && !slow:
		b.endStreak(s, gen)
		return
	case slow:
		if _, _, ok := b.count(gen, ring.Slow); !ok {
			b.ring.AddTotal(ring.Slow)
		}
	}
	run := b.noteBad(s, gen, k)
	if w.mode() == ForcedClosed {
		return
	}
	if c, look := b.windowOf(s, gen, b.streakMet(run) || b.cfg().ReadyToTrip != nil); look {
		b.judge(w, c, k, run, after)
	}
}

// count counts an outcome if its generation is still current. It returns the
// caller's stripe, and the word that showed the generation.
//
// [E1 observe] The cell is read first and the word second. If the word still
// shows the ticket's generation, the cell belongs to no later one, and neither
// does what is counted by a compare-and-swap of what was read, however long
// this goroutine sleeps in between. Each time that fails, both are read again.
func (b *Breaker) count(gen uint32, k ring.Kind) (s ring.Stripe, w word, ok bool) {
	for woken := false; ; {
		s = b.ring.Pick()
		n := s.Peek(k)
		w = b.load()
		switch live := ring.Live(n, gen); {
		case w.generation() != gen:
			return s, w, false
		case live && s.Hit(k, n):
			return s, w, true
		case live:
			b.ring.Missed(s, k, n)
		case !woken:
			b.wakeFirst(gen) // before counting: in a new window one goroutine has one stripe
			woken = true
		case s.Take(k, n, gen):
			if !b.ring.Edge().Awake(gen) { // [E8 observe] it has fallen asleep again
				b.wake(gen)
			}
			return s, w, true
		}
	}
}

// windowOf returns the counts that the rules are to judge. It reports false if
// no rule that goes by them can be met, and nobody wants them for another reason.
//
// If a share over all stripes reaches a rate, then some stripe's own share
// does. So as long as this one's does not, the others need not be read: the
// recorder that pushes its stripe over the rate reads them, or else the tick at
// the end of the bucket does. Nor is its own window summed at every failure:
// the sum tells how many calls must come before the rate and the minimum can be
// reached.
//
// A stripe that is over the rate reads the others once in an eighth of as many
// failures as there are stripes, or less often if more are missing. So it costs
// no more than reading eight of them each time, however many there are. A trip
// that needs several stripes may be late: each of them by the failures that
// were missing when it looked last, divided by the number of stripes, or by an
// eighth of that number if this is more; and all of them at most until the
// bucket ends.
func (b *Breaker) windowOf(s ring.Stripe, gen uint32, wanted bool) (c ring.Counts, look bool) {
	l := b.ring.Look(s, gen)
	if !wanted && !l.Due() {
		return c, false
	}
	c = b.ring.SumStripe(s, gen)
	missing := b.missingForRate(c)
	look = true
	switch stripes := uint64(b.ring.Stripes()); {
	case stripes == 1:
		missing = max(missing, b.missingForMinimum(c))
	case wanted || missing == 0:
		c = b.ring.Sum(gen)
		if missing = max(b.missingForRate(c), b.missingForMinimum(c)); missing > 0 {
			missing = max(missing, stripes*stripes/8) / stripes // the others add their share
		}
	default:
		look = false // this stripe is not over the rate
	}
	if missing > 0 { // else all look: the one who trips may yet find that what he saw is too old
		l.Wait(missing)
	}
	return c, look
}

// missingForRate returns for how many more calls at least no rate can be reached.
func (b *Breaker) missingForRate(c ring.Counts) uint64 {
	more := callsUntil(c[ring.Failure], c.Calls(), b.cfg().FailureRate)
	if b.timed {
		more = min(more, callsUntil(c[ring.Slow], c.Calls(), b.cfg().SlowCallRate))
	}
	return more
}

func (b *Breaker) missingForMinimum(c ring.Counts) uint64 {
	minimum := uint64(b.cfg().MinimumCalls)
	return minimum - min(minimum, c.Calls())
}

// callsUntil returns for how many more calls, if all of them fail, a share of
// failed in calls stays below rate; one less where rounding might matter.
func callsUntil(failed, calls uint64, rate float64) uint64 {
	const never = 1 << 62
	if rate == Off {
		return never
	}
	missing := rate*float64(calls) - float64(failed)
	switch {
	case missing <= 0:
		return 0
	case rate == 1:
		return never
	}
	return uint64(max(missing/(1-rate)-1, 0))
}

// judge trips the breaker if a rule is met. After a failure or a slow call
// only: a quick success never trips, and a slow one not by its share of failures.
//
// Before a trip it reads the clock, once, and looks again at what has changed:
// the window may have moved since it was summed, and after a stop of the whole
// process the worker is late to move it. No trip goes by what has aged.
func (b *Breaker) judge(w word, c ring.Counts, k ring.Kind, run uint32, after time.Duration) {
	why := b.ruleMet(c, k, run)
	if why == ReasonNone {
		return
	}
	now := b.cfg().Clock.Now()
	if !b.lasts(now) {
		run = 0
	}
	if again := b.inWindow(w, c, now); again != c || why == ReasonStreak {
		if c, why = again, b.ruleMet(again, k, run); why == ReasonNone {
			return
		}
	}
	b.tripAt(w.generation(), why, countsOf(c), after, now)
	b.tellAll()
}

// inWindow returns what the window of w holds at an instant. A window counted in
// calls is c, whatever the time.
func (b *Breaker) inWindow(w word, c ring.Counts, now time.Duration) ring.Counts {
	if b.last != nil {
		return c
	}
	number := b.bucketNumber(now)
	if b.ring.Edge().Behind(number) > 0 {
		b.onTimer() // whatever has become of the timer
	}
	return b.ring.SumAt(w.generation(), number)
}

// ruleMet returns the first rule that is met.
func (b *Breaker) ruleMet(c ring.Counts, k ring.Kind, run uint32) Reason {
	if b.streakMet(run) {
		return ReasonStreak
	}
	if why := b.rateMet(c, k); why != ReasonNone && c.Calls() >= uint64(b.cfg().MinimumCalls) {
		return why
	}
	if b.cfg().ReadyToTrip != nil && b.cfg().ReadyToTrip(countsOf(c)) {
		return ReasonReadyToTrip
	}
	return ReasonNone
}

// rateMet returns the first rate that a window reaches with an outcome of kind
// k, minimum calls aside. Off is below zero and would be reached by any share.
func (b *Breaker) rateMet(c ring.Counts, k ring.Kind) Reason {
	if c.Calls() == 0 {
		return ReasonNone
	}
	if k == ring.Failure && b.cfg().FailureRate > 0 && share(c[ring.Failure], c.Calls()) >= b.cfg().FailureRate {
		return ReasonFailureRate
	}
	if b.timed && b.cfg().SlowCallRate > 0 && share(c[ring.Slow], c.Calls()) >= b.cfg().SlowCallRate {
		return ReasonSlowCallRate
	}
	return ReasonNone
}

func countsOf(c ring.Counts) Counts {
	return Counts{Calls: c.Calls(), Failures: c[ring.Failure], Slow: c[ring.Slow]}
}
