package atomicbreaker

import (
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
func (b *Breaker) acquireProbe(w word) (Ticket, error) {
	for looked := false; w.phase() == phaseHalfOpen; {
		next, ok := w.admit()
		if !ok {
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
	return b.Acquire()
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
// and then into the word.
func (b *Breaker) settleProbe(t *Ticket, k ring.Kind, after time.Duration) {
	gen := t.claim.generation()
	defer b.tellAll()
	now, over := b.arrived(gen)
	latency := passed(t.start, now) // a clock that steps back counts as one that stands
	slow := b.tooSlow(latency)
	if over || !b.awaited(b.load(), gen) {
		b.ring.Count(countLate)
		return
	}
	var does effect
	for {
		old := b.evidence.Load() // [E4 observe] before the word, like a cell
		w := b.load()
		if !b.awaited(w, gen) {
			b.ring.Count(countLate)
			return
		}
		var next uint64
		next, does = b.judgeProbe(t, old, w, k == ring.Failure || slow, latency)
		if b.evidence.CompareAndSwap(old, next) {
			break
		}
	}
	raise(&b.heard, int64(now))
	b.noteProbe(gen, Outcome(k), latency, slow)
	b.countTotal(k, slow)
	b.take(gen, does, after)
	if b.late(now) {
		b.work()
	}
	b.tellProbe(Probe{Name: b.cfg().Name, Generation: gen, Outcome: Outcome(k), Slow: slow, Latency: latency})
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

// awaited reports whether an outcome of a probe of generation gen counts. With
// nothing in flight it is that of a copied ticket, whose place has come back
// already: such an outcome is late.
func (b *Breaker) awaited(w word, gen uint32) bool {
	return w.generation() == gen && w.inFlight() > 0
}

// judgeProbe returns the evidence after an outcome and what it does.
func (b *Breaker) judgeProbe(t *Ticket, old uint64, w word, failed bool, latency time.Duration) (uint64, effect) {
	gen := w.generation()
	if b.cfg().recovery.probes > 0 {
		next, does := b.cfg().recovery.judgeTrial(trialOf(old, gen), failed)
		return next.pack(), does
	}
	e := evidenceOf(old, gen)
	if e.cut&cutMask != t.claim.cut() {
		return old, effect{} // sent before the last cut: only the place comes back
	}
	slowAnswer := !failed && b.slowAnswer(gen, latency)
	next, does := b.cfg().recovery.judge(e, w.inFlight(), w.window(), t.claim.others(), failed, slowAnswer)
	return next.pack(), does
}

// slowAnswer notes a success's latency and compares it with the fastest.
func (b *Breaker) slowAnswer(gen uint32, latency time.Duration) bool {
	fastest := uint64(max(latency, 1))
	b.fastest.update(gen, func(old uint64, ok bool) uint64 {
		if ok {
			fastest = min(fastest, old)
		}
		return fastest
	})
	return uint64(latency) > slowFactor*fastest
}

// noteProbe counts a verdict for the episode and for Snapshot.
func (b *Breaker) noteProbe(gen uint32, o Outcome, latency time.Duration, slow bool) {
	one := func(old uint64, ok bool) uint64 { return old + 1 }
	b.calls.update(gen, one)
	if o == Failure {
		b.failures.update(gen, one)
	}
	if slow {
		b.slow.update(gen, one)
	}
	b.lastProbe.Store(uint64(latency)<<2 | uint64(o+1))
}

// episode returns the verdicts of a half-open generation.
func (b *Breaker) episode(gen uint32) Counts {
	value := func(t *tagged) uint64 {
		if v, ok := t.get(gen); ok {
			return v
		}
		return 0
	}
	return Counts{Calls: value(&b.calls), Failures: value(&b.failures), Slow: value(&b.slow)}
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

// answered reports whether the probe window of w has seen a success.
func (b *Breaker) answered(w word) bool {
	if w.phase() != phaseHalfOpen || b.cfg().recovery.probes > 0 {
		return false
	}
	e := evidenceOf(b.evidence.Load(), w.generation())
	return e.alive || e.cut != 0
}

// close ends half-open well.
func (b *Breaker) close(w word) bool {
	return b.move(w, w.to(phaseClosed, 0), ReasonRecovered, b.episode(w.generation()), b.cfg().Clock.Now())
}

// returnProbe gives a probe's place back without a verdict.
func (b *Breaker) returnProbe(t *Ticket, counter int) {
	defer b.tellAll()
	now, _ := b.arrived(t.claim.generation())
	if !b.freePlace(t.claim.generation()) {
		b.ring.Count(countLate)
		return
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
}
