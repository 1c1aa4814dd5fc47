package sim

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// A Lab is the smallest world in which a breaker can keep an outage alive. It
// has neither chance nor delay in it: time goes in ticks of a second, and in
// every tick the callers that still wait, in order, and then the new arrivals
// ask the breaker. All calls that it admits are delivered together; the
// dependency answers, successes first; the outcomes are settled in that
// order. A caller that was refused or failed waits and asks again in the next tick.
type Lab struct {
	Ticks int

	// Base callers arrive in every tick, Surge from tick 10 to 19.
	Base, Surge int

	// Attempts drops a caller whose attempt of that number is refused or
	// fails. 0: callers never give up.
	Attempts int

	// Overloaded: in any tick the first LabCapacity calls are served and the
	// rest fail. Otherwise the dependency is dead from tick 10 to 19, when every
	// call fails, and serves any number of calls at other times.
	Overloaded bool
}

// LabCapacity is what the lab's overloaded dependency serves in a tick.
const LabCapacity = 20

const labFrom, labTo = 10, 20 // the ticks of the incident

// A LabTick is what happened in one tick.
type LabTick struct {
	Calls, Completed, Failed int // delivered, and what became of them
	Refused, Dropped         int
	Waiting                  int                 // at the end of the tick
	State                    atomicbreaker.State // at the end of the tick
}

// A LabResult is the books of a run in the lab.
type LabResult struct {
	Calls, Completed, Failed, Dropped, Waiting int

	// Over is the first tick from which nobody waits at the end of any tick,
	// or Never.
	Over  int
	Ticks []LabTick
}

// labCaller is one caller and how often it has asked.
type labCaller struct{ attempts int }

// Run plays the lab with a contender.
func (l Lab) Run(c Contender) LabResult {
	var (
		m       clock.Manual
		d       = seed(1).draw(forPolicy, 0, 0)
		policy  = c.New(Site{Clock: &m, Rand: d.float, HasRoom: func() bool { return true }})
		waiting []labCaller
		result  LabResult
	)
	for t := range l.Ticks {
		if t > 0 {
			m.Advance(time.Second)
		}
		arrivals := l.Base
		if labFrom <= t && t < labTo {
			arrivals = l.Surge
		}
		for range arrivals {
			waiting = append(waiting, labCaller{})
		}
		var tick LabTick
		waiting = l.tick(t, policy, waiting, &tick)
		tick.Waiting = len(waiting)
		if teller, ok := policy.(stateTeller); ok {
			tick.State = teller.State()
		}
		result.add(tick)
	}
	return result
}

// tick lets everybody ask, delivers what was admitted and returns who waits.
func (l Lab) tick(t int, policy Policy, callers []labCaller, tick *LabTick) []labCaller {
	var tickets []Ticket
	admitted := make([]bool, len(callers))
	for i := range callers {
		callers[i].attempts++
		ticket, ok := policy.Acquire()
		if ok {
			tickets = append(tickets, ticket)
		} else {
			tick.Refused++
		}
		admitted[i] = ok
	}
	tick.Calls = len(tickets)
	tick.Completed = l.served(t, tick.Calls)
	tick.Failed = tick.Calls - tick.Completed
	for i, ticket := range tickets {
		if i < tick.Completed {
			policy.Settle(ticket, atomicbreaker.Success)
		} else {
			policy.Settle(ticket, atomicbreaker.Failure)
		}
	}
	done := tick.Completed
	still := callers[:0]
	for i, c := range callers {
		switch {
		case admitted[i] && done > 0:
			done--
		case l.Attempts > 0 && c.attempts >= l.Attempts:
			tick.Dropped++
		default:
			still = append(still, c)
		}
	}
	return still
}

// served is how many of the calls of a tick succeed.
func (l Lab) served(t, calls int) int {
	switch {
	case l.Overloaded:
		return min(calls, LabCapacity)
	case labFrom <= t && t < labTo:
		return 0
	}
	return calls
}

func (r *LabResult) add(t LabTick) {
	if len(r.Ticks) == 0 {
		r.Over = 0
	}
	r.Ticks = append(r.Ticks, t)
	r.Calls += t.Calls
	r.Completed += t.Completed
	r.Failed += t.Failed
	r.Dropped += t.Dropped
	r.Waiting = t.Waiting
	switch {
	case t.Waiting > 0:
		r.Over = Never
	case r.Over == Never:
		r.Over = len(r.Ticks) - 1
	}
}
