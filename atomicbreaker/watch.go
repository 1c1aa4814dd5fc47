package atomicbreaker

import (
	"math"
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// watch is what the worker keeps of a closed breaker from one look to the next:
// what the samples have taught, how fast calls are answered, and what speaks for
// a trip that no single call can see. Only the worker uses it.
type watch struct {
	generation uint32
	begun      bool          // generation is meant
	next       time.Duration // instant of the next tick
	looked     time.Duration // instant of the last look
	ticked     time.Duration // instant of the last tick
	seen       ring.Counts   // the totals at the last look
	inTick     ring.Counts   // what was counted since the last tick

	learnt        uint32  // samples that have taught a latency
	median, upper float64 // as usual and high, also before learntAfter samples have done so

	lateShare float64 // share of answers that are late in health
	late      float64 // late answers lately, less what health has

	net       float64 // net failures since the best moment, at the last tick
	netBefore float64 // and at the tick before
	recent    recent
	rates     rates
}

// Ticks are a tenth of what callers wait apart, within these.
const (
	shortestTick = 10 * time.Millisecond
	longestTick  = 100 * time.Millisecond
)

// tickOf is the time between two ticks.
func (s *sampler) tickOf() time.Duration {
	if wait := time.Duration(s.deadline.Load()); wait > 0 {
		return min(max(wait/10, shortestTick), longestTick)
	}
	return longestTick
}

// watchClosed looks at the samples of a closed breaker and at what was counted
// since the last look, and changes the breaker's state if they say so. It returns
// the instant of the next look; never if nobody calls.
func (b *Breaker) watchClosed(w word, now time.Duration) time.Duration {
	c := b.cfg()
	if !c.watches || w.mode() == ForcedClosed {
		return never
	}
	s := b.sampler.Load()
	if s == nil {
		s = new(sampler)
		b.sampler.Store(s)
	}
	if !s.begun || s.generation != w.generation() {
		s.begin(w.generation(), now, b.beforeGeneration(w, now))
	}
	b.gather(s, now)
	ticks := now >= s.next
	s.count(b.ring.Totals(), now, ticks, c.FailureRate)
	switch {
	case s.late >= lateAnswers && b.brake(w, s, now),
		c.netRule && s.netMet() && b.tripWatched(w, ReasonFailureRate, now),
		c.netRule && s.recent.runMet(now) && b.tripWatched(w, ReasonStreak, now),
		c.rareRule && s.recent.shareMet(c.MinimumCalls, c.FailureRate) && b.windowIsThin(w, c) && b.tripWatched(w, ReasonFailureRate, now):
		return now
	case !ticks:
		return s.next
	}
	return b.refill(w, s, now)
}

// beforeGeneration returns the totals as of the beginning of w's generation: the
// first outcome of a generation comes before the first look.
func (b *Breaker) beforeGeneration(w word, now time.Duration) ring.Counts {
	totals, c := b.ring.Totals(), b.rolling(w, now)
	totals[ring.Failure] -= min(c.Failures, totals[ring.Failure])
	totals[ring.Success] -= min(c.Calls-c.Failures, totals[ring.Success])
	return totals
}

// begin forgets what belongs to an earlier generation. What was learnt of
// latencies and of the rate of calls stays.
func (s *sampler) begin(generation uint32, now time.Duration, totals ring.Counts) {
	s.generation, s.begun = generation, true
	s.seen, s.inTick = totals, ring.Counts{}
	s.looked, s.ticked, s.next = now, now, now
	s.late, s.net, s.netBefore = 0, 0, 0
	s.recent = recent{}
	s.rates.done, s.rates.took = [rateTicks]float64{}, [rateTicks]float64{}
}

// gather learns from the samples that are done, and notes those that are out for
// so long that they are late.
func (b *Breaker) gather(s *sampler, now time.Duration) {
	if latency := s.lost.Swap(0); latency > 0 {
		s.learnUsual(float64(latency))
	}
	for i := range s.slots {
		x := &s.slots[i]
		state := x.state.Load()
		span := time.Duration(x.span.Load())
		if x.state.Load() != state {
			continue // it is of another call now; the next look sees it
		}
		old := !sameGeneration(state, s.generation)
		switch state & slotState {
		case slotDone:
			x.state.Store(slotFree)
			if !old {
				s.learn(state, float64(span))
			}
		case slotOut:
			age := b.age(state, now)
			switch {
			case old || age >= sampleOutFor:
				x.state.CompareAndSwap(state, slotFree)
			case state&slotTold == 0 && age >= lateAfter(s.usualLatency(), span):
				if x.state.CompareAndSwap(state, state|slotTold) {
					s.late += 1 - s.lateShare
				}
			}
		}
	}
}

// learn takes a sample that is done into what is usual, and into the count of
// late answers unless it was counted while it was still out.
func (s *sampler) learn(state uint64, latency float64) {
	switch {
	case state&slotLate != 0:
		if state&slotTold == 0 {
			s.late += 1 - s.lateShare
		}
		s.lateShare += (1 - s.lateShare) / 1024
	case state&slotInTime != 0:
		s.late = max(0, s.late-(1+s.lateShare))
		s.lateShare -= s.lateShare / 1024
	}
	s.learnUsual(latency)
}

// learnUsual moves the median and the high quantile towards a latency: by steps
// of a 1024th up and down for the median, and of nineteen times as much up as
// down for the 95th per cent, so that one in twenty lies above it. The first
// steps are larger. See Robbins and Monro 1951.
func (s *sampler) learnUsual(latency float64) {
	if s.learnt >= learntAfter {
		s.median = math.Float64frombits(s.usual.Load()) // half-open may have raised it
	}
	if s.learnt == 0 {
		s.median, s.upper = latency, latency
	}
	step := 1.0 / 1024
	if s.learnt < 32 {
		step = 1 / float64(4+s.learnt)
	}
	s.learnt = min(s.learnt+1, math.MaxInt32)
	s.median = towards(s.median, latency, step, step)
	s.upper = towards(s.upper, latency, min(19*step, 1), step)
	if s.learnt >= learntAfter {
		s.usual.Store(math.Float64bits(s.median))
		s.high.Store(math.Float64bits(max(s.upper, s.median)))
	}
}

// towards moves v towards to by a share of it, and not beyond.
func towards(v, to, up, down float64) float64 {
	if to > v {
		return min(to, v*math.Exp(up))
	}
	return max(to, v*math.Exp(-down))
}

// count takes what was counted since the last look into what the rules go by.
func (s *sampler) count(totals ring.Counts, now time.Duration, ticks bool, rate float64) {
	var n ring.Counts
	for k := range n { // totals may miss a cell while it is folded
		n[k] = totals[k] - min(totals[k], s.seen[k])
		s.seen[k] = max(s.seen[k], totals[k])
		s.inTick[k] += n[k]
	}
	s.looked = now
	s.recent.add(n[ring.Success], n[ring.Failure], now)
	if !ticks {
		return
	}
	s.rates.add(float64(s.inTick.Calls()), passed(s.ticked, now).Seconds())
	s.flow.Store(math.Float64bits(s.rates.perSecond()))
	s.netBefore = s.net
	s.net = netAfter(s.net, float64(s.inTick[ring.Success]), float64(s.inTick[ring.Failure]), rate)
	s.inTick, s.ticked = ring.Counts{}, now
}

// refill allows the samples for the time until the next tick, which it returns:
// never if no call has taken one since the last, and none is out.
func (b *Breaker) refill(w word, s *sampler, now time.Duration) time.Duration {
	period := s.tickOf()
	s.next = later(now, period)
	s.asleep.Store(false)
	for {
		switch taken := samplesPerTick - w.samples(); {
		case taken > 0:
			if b.swap(w, w.withSamples(samplesPerTick)) {
				return s.next
			}
		case s.out():
			return s.next
		default:
			// [E9] Who takes a sample changes the word, then looks whether anybody is
			// awake; here it is the other way round. So one of the two sees the other.
			s.asleep.Store(true)
			if b.load() == w && !s.out() {
				return never
			}
			s.asleep.Store(false)
			return s.next
		}
		if w = b.load(); w.phase() != phaseClosed || w.generation() != s.generation || w.forced() {
			return now
		}
	}
}

// out reports whether a sample is out.
func (s *sampler) out() bool {
	for i := range s.slots {
		if s.slots[i].state.Load() != slotFree {
			return true
		}
	}
	return false
}

// windowIsThin reports whether the rolling window holds too few calls for the
// failure rate.
func (b *Breaker) windowIsThin(w word, c *settings) bool {
	return b.ring.Sum(w.generation()).Calls() < uint64(c.MinimumCalls)
}

// tripWatched opens the breaker by a rule that the worker has seen to be met.
func (b *Breaker) tripWatched(w word, why Reason, now time.Duration) bool {
	return b.tripAt(w.generation(), why, b.shown(w), 0, now)
}

// netMet reports whether the net failures are as many as the limit, and were not
// none a tick ago: calls that run into their deadline at one instant, after a
// stall, are followed by successes.
func (w *watch) netMet() bool { return w.net >= netLimit && w.netBefore >= patientFrom }
