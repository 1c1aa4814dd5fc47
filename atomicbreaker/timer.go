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
	running atomic.Int64  // timers that have fired since one began to work
	turned  atomic.Int64  // the latest instant by which the window was moved

	episodeOf uint32        // the half-open generation that the next four are of
	ticking   bool          // the timer was set at the last look
	ticks     int64         // quiet ticks passed
	pace      time.Duration // of letting one more in while the probes are silent
	raisedAt  time.Duration // when that was last done
}

// kick makes the worker look at the breaker.
func (b *Breaker) kick() {
	b.kicks.Add(1)
	b.timer.Reset(0)
}

// onTimer is the timer's callback. A second one that comes while the first is
// at work only makes it go round again.
func (b *Breaker) onTimer() {
	if b.running.Add(1) != 1 {
		return
	}
	defer b.tellAll() // with the work free for the next timer: a listener may be slow
	rested := false
	defer func() {
		if !rested { // the clock or Config.Rand panics
			b.running.Store(0)
		}
	}()
	for {
		running := b.running.Load()
		for {
			// [E3] Whoever kicks first changes what is to be seen, then the
			// number of kicks, then the timer. A change that work misses is
			// seen by the number here, or sets the timer after arm did.
			kicks := b.kicks.Load()
			b.arm(b.work())
			if b.kicks.Load() == kicks {
				break
			}
		}
		if rested = b.running.CompareAndSwap(running, 0); rested {
			return
		}
	}
}

// never is an instant that the timer is not set for.
const never time.Duration = 1<<63 - 1

func (b *Breaker) arm(at time.Duration) {
	if at == never {
		b.timer.Stop()
		return
	}
	b.timer.Reset(max(at-b.cfg.Clock.Now(), 0))
}

// work does what is due and returns the instant of what is due next.
func (b *Breaker) work() time.Duration {
	if b.ring.Crowded() {
		b.ring.Grow()
	}
	for {
		w, now := b.load(), b.cfg.Clock.Now()
		next := never
		if l := b.cfg.lease; l != nil {
			b.tickLease(l, w)
		}
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

// tickOpen ends the cooldown when it is over, and the Lease, if there is one,
// agrees.
func (b *Breaker) tickOpen(w word, now time.Duration) time.Duration {
	end, ok := b.cooldownEnd(w)
	if !ok {
		return now // the word is older than what was read
	}
	if now < end {
		return end
	}
	if l := b.cfg.lease; l != nil {
		return b.tickAsk(l, w, now)
	}
	b.toHalfOpen(w, w.to(phaseHalfOpen, b.kind.firstWindow()), ReasonCooldown, now)
	return now
}

// cooldownEnd returns the instant at which the cooldown of w ends. [E2
// observe] The word was read first.
func (b *Breaker) cooldownEnd(w word) (time.Duration, bool) {
	wait, ok := b.wait.get(w.generation())
	return time.Duration(b.coolFrom.Load()) + time.Duration(wait), ok
}
