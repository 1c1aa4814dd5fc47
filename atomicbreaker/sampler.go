package atomicbreaker

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/clock"
)

// A sampler times a few of the calls of a closed breaker, so that the breaker
// knows how long answers take without reading the clock for every call.
//
// The worker allows so many samples for the time until it looks again: the
// number lies in the word, in bits that a closed word has no other use for, so
// that a call that is not sampled executes no instruction for it. A sampled call
// has a slot, which shows how long it has been out already: a call that hangs
// is seen long before it is settled.
//
//	caller                              worker
//	word: one sample fewer
//	slot: free -> busy -> out           looks at the age of what is out
//	... the call ...
//	slot: out -> busy -> done           learns, done -> free
//
// A slot is out for one ticket: it shows the generation and the start that the
// ticket has too. Whoever finds something else there has lost the slot: to the
// worker, which frees what is of another generation or out for too long.
type sampler struct {
	slots [sampleSlots]slot

	// usual and high are the median and the 95th per cent of the latencies, in
	// nanoseconds, as the bits of a float64; 0 as long as there is none.
	usual, high atomic.Uint64

	deadline atomic.Int64  // how long the caller of the last sample was willing to wait; 0: unknown
	flow     atomic.Uint64 // calls a second, as of the last tick; this and the next as the bits of a float64
	rate     atomic.Uint64 // calls a second before the last trip
	longest  atomic.Int64  // the longest success of a probe that had been given up
	blamed   atomic.Int64  // what a timed call whose context ended said last, see blame
	braked   atomic.Uint64 // usual at the last brake
	lost     atomic.Int64  // the latency of a call that had lost its slot, the last one; 0: none since the last look
	asleep   atomic.Bool   // nobody looks at the samples until a caller kicks

	watch // the worker's own
}

const (
	// sampleSlots is how many samples can be out at once. 16 to 64 work alike; 8 are
	// too few when calls take a second.
	sampleSlots = 16

	// samplesPerTick is how many calls are timed in the time of a tick. One to
	// eight in 50 to 200 ms find overload alike.
	samplesPerTick = 4

	// sampleOutFor is how long a slot is kept for a call. One that takes longer
	// tells its latency all the same when it is settled.
	sampleOutFor = 10 * time.Second

	// learntAfter is how many samples the usual latency takes to be known.
	learntAfter = 8
)

// A slot's state:
//
//	 63         48 47                      4  3    2  1    0
//	+-------------+-------------------------+-----+-----+-----+
//	| generation  | start, in microseconds  |  0  |told |state|
//	+-------------+-------------------------+-----+-----+-----+
//
//	told  the worker has counted it as late
//
// One that is done has no start, but whether it came late for its caller, or in
// time: neither is known of a caller who waits for ever.
//
// The start is taken since the breaker was made. It wraps after 203 days, which is
// longer than a slot is out.
type slot struct {
	state atomic.Uint64
	span  atomic.Int64 // out: how long its caller waits, 0 if unknown; done: its latency. In ns
}

const (
	slotFree = iota
	slotBusy // its ticket writes span
	slotOut
	slotDone
	slotState = 3
	slotTold  = 4

	slotLate       = 1 << slotStartShift // done: late
	slotInTime     = 2 << slotStartShift // done: in time
	slotStartShift = 4
	slotStartMask  = 1<<44 - 1
)

// outOf is the state of a slot that is out for a ticket.
func (b *Breaker) outOf(gen uint32, start time.Duration) uint64 {
	at := uint64(passed(b.madeAt, start)/time.Microsecond) & slotStartMask
	return uint64(gen)<<taggedBits | at<<slotStartShift | slotOut
}

// age is for how long a slot has been out.
func (b *Breaker) age(state uint64, now time.Duration) time.Duration {
	at := uint64(passed(b.madeAt, now)/time.Microsecond) - state>>slotStartShift
	if at &= slotStartMask; at <= slotStartMask/2 {
		return time.Duration(at) * time.Microsecond
	}
	return 0 // the clock has stepped back
}

// knownDeadline is how long a caller is willing to wait, 0 if nobody knows.
func (b *Breaker) knownDeadline(ctx context.Context) time.Duration {
	switch d := b.cfg().Deadline; {
	case d > 0:
		return d
	case d == Off || ctx == nil:
		return 0
	}
	wait, _ := clock.UntilDeadline(ctx)
	return wait
}

// acquireClosed admits a call of a closed breaker, and times it if it is to be
// sampled, or if every call is timed, or if its context can end: what becomes of
// it is then judged by how long the dependency was given.
func (b *Breaker) acquireClosed(w word, ctx context.Context) (Ticket, error) {
	wait := b.knownDeadline(ctx)
	for w.samples() > 0 {
		if b.swap(w, w.withSamples(w.samples()-1)) {
			start := b.cfg().Clock.Now()
			return Ticket{breaker: b, claim: b.sampled(w, start, wait), start: start}, nil
		}
		if w = b.load(); w.phase() != phaseClosed {
			return b.acquireSlow(ctx)
		}
	}
	if b.timed || ctx != nil && ctx.Done() != nil {
		return Ticket{breaker: b, claim: claimOf(w) | claimTimed, start: b.cfg().Clock.Now()}, nil
	}
	return Ticket{breaker: b, claim: claimOf(w)}, nil
}

// sampled is the claim of a call that is timed, with a slot if one is free.
func (b *Breaker) sampled(w word, start, wait time.Duration) claim {
	c := claimOf(w) | claimTimed
	s := b.sampler.Load()
	if s == nil {
		return c
	}
	if wait > 0 {
		s.deadline.Store(int64(wait))
	}
	for i := range s.slots {
		if x := &s.slots[i]; x.state.Load() == slotFree && x.state.CompareAndSwap(slotFree, slotBusy) {
			x.span.Store(int64(wait))
			x.state.Store(b.outOf(w.generation(), start))
			c |= claim(i+1) << othersShift
			break
		}
	}
	if s.asleep.Load() { // [E9]
		b.kickAt(start)
	}
	return c
}

// slotOf returns the slot of a sampled call that is no probe, nil if there is none.
func (b *Breaker) slotOf(c claim) (*sampler, *slot) {
	s := b.sampler.Load()
	if i := c.others(); s != nil && i > 0 && !c.has(claimProbe) {
		return s, &s.slots[i-1]
	}
	return nil, nil
}

// take makes a slot busy for the ticket that it is out for. It returns the flag
// slotTold as it was, or slotBusy if the ticket has lost its slot.
func (x *slot) take(out uint64) uint64 {
	switch {
	case x.state.CompareAndSwap(out, out&^slotState|slotBusy):
		return 0
	case x.state.CompareAndSwap(out|slotTold, out&^slotState|slotBusy):
		return slotTold
	}
	return slotBusy
}

// learn tells the worker that a sampled call has succeeded, or begun to be
// answered, after latency. It wakes the worker for one that was late and of which
// the worker does not know yet.
func (b *Breaker) learn(c claim, start, now time.Duration) {
	s, x := b.slotOf(c)
	if x == nil {
		return
	}
	latency := max(passed(start, now), 1)
	out := b.outOf(c.generation(), start)
	done := uint64(c.generation())<<taggedBits | slotDone
	switch told := x.take(out); {
	case told != slotBusy:
		if limit := lateAfter(s.usualLatency(), time.Duration(x.span.Load())); limit != never {
			done |= slotInTime
			if latency >= limit {
				done ^= slotInTime | slotLate
			}
		}
		done |= told
	default:
		s.lost.Store(int64(latency))
		return
	}
	x.span.Store(int64(latency))
	x.state.Store(done)
	if done&slotLate != 0 && done&slotTold == 0 {
		b.kickAt(now)
	}
}

// unsample gives the slot of a sampled call back that has taught nothing.
func (b *Breaker) unsample(c claim, start time.Duration) {
	if _, x := b.slotOf(c); x != nil && x.take(b.outOf(c.generation(), start)) != slotBusy {
		x.state.Store(slotFree)
	}
}

// usualLatency is the median of what successes took; 0 while it is not known.
func (s *sampler) usualLatency() time.Duration { return nanoseconds(&s.usual) }

// highLatency is what 95 of 100 successes did not exceed; 0 while it is not known.
func (s *sampler) highLatency() time.Duration { return nanoseconds(&s.high) }

func nanoseconds(v *atomic.Uint64) time.Duration {
	return time.Duration(math.Float64frombits(v.Load()))
}

// lateAfter is the latency from which on a caller who waits for so long runs the
// risk that his answer comes too late: a quarter of what there is between the
// usual latency and his deadline, and at least twice the usual one. Nobody is
// late who waits for no more than that, or if the usual latency is not known.
//
// At an eighth a service that has become slower is refused needlessly, at a
// third or a half more calls fail before the breaker acts.
func lateAfter(usual, wait time.Duration) time.Duration {
	if usual == 0 || wait <= 2*usual {
		return never
	}
	return max(usual+(wait-usual)/4, 2*usual)
}
