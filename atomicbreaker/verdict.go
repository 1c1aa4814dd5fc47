package atomicbreaker

import (
	"math"
	"time"
)

// How the rules of recovery.go are put to an outcome of a probe.

// awaited reports whether an outcome of a probe of generation gen counts. With
// nothing in flight it is that of a copied ticket, whose place has come back
// already: such an outcome is late.
func (b *Breaker) awaited(w word, gen uint32) bool {
	return w.generation() == gen && w.inFlight() > 0
}

// judgeProbe returns the evidence after an outcome and what it does.
func (b *Breaker) judgeProbe(t *Ticket, old uint64, w word, failed bool, now, latency time.Duration) (uint64, effect) {
	gen := w.generation()
	if b.cfg().recovery.probes > 0 {
		next, does := b.cfg().recovery.judgeTrial(trialOf(old, gen), failed)
		return next.pack(), does
	}
	e := evidenceOf(old, gen)
	if e.cut&cutMask != t.claim.cut() {
		return old, effect{stale: true} // sent before the last cut: only the place comes back
	}
	a := answer{failed: failed, others: t.claim.others()}
	if v, ok := b.lull.get(gen); ok {
		a.since = lullOf(v)
	}
	if failed {
		fastest, ok := b.fastest.get(gen)
		a.door = ok && fastest < taggedMax && uint64(max(latency, 1)) < fastest
	} else {
		b.compare(&a, w, now, latency)
	}
	next, does := b.cfg().recovery.judge(e, w.inFlight(), w.window(), a)
	return next.pack(), does
}

// compare says how the latency of a success compares: with the fastest, with what
// callers wait, and with the load before the trip.
func (b *Breaker) compare(a *answer, w word, now, latency time.Duration) {
	gen := w.generation()
	accepted := b.acceptance(w, now)
	a.slow = float64(latency) > slowFactor*float64(b.fastestWith(gen, latency))*accepted
	s := b.sampler.Load()
	if s == nil {
		return
	}
	wait := time.Duration(s.deadline.Load())
	a.held = a.slow && wait > 0 && latency > wait/2
	a.need = int(min(math.Float64frombits(s.rate.Load())*latency.Seconds(), maxWindow))
	if accepted > 1 {
		s.accept(latency, accepted)
	}
}

// fastestWith notes a success's latency and returns the fastest.
func (b *Breaker) fastestWith(gen uint32, latency time.Duration) uint64 {
	fastest := uint64(max(latency, 1))
	b.fastest.update(gen, func(old uint64, ok bool) uint64 {
		if ok {
			fastest = min(fastest, old)
		}
		return fastest
	})
	return fastest
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

// standing reports what the probes of w so far mean at a quiet tick. They allow to
// close if there has been a success since the last cut, fewer have failed since then than trip a
// closed breaker, and where there is doubt, the dependency was well on the whole. They
// demand to reopen if enough of them show the opposite. The tally may not see that: where exactly the trip
// share fails, it does not move.
func (b *Breaker) standing(w word) (closes, reopens bool) {
	c, gen := b.cfg(), w.generation()
	e := evidenceOf(b.evidence.Load(), gen)
	if !e.alive || c.recovery.probes > 0 {
		return false, false
	}
	v, _ := b.lull.get(gen)
	if l := lullOf(v); c.recovery.ill(l.calls, l.failures) {
		return false, l.calls >= uint64(c.MinimumCalls)
	}
	return e.doubt == 0 || b.wasWell(w), false
}

// wasWell reports whether the dependency was well during the stay of w in half-open.
func (b *Breaker) wasWell(w word) bool {
	c := b.episode(w.generation())
	return b.answered(w) && b.cfg().recovery.well(c.Calls, c.Failures)
}

// answered reports whether the probe window of w has seen a success.
func (b *Breaker) answered(w word) bool {
	if w.phase() != phaseHalfOpen || b.cfg().recovery.probes > 0 {
		return false
	}
	e := evidenceOf(b.evidence.Load(), w.generation())
	return e.alive || e.cut != 0
}
