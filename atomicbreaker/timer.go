package atomicbreaker

import (
	"sync/atomic"
	"time"
)

// worker moves the breaker in time. It is level-triggered: whenever the timer
// fires it looks at what is, does what is due, and sets the timer to what is
// due next. Who changes what it goes by kicks it: sets the timer to now.
//
// The fields that are not atomic belong to the one goroutine at a time that
// runs onTimer's loop.
type worker struct {
	kicks   atomic.Uint64 // changes to look at
	due     atomic.Int64  // instant for which the timer is set; never if it is not
	turned  atomic.Int64  // the latest instant by which the window was moved
	running baton         // of who does the work

	episodeOf uint32        // the half-open generation that the next three are of
	ticks     int64         // quiet ticks passed; noTicks if the timer was not set at the last look
	pace      time.Duration // of letting one more in while the probes are silent
	raisedAt  time.Duration // when that was last done
}

// kick makes the worker look at the breaker.
func (b *Breaker) kick() {
	b.kicks.Add(1)
	b.setTimer(0)
}

// kickAt is kick at an instant, from which on the worker is late if its timer
// is lost.
func (b *Breaker) kickAt(now time.Duration) {
	b.kicks.Add(1)
	lower(&b.due, int64(now))
	b.setTimer(0)
}

// onTimer is the timer's callback.
func (b *Breaker) onTimer() {
	b.work()
	b.tellAll() // with the work free for the next timer: a listener may be slow
}

// work does the worker's work until there is nothing to do but to wait. A second
// goroutine that comes while the first is at work only makes it go round again.
func (b *Breaker) work() {
	if !b.running.take() {
		return
	}
	ended := false
	defer func() {
		if !ended { // the clock or Config.Rand panics
			b.running.abandon()
		}
	}()
	for {
		b.running.look()
		for {
			// [E3] Whoever kicks first changes what is to be seen, then the
			// number of kicks, then the timer. A change that the work misses is
			// seen by the number here, or sets the timer after arm did.
			kicks := b.kicks.Load()
			b.arm(b.tick())
			if b.kicks.Load() == kicks {
				break
			}
		}
		if ended = b.running.drop(); ended {
			return
		}
	}
}

func (b *Breaker) arm(at time.Duration) {
	b.due.Store(int64(at))
	if at == never {
		b.setTimer(never)
		return
	}
	b.setTimer(passed(b.cfg().Clock.Now(), at))
}

// setTimer sets the timer, or stops it. A timer that panics is as good as one that
// is lost: see late.go.
func (b *Breaker) setTimer(d time.Duration) {
	defer func() { _ = recover() }()
	if d == never {
		b.timer.Stop()
		return
	}
	b.timer.Reset(d)
}

// tick does what is due and returns the instant of what is due next.
func (b *Breaker) tick() time.Duration {
	if b.ring.Crowded() {
		b.ring.Grow()
	}
	for {
		w, now := b.load(), b.cfg().Clock.Now()
		next := never
		switch {
		case w.mode() == ForcedOpen:
		case w.phase() == phaseOpen:
			next = b.tickOpen(w, now)
		case w.phase() == phaseHalfOpen:
			next = b.tickHalfOpen(w, now)
		default:
			next = b.tickClosed(w, now)
		}
		if after := b.load(); after.generation() == w.generation() && after.mode() == w.mode() {
			return next
		}
	}
}

// tickOpen ends the cooldown when it is over, and BeforeProbe, if there is one,
// does not hold the breaker back.
func (b *Breaker) tickOpen(w word, now time.Duration) time.Duration {
	end, ok := b.cooldownEnd(w)
	if !ok {
		return now // the word is older than what was read
	}
	h := b.cfg().hold
	if now < end {
		if h != nil {
			h.until.Store(notHeld)
		}
		return end
	}
	if h != nil {
		if until := b.heldBack(h, w, end, now); until > now {
			return until
		}
	}
	b.toHalfOpen(w, w.to(phaseHalfOpen, b.cfg().recovery.firstWindow()), ReasonCooldown, now)
	return now
}

// cooldownEnd returns the instant at which the cooldown of w ends. [E2
// observe] The word was read first.
func (b *Breaker) cooldownEnd(w word) (time.Duration, bool) {
	wait, ok := b.wait.get(w.generation())
	return later(time.Duration(b.coolFrom.Load()), time.Duration(wait)), ok
}
