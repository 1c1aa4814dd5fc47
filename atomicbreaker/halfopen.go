package atomicbreaker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// probing is what half-open needs beside the word. Nobody else touches it.
// What admission must see at once with the state is in the word; a race on
// these may cost one call early or late, never a guarantee.
type probing struct {
	evidence  atomic.Uint64
	full      atomic.Uint64 // markOf the generation whose window was full since the last quiet tick
	asked     atomic.Uint64 // markOf the generation that has admitted a probe
	firstAt   atomic.Int64  // instant of its first admission
	heard     atomic.Int64  // instant of the last settling, or of the admission that found nobody in flight
	fastest   tagged        // latency of the fastest success, in nanoseconds
	lull      tagged        // what there was since the last cut, see lull
	calls     tagged        // the counts of this episode
	failures  tagged
	slow      tagged
	lastProbe atomic.Uint64 // Outcome + 1 in the low 2 bits, latency above
	abandoned atomic.Uint64
}

// markOf is a flag that belongs to a generation. Zero is no mark.
func markOf(generation uint32) uint64 { return uint64(generation) | 1<<32 }

func mark(flag *atomic.Uint64, generation uint32) {
	if m := markOf(generation); flag.Load() != m {
		flag.Store(m)
	}
}

// acquireProbe admits a probe if the window has a place.
func (b *Breaker) acquireProbe(w word, ctx context.Context) (Ticket, error) {
	if wait := b.knownDeadline(ctx); wait > 0 {
		if s := b.sampler.Load(); s != nil {
			s.deadline.Store(int64(wait))
		}
	}
	for looked := false; w.phase() == phaseHalfOpen; {
		next, ok := w.admit()
		if !ok || w.inFlight() >= w.places(ctx) {
			return b.refuseProbe(w)
		}
		now := b.cfg().Clock.Now()
		if !looked && b.late(now) {
			looked = true
			b.onTimer()
			w = b.load()
			continue
		}
		if w.inFlight() == 0 {
			raise(&b.heard, int64(now)) // [E5 publish] before the word: an idle hour is not a hung probe
		}
		if b.asked.Load() != markOf(w.generation()) {
			raise(&b.firstAt, int64(now))
		}
		// The cut is read before the admission: if a cut comes between, this
		// probe counts as sent before it, which is the safe side.
		e := evidenceOf(b.evidence.Load(), w.generation())
		if !b.swap(w, next) {
			w = b.load()
			continue
		}
		mark(&b.asked, w.generation())
		if next.inFlight() >= next.window() && (e.alive || e.cut != 0) {
			// Who only asks Ready must hold the closing back too. The first probe
			// fills a window of one, whatever the load: it holds back nothing.
			mark(&b.full, w.generation())
		}
		if w.inFlight() == 0 || next.inFlight() >= next.window() && passed(b.silentSince(w), now) >= b.cfg().Recovery.Quiet {
			b.kickAt(now) // in the second case the silence may have made a place already
		}
		return Ticket{breaker: b, claim: claimOfProbe(w, e.cut), start: now}, nil
	}
	return b.acquireSlow(ctx)
}

// refuseProbe is for a window that is full. It is acquireProbe's, apart because
// most calls of half-open end here.
func (b *Breaker) refuseProbe(w word) (Ticket, error) {
	mark(&b.full, w.generation())
	if w.mode() == Shadow {
		return b.passThrough(), nil
	}
	if s := b.ring.Pick(); !s.Bump(countRefusedHalfOpen) {
		b.look(s, countRefusedHalfOpen)
	}
	return Ticket{}, &b.refused[refusedProbe]
}

// settleProbe takes a probe's outcome into the evidence, which is its verdict,
// and then into the word. It reports false if the outcome is late. answered: the
// ticket will be settled, and counted, at the end of the call.
func (b *Breaker) settleProbe(t *Ticket, k ring.Kind, after time.Duration, answered bool) bool {
	gen := t.claim.generation()
	defer b.tellAll()
	now, over := b.arrived(gen)
	latency := passed(t.start, now) // a clock that steps back counts as one that stands
	slow := b.tooSlow(latency)
	if over || !b.awaited(b.load(), gen) {
		if k == ring.Success {
			b.tookLong(latency)
		}
		return false
	}
	var does effect
	for {
		old := b.evidence.Load() // [E4 observe] before the word, like a cell
		w := b.load()
		if !b.awaited(w, gen) {
			return false
		}
		var next uint64
		next, does = b.judgeProbe(t, old, w, k == ring.Failure || slow, now, latency)
		if b.evidence.CompareAndSwap(old, next) {
			break
		}
	}
	if b.cfg().recovery.probes == 0 {
		b.lull.update(gen, func(v uint64, _ bool) uint64 { return lullOf(v).after(k == ring.Failure || slow, does).pack() })
	}
	raise(&b.heard, int64(now))
	b.noteProbe(gen, Outcome(k), latency, slow)
	if !answered {
		b.countTotal(k, slow)
	}
	b.take(gen, does, after)
	if b.late(now) {
		b.work()
	}
	b.tellProbe(Probe{Name: b.cfg().Name, Generation: gen, Outcome: Outcome(k), Slow: slow, Latency: latency})
	return true
}

// endProbe counts what became of a probe that was answered.
func (b *Breaker) endProbe(gen uint32, k ring.Kind) {
	if b.load().generation() == gen {
		b.countTotal(k, false)
	} else {
		b.ring.Count(countLate)
	}
}

// tookLong notes that a probe that had been given up was answered after all, so
// that the next one is waited for.
func (b *Breaker) tookLong(latency time.Duration) {
	if s := b.sampler.Load(); s != nil {
		raise(&s.longest, int64(latency))
	}
}

// probeTimeout is the silence after which probes are given up: where nobody has
// set it, at least twice what calls are known to take.
func (b *Breaker) probeTimeout() time.Duration {
	c, s := b.cfg(), b.sampler.Load()
	if !c.learnsTimeout || s == nil {
		return c.Recovery.ProbeTimeout
	}
	return min(max(c.Recovery.ProbeTimeout, 2*s.highLatency(), 2*time.Duration(s.longest.Load())), maxDuration)
}

// arrived reads the clock for a probe that is being settled, and gives up the
// probes if they were silent for too long. If the clock or Config.Rand panics,
// the probe is a Failure without a verdict.
func (b *Breaker) arrived(gen uint32) (now time.Duration, over bool) {
	read := false
	defer func() {
		switch {
		case read:
		case b.freePlace(gen):
			b.ring.AddTotal(ring.Failure)
		default:
			b.ring.Count(countLate)
		}
	}()
	now = b.cfg().Clock.Now()
	over = b.giveUp(now)
	read = true
	return now, over
}

// freePlace gives back a probe's place without a verdict. It fails if the
// probe's generation is over.
func (b *Breaker) freePlace(gen uint32) bool {
	for {
		w := b.load()
		if !b.awaited(w, gen) {
			return false
		}
		if b.swap(w, w.release(w.window())) {
			return true
		}
	}
}

// take does to the word what a verdict says. If the clock or Config.Rand
// panics, only the place comes back.
func (b *Breaker) take(gen uint32, does effect, after time.Duration) {
	taken := false
	defer func() {
		if !taken {
			b.freePlace(gen)
		}
	}()
	for !taken {
		w := b.load()
		if w.generation() != gen {
			taken = true
			return
		}
		next, stays := does.apply(w)
		switch {
		case stays:
			taken = b.swap(w, next)
		case does.verdict == reopen:
			b.trip(gen, ReasonProbeFailed, b.episode(gen), after)
			taken = true
		default: // enough successes; or so much in flight is health
			taken = b.close(w)
		}
	}
}

// close ends half-open well.
func (b *Breaker) close(w word) bool {
	return b.move(w, w.to(phaseClosed, 0), ReasonRecovered, b.episode(w.generation()), b.cfg().Clock.Now())
}

// returnProbe gives a probe's place back without a verdict. It reports false if
// that is late.
func (b *Breaker) returnProbe(t *Ticket, counter int) bool {
	defer b.tellAll()
	now, _ := b.arrived(t.claim.generation())
	if !b.freePlace(t.claim.generation()) {
		b.ring.Count(countLate)
		return false
	}
	raise(&b.heard, int64(now)) // no evidence of health, but none of a hung probe either
	b.ring.Count(counter)
	if b.late(now) {
		b.work()
	}
	if counter == countIgnored {
		latency := passed(t.start, now)
		b.lastProbe.Store(uint64(latency)<<2 | uint64(Ignored+1))
		b.tellProbe(Probe{Name: b.cfg().Name, Generation: t.claim.generation(), Outcome: Ignored, Slow: b.tooSlow(latency), Latency: latency})
	}
	return true
}
