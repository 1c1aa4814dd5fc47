package sim

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Second is what happened in one second, and how things stood at its end.
type Second struct {
	Born      int // calls that callers first wanted to make
	Tries     int // times that a caller asked, first and later ones
	Sent      int // attempts that reached the dependency
	Good      int // answers in time and without error
	Failed    int // attempts that were sent and failed
	Cancelled int // attempts that were sent and abandoned by their callers
	Refused   int // attempts that were not sent
	Needless  int // of the refused, those that the dependency had room for
	Lost      int // calls given up by their callers

	Behind   int // calls that were refused or failed before and are still wanted
	Queue    int // calls in the dependency's queue
	Open     int // breakers that are open
	HalfOpen int // breakers that are half-open
	Window   int // the sum of their probe windows
}

// Change is a change of state of a breaker.
type Change struct {
	At time.Duration
	To atomicbreaker.State
}

// Result is the books of one run.
type Result struct {
	Scenario, Mode, Policy string
	Seed                   uint64
	Breakers               int
	Incident               Span

	Seconds []Second
	Changes []Change // of all breakers, as seen by calls; at most maxChanges

	Trips   int // closed to open
	Retrips int // of these, the ones after the incident
	Reopens int // half-open to open
	Closes  int // to closed

	// Patience is the longest retry delay of the callers.
	Patience time.Duration

	// FailedToTrip is how many sent calls had failed when the first breaker
	// opened, 0 if none did.
	FailedToTrip int

	// FailedProbes is how many of the sent calls that failed were sent by a
	// half-open breaker, and failed, before the incident was over.
	FailedProbes int

	// Herd is how many calls were sent in the second that follows the first
	// good answer after the incident.
	Herd int

	// ClosedAfter is how many calls were born between the end of the incident
	// and the moment when the last breaker that was not closed was seen
	// closed; 0 if none was, -1 if one never was.
	ClosedAfter int
}

const maxChanges = 2000

// books are kept during a run.
type books struct {
	current Second
	seconds []Second
	behind  int
	changes []Change

	trips, retrips, reopens int
	closes                  int
	failed, failedToTrip    int
	failedProbes            int
	notClosed               int
	bornAfter, closedAfter  int
	incident                Span

	good  bool // there has been a good answer after the incident
	until time.Duration
	herd  int
}

func (b *books) now() *Second { return &b.current }

func (b *books) born(at time.Duration) {
	b.current.Born++
	if at >= b.incident.To {
		b.bornAfter++
	}
}

func (b *books) sent(at time.Duration) {
	b.current.Sent++
	if b.good && at < b.until {
		b.herd++
	}
}

func (b *books) refused(needless bool) {
	b.current.Refused++
	if needless {
		b.current.Needless++
	}
}

func (b *books) settled(o atomicbreaker.Outcome, at time.Duration) {
	switch o {
	case atomicbreaker.Success:
		b.current.Good++
		if !b.good && at >= b.incident.To {
			b.good, b.until = true, at+time.Second
		}
	case atomicbreaker.Failure:
		b.current.Failed++
		b.failed++
	default:
		b.current.Cancelled++
	}
}

func (b *books) changed(from, to atomicbreaker.State, at time.Duration) {
	if len(b.changes) < maxChanges {
		b.changes = append(b.changes, Change{at, to})
	}
	switch {
	case from == atomicbreaker.StateClosed:
		b.notClosed++
	case to == atomicbreaker.StateClosed:
		b.notClosed--
		b.closes++
		b.closedAfter = b.bornAfter
	}
	if to != atomicbreaker.StateOpen {
		return
	}
	if from == atomicbreaker.StateHalfOpen {
		b.reopens++
		return
	}
	b.trips++
	if b.trips == 1 {
		b.failedToTrip = b.failed
	}
	if at >= b.incident.To {
		b.retrips++
	}
}

func (b *books) nextSecond() {
	b.seconds = append(b.seconds, b.current)
	b.current = Second{}
}

func (b *books) result(sc *Scenario, c Contender, number uint64) *Result {
	closedAfter := b.closedAfter
	if b.notClosed > 0 {
		closedAfter = -1
	}
	return &Result{
		Scenario: sc.Name, Mode: sc.Mode, Policy: c.Name, Seed: number,
		Breakers: max(1, sc.Breakers), Incident: sc.Incident,
		Seconds: b.seconds, Changes: b.changes,
		Trips: b.trips, Retrips: b.retrips, Reopens: b.reopens, Closes: b.closes,
		Patience:     sc.Traffic.Retry.Delay.To,
		FailedToTrip: b.failedToTrip, FailedProbes: b.failedProbes, Herd: b.herd, ClosedAfter: closedAfter,
	}
}

// Never stands for a time that was not reached within the run.
const Never = -1

// T95 is the number of whole seconds after the incident until, for the first
// time, five seconds follow in which good answers reach 95 % of the calls
// born, not counting those that their callers cancelled, and at the end of
// which the backlog is gone: no more calls are behind than are born in the
// longest retry delay. It returns Never if that does not happen within the run.
func (r *Result) T95() int {
	const span = 5
	first := int(r.Incident.To / time.Second)
	for s := first; s+span <= len(r.Seconds); s++ {
		born, good := 0, 0
		for _, x := range r.Seconds[s : s+span] {
			born += x.Born - x.Cancelled
			good += x.Good
		}
		behind := r.Seconds[s+span-1].Behind
		if 100*good >= 95*born && time.Duration(behind*span)*time.Second <= time.Duration(born)*r.Patience {
			return s - first
		}
	}
	return Never
}

// Total adds up the seconds that begin in a span.
func (r *Result) Total(s Span) Second {
	var sum Second
	for i, x := range r.Seconds {
		if t := time.Duration(i) * time.Second; t < s.From || t >= s.To {
			continue
		}
		sum.Born += x.Born
		sum.Tries += x.Tries
		sum.Sent += x.Sent
		sum.Good += x.Good
		sum.Failed += x.Failed
		sum.Cancelled += x.Cancelled
		sum.Refused += x.Refused
		sum.Needless += x.Needless
		sum.Lost += x.Lost
	}
	return sum
}

// All is the whole run.
func (r *Result) All() Second { return r.Total(Span{0, time.Duration(len(r.Seconds)) * time.Second}) }

// Goodput is the good answers per second in a span of whole seconds.
func (r *Result) Goodput(s Span) float64 {
	return float64(r.Total(s).Good) / s.seconds()
}

func (s Span) seconds() float64 { return float64(s.To-s.From) / float64(time.Second) }
