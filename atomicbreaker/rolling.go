package atomicbreaker

import (
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// How time moves the rolling window of a closed breaker.

// bucketNumber is the absolute number of the bucket that holds an instant:
// edges lie at multiples of a bucket's width since the breaker was made.
func (b *Breaker) bucketNumber(now time.Duration) uint64 {
	return uint64(passed(b.madeAt, now) / b.cfg().bucket)
}

// turn is bucketNumber for who moves the window, which never goes back: not if
// the clock does, and not if somebody has moved it since now was read.
func (b *Breaker) turn(now time.Duration) uint64 {
	raise(&b.turned, int64(now))
	return b.bucketNumber(time.Duration(b.turned.Load()))
}

// wake makes sure that the window of gen is awake, and that the worker knows.
// The first outcome of a generation and of a breaker that has been idle calls
// it, and so does the first of each cell, in case whoever woke it sleeps.
// [E1 publish] The word is read after the edge: no edge is of a younger
// generation than the word.
func (b *Breaker) wake(gen uint32) {
	for {
		e := b.ring.Edge()
		if b.load().generation() != gen {
			return
		}
		if e.Awake(gen) || b.ring.Begin(e, gen, b.turn(b.cfg().Clock.Now())) {
			break
		}
	}
	b.kick()
}

// wakeFirst is wake for an outcome that is not counted yet. If the clock or its
// timer panics, the outcome is a Failure, in the totals only.
func (b *Breaker) wakeFirst(gen uint32) {
	woken := false
	defer func() {
		if !woken {
			b.ring.AddTotal(ring.Failure)
		}
	}()
	b.wake(gen)
	woken = true
}

// tickClosed does what is due in a closed breaker, and returns when to look next.
func (b *Breaker) tickClosed(w word, now time.Duration) time.Duration {
	next := b.turnWindow(w, now)
	if b.load().generation() != w.generation() {
		return now
	}
	return min(next, b.watchClosed(w, now))
}

// turnWindow moves the window on and returns when to do so next; never if the
// window sleeps.
func (b *Breaker) turnWindow(w word, now time.Duration) (next time.Duration) {
	gen := w.generation()
	number := b.turn(now)
	moved := false
	for b.last == nil {
		e := b.ring.Edge()
		behind := e.Behind(number)
		switch {
		case !e.Awake(gen):
			return never
		case behind > 0:
			b.ring.Note(e, gen)
			if w.mode() != ForcedClosed && b.ring.Stripes() > 1 && b.catchUp(w, e, behind, now) {
				return now
			}
			b.ring.Turn(e, gen, b.ring.Steps(behind))
			moved = true
		case moved && b.ring.Sum(gen).Calls() == 0 && b.ring.Sleep(e, gen):
			return never
		default:
			return later(b.madeAt+time.Duration(number)*b.cfg().bucket, b.cfg().bucket)
		}
	}
	return never
}

// catchUp judges the window at the end of a bucket in which there was a bad
// call: the stripe that pushed the window over a rate may not have known.
// Without a bad call in it, ageing alone would trip; and what has aged by now,
// because the timer is late, trips nothing either. It goes by the rows that are
// noted, so that what comes after them is judged with the next bucket.
func (b *Breaker) catchUp(w word, e ring.Edge, behind uint64, now time.Duration) bool {
	then, ended := b.ring.Noted(e, w.generation(), 0)
	still, _ := b.ring.Noted(e, w.generation(), behind)
	k := ring.Success
	switch {
	case ended[ring.Failure] > 0:
		k = ring.Failure
	case ended[ring.Slow] == 0:
		return false
	}
	minimum := uint64(b.cfg().MinimumCalls)
	why := b.rateMet(still, k)
	if why == ReasonNone || b.rateMet(then, k) == ReasonNone || min(then.Calls(), still.Calls()) < minimum {
		return false
	}
	return b.tripAt(w.generation(), why, countsOf(still), 0, now)
}

// rolling returns the rolling window of a closed word.
func (b *Breaker) rolling(w word, now time.Duration) Counts {
	if b.last != nil {
		if h := b.last.Head(); b.last.Live(h, w.generation()) {
			return countsOf(b.last.Sum(h))
		}
		return Counts{}
	}
	now = max(now, time.Duration(b.turned.Load()))
	return countsOf(b.ring.SumAt(w.generation(), b.bucketNumber(now)))
}

// shown is what a transition out of w tells: the window, or the probes.
func (b *Breaker) shown(w word) Counts {
	switch w.phase() {
	case phaseClosed:
		return b.rolling(w, b.cfg().Clock.Now())
	case phaseHalfOpen:
		return b.episode(w.generation())
	}
	return Counts{}
}
