package atomicbreaker

import (
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// countSuccess is countClosed for a quick success, as far as nothing special
// happens.
func (b *Breaker) countSuccess(gen uint32) {
	e := b.ring.Epoch() // [E1 observe]
	if b.load().generation() == gen && b.ring.Live(e, gen) {
		s := b.ring.Pick()
		if cell, n, ok := b.ring.Peek(s, e, ring.Success); ok {
			if !ring.Hit(cell, n) {
				b.ring.Missed(s, e, ring.Success)
			} else {
				if s.Failing() || b.streak.v.Load()&streakLength != 0 {
					b.endStreak(s, gen)
				}
				return
			}
		}
	}
	b.countClosed(gen, ring.Success, false, 0)
}

// countClosed settles a ticket of a closed generation.
//
// [E1 observe] The epoch is read first and the word second. If the word still
// shows the ticket's generation, the epoch is not younger than that
// generation, so what is counted under it is in no later generation's window,
// however long this goroutine sleeps in between.
func (b *Breaker) countClosed(gen uint32, k ring.Kind, slow bool, after time.Duration) {
	if b.last != nil {
		b.countLast(gen, k, slow, after)
		return
	}
	for {
		e := b.ring.Epoch()
		w := b.load()
		if w.generation() != gen {
			b.ring.Count(countLate)
			return
		}
		if !b.ring.Live(e, gen) {
			b.wake(e, gen)
			continue
		}
		s := b.ring.Pick()
		cell, n, ok := b.ring.Peek(s, e, k)
		if ok && !ring.Hit(cell, n) {
			b.ring.Missed(s, e, k)
			ok = false
		}
		if !ok {
			if s, ok = b.ring.Add(e, k); !ok {
				continue
			}
		}
		if k == ring.Success && !slow {
			b.endStreak(s, gen)
			return
		}
		if slow {
			e = b.addSlow(e, gen)
		}
		run := b.noteBad(s, gen, k)
		if wanted := b.wanted(run, slow); w.mode() != ForcedClosed && (wanted || b.ring.Held(s, e) >= b.ring.Due(s, e)) {
			b.judge(w, b.windowOf(s, e, wanted), k, run, after)
		}
		return
	}
}

// addSlow counts a call, which is counted already, as slow. It returns the
// epoch under which both are seen.
func (b *Breaker) addSlow(e ring.Epoch, gen uint32) ring.Epoch {
	for {
		if _, ok := b.ring.Add(e, ring.Slow); ok {
			return e
		}
		e = b.ring.Epoch()
		if b.load().generation() != gen || !b.ring.Live(e, gen) {
			b.ring.AddTotal(ring.Slow)
			return e
		}
	}
}

// wanted reports whether a bad call is worth a look at the window. If a share
// over all stripes reaches a rate, then some stripe's own share does; so as long
// as this one's does not, the others need not be read: the recorder that pushes
// its stripe over the rate will read them, or else the tick at the end of the
// bucket.
//
// Nor is its own window summed at every failure: while the bucket lasts, its
// calls only grow, so the sum tells how many must come before the rate and the
// minimum can be reached.
func (b *Breaker) wanted(run uint32, slow bool) bool {
	slowRule := b.timed && b.cfg.SlowCallRate != Off // a quick failure may fill its minimum
	return slow || slowRule || b.cfg.ReadyToTrip != nil || b.streakMet(run)
}

// windowOf returns the counts that the rules are to judge, if wanted or due.
func (b *Breaker) windowOf(s ring.Stripe, e ring.Epoch, wanted bool) (c ring.Counts) {
	held := b.ring.Held(s, e) // before the sum, which then has at least these
	own := b.ring.SumStripe(s, e)
	more := callsUntil(own[ring.Failure], own.Calls(), b.cfg.FailureRate)
	stripes := uint64(b.ring.Stripes())
	switch {
	case stripes == 1:
		c = own
	case wanted || more == 0:
		c = b.ring.Sum(e)
	}
	if minimum := uint64(b.cfg.MinimumCalls); more == 0 && c.Calls() < minimum {
		more = (minimum - c.Calls()) / stripes // the others add their share
	}
	b.ring.SetDue(s, e, held, more)
	return c
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
func (b *Breaker) judge(w word, c ring.Counts, k ring.Kind, run uint32, after time.Duration) {
	var why Reason
	switch {
	case b.streakMet(run):
		why = ReasonStreak
	case c.Calls() >= uint64(b.cfg.MinimumCalls) && b.rateMet(c, k) != ReasonNone:
		why = b.rateMet(c, k)
	case b.cfg.ReadyToTrip != nil && b.cfg.ReadyToTrip(countsOf(c)):
		why = ReasonReadyToTrip
	default:
		return
	}
	b.trip(w.generation(), why, countsOf(c), after)
	b.tellAll()
}

// rateMet returns the first rate that a window reaches with an outcome of kind
// k, minimum calls aside. Off is below zero and would be reached by any share.
func (b *Breaker) rateMet(c ring.Counts, k ring.Kind) Reason {
	if c.Calls() == 0 {
		return ReasonNone
	}
	if k == ring.Failure && b.cfg.FailureRate > 0 && share(c[ring.Failure], c.Calls()) >= b.cfg.FailureRate {
		return ReasonFailureRate
	}
	if b.timed && b.cfg.SlowCallRate > 0 && share(c[ring.Slow], c.Calls()) >= b.cfg.SlowCallRate {
		return ReasonSlowCallRate
	}
	return ReasonNone
}

func countsOf(c ring.Counts) Counts {
	return Counts{Calls: c.Calls(), Failures: c[ring.Failure], Slow: c[ring.Slow]}
}

// bucketNumber is the absolute number of the bucket that holds an instant:
// edges lie at multiples of a bucket's width since the breaker was made.
func (b *Breaker) bucketNumber(now time.Duration) uint64 {
	return uint64(max(now-b.madeAt, 0) / b.bucket)
}

// turn is bucketNumber for who moves the window, which never goes back: not if
// the clock does, and not if somebody has moved it since now was read.
func (b *Breaker) turn(now time.Duration) uint64 {
	raise(&b.turned, int64(now))
	return b.bucketNumber(time.Duration(b.turned.Load()))
}

// wake begins the window of a generation with its first outcome, and that of
// a breaker that has been idle. [E1 publish] The word has shown the generation
// to the caller: no epoch is younger than the word.
func (b *Breaker) wake(e ring.Epoch, gen uint32) {
	if b.ring.Wake(e, gen, b.turn(b.cfg.Clock.Now())) {
		b.kick()
	}
}

// tickClosed moves the window on and returns when to do so next; never if the
// window sleeps.
func (b *Breaker) tickClosed(w word, now time.Duration) (next time.Duration) {
	e := b.ring.Epoch()
	if b.last != nil || !b.ring.Live(e, w.generation()) {
		return never
	}
	number := b.turn(now)
	if !b.ring.At(e, number) {
		if w.mode() != ForcedClosed && b.ring.InUse() > 1 && b.catchUp(w, e) {
			return now
		}
		if b.ring.SumAt(e, number).Calls() == 0 {
			b.ring.Sleep(e, number)
			b.ring.Sweep(e)
			return never
		}
		b.ring.Advance(e, number)
	}
	b.ring.Sweep(b.ring.Epoch()) // also where a window has begun
	return b.madeAt + time.Duration(number+1)*b.bucket
}

// catchUp judges the window before it moves, if the bucket that ends holds a
// bad call: the stripe that pushed the window over a rate may not have known.
// Without a bad call in it, ageing alone would trip.
func (b *Breaker) catchUp(w word, e ring.Epoch) bool {
	ended := b.ring.SumBucket(e)
	if ended[ring.Failure] == 0 && ended[ring.Slow] == 0 {
		return false
	}
	k := ring.Success
	if ended[ring.Failure] > 0 {
		k = ring.Failure
	}
	c := b.ring.Sum(e)
	why := b.rateMet(c, k)
	if why == ReasonNone || c.Calls() < uint64(b.cfg.MinimumCalls) {
		return false
	}
	return b.trip(w.generation(), why, countsOf(c), 0)
}
