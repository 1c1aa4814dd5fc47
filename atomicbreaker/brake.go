package atomicbreaker

import (
	"math"
	"time"
)

// How a breaker acts before calls fail.
//
// A closed breaker whose sampled calls use up much of the time that their callers
// have is in front of a dependency that gets more than it can do: behind a queue
// that still grows, calls are about to miss their deadlines, one and all. It
// becomes half-open at once, with a probe window of what the dependency does
// within half of that time (Little 1961: calls in flight = rate x latency). More
// than this would only wait longer in the queue. In health far fewer are in flight: so an
// alarm that was false refuses nobody, and the breaker closes after a quiet time.

// lateAnswers brake, net of those that are late in health. Three to eight work
// alike, but for the calls of a fleet that fail meanwhile.
const lateAnswers = 3

// acceptAfter: what is late for so long is the new normal. In each such time of one
// stay in half-open, twice the latency counts as usual. Otherwise a dependency that has become
// slower for good is refused a part of its calls for ever.
const acceptAfter = 30 * time.Second

// brake makes a closed breaker half-open. It reports whether this call did it.
func (b *Breaker) brake(w word, s *sampler, now time.Duration) bool {
	limit := lateAfter(s.usualLatency(), time.Duration(s.deadline.Load()))
	if !b.cfg().brakes || limit == never {
		return false
	}
	first := min(max(s.rates.perSecond()*2*limit.Seconds(), 1), maxWindow)
	s.braked.Store(s.usual.Load())
	raise(&b.trippedAt, int64(now)) // if it opens, the outage has begun here
	return b.toHalfOpen(w, w.to(phaseHalfOpen, int(first)), ReasonNearDeadline, now)
}

// acceptance is by how much more than at the brake is taken for usual, now, if
// the state of w began with a brake; otherwise 1.
func (b *Breaker) acceptance(w word, now time.Duration) float64 {
	x, ok := b.records.of(w)
	if !ok || x.reason != ReasonNearDeadline {
		return 1
	}
	return math.Exp2(min(passed(x.since, now).Seconds()/acceptAfter.Seconds(), 32))
}

// accept takes the latency of a probe that succeeded for usual, as far as the
// time since the brake allows.
func (s *sampler) accept(latency time.Duration, factor float64) {
	for {
		old := s.usual.Load()
		usual := min(float64(latency), math.Float64frombits(s.braked.Load())*factor)
		if usual <= math.Float64frombits(old) || s.usual.CompareAndSwap(old, math.Float64bits(usual)) {
			return
		}
	}
}
