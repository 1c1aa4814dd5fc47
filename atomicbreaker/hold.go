package atomicbreaker

import (
	"sync/atomic"
	"time"
)

// CooldownOver is what [Config].BeforeProbe is told: that a cooldown is over.
type CooldownOver struct {
	Breaker    *Breaker
	Generation uint32        // of the open state, for EndCooldownOf
	At         time.Duration // now, on the breaker's clock
	Since      time.Duration // the instant at which the cooldown was over
	Cooldown   Cooldown      // the breaker's settings, defaults filled in
}

// hold is what a breaker with a BeforeProbe needs beside the rest. It exists
// only then, so that others pay a pointer, and no call reads it. The fields
// that are not atomic are the worker's own.
type hold struct {
	before func(CooldownOver) time.Duration
	until  atomic.Int64 // the instant of the next question, or notHeld

	ended   bool // a question has ended its goroutine
	endedOf uint32
}

// notHeld is before every instant: the cooldown is not over yet.
const notHeld = -1 << 63

// maxHeldBack is how many times Cooldown.Max a breaker is held back at most.
// One that asks nobody sends at least a probe in each Cooldown.Max: so the
// bound costs at most a twelfth of the probes that it would send alone.
const maxHeldBack = 12

// heldBack asks BeforeProbe and returns the instant until which the breaker
// stays open, or now if it goes on.
func (b *Breaker) heldBack(h *hold, w word, over, now time.Duration) time.Duration {
	limit := later(over, maxHeldBack*b.cfg().Cooldown.Max)
	if now >= limit {
		return now
	}
	wait := b.askBefore(h, CooldownOver{b, w.generation(), now, over, b.cfg().Cooldown})
	if wait <= 0 {
		return now
	}
	until := min(later(now, min(max(wait, minDuration), b.cfg().Cooldown.Max)), limit)
	h.until.Store(int64(until))
	return until
}

// askBefore calls BeforeProbe and contains its panic. One that ends its
// goroutine must not end the worker with it: another goes on, and asks no more
// in this generation.
func (b *Breaker) askBefore(h *hold, over CooldownOver) (wait time.Duration) {
	if h.ended && h.endedOf == over.Generation {
		return 0
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		b.panics.Add(1)
		if wait = 0; recover() == nil { // runtime.Goexit
			h.ended, h.endedOf = true, over.Generation
			b.running.abandon()
			b.kick()
		}
	}()
	wait = h.before(over)
	returned = true
	return wait
}

// EndCooldown makes an open breaker half-open now, without asking
// [Config].BeforeProbe: for callers that have reason to think that the dependency is
// back, such as another breaker's success. It reports whether this call did it; a
// breaker that is not open, or forced, is left as it is.
func (b *Breaker) EndCooldown() bool { return b.endCooldown(0, true) }

// EndCooldownOf is EndCooldown for one generation: it leaves a breaker alone
// that has changed its state since. It is for callers that answer BeforeProbe late.
func (b *Breaker) EndCooldownOf(generation uint32) bool { return b.endCooldown(generation, false) }

func (b *Breaker) endCooldown(generation uint32, any bool) bool {
	b.mustBeMade()
	defer b.tellAll()
	for {
		w := b.load()
		if w.phase() != phaseOpen || w.forced() || !any && w.generation() != generation {
			return false
		}
		now := b.cfg().Clock.Now()
		if b.toHalfOpen(w, w.to(phaseHalfOpen, b.cfg().recovery.firstWindow()), ReasonEndCooldownCalled, now) {
			return true
		}
	}
}
