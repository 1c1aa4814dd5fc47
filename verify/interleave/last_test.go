//go:build interleave

package interleave

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/verify/sched"
	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

const slowCall = time.Millisecond

// lastRig is a breaker with a window of the last calls, and what the actors do
// with it, one list of steps for each.
type lastRig struct {
	*rig
	history
	actors [][]lastStep
}

// lastStep is a step that is still to come.
type lastStep struct {
	ticket *atomicbreaker.Ticket // nil to look
	step
}

func newLastRig(rule lastRule) *lastRig {
	c := base()
	c.Window, c.Buckets, c.ConsecutiveFailures = 0, 0, atomicbreaker.Off
	c.WindowCalls, c.MinimumCalls = rule.calls, rule.minimum
	c.SlowCallDuration = slowCall
	c.FailureRate, c.SlowCallRate = orOff(rule.failed), orOff(rule.slow)
	c.ReadyToTrip = rule.ready
	return &lastRig{rig: newRig(c, nil), history: history{rule: rule}}
}

func orOff(rate float64) float64 {
	if rate == 0 {
		return atomicbreaker.Off
	}
	return rate
}

// begin settles some calls one after the other and admits the actors' calls,
// the slow ones first, so that time makes them slow.
func (r *lastRig) begin(first []step, actors [][]step) {
	r.actors = make([][]lastStep, len(actors))
	for i := range actors {
		r.actors[i] = make([]lastStep, len(actors[i]))
	}
	early := make([]*atomicbreaker.Ticket, len(first))
	for _, slow := range []bool{true, false} {
		for i, s := range first {
			if s.slow == slow {
				early[i] = r.acquire()
			}
		}
		for i := range actors {
			for k, s := range actors[i] {
				r.actors[i][k].step = s
				if !s.looks && s.slow == slow {
					r.actors[i][k].ticket = r.acquire()
				}
			}
		}
		if slow {
			r.m.Advance(slowCall)
		}
	}
	for i, s := range first {
		report(early[i], s)
	}
	r.first = first
}

func report(t *atomicbreaker.Ticket, s step) {
	if s.failed {
		t.Report(failure)
	} else {
		t.Report(success)
	}
}

func (r *lastRig) program() sched.Program {
	var all []func()
	for _, steps := range r.actors {
		all = append(all, func() {
			for _, s := range steps {
				s.call = sched.Steps()
				if s.looks {
					seen := r.b.Snapshot()
					if seen.State != atomicbreaker.StateClosed {
						continue // its window is gone
					}
					s.shown = seen.Rolling
				} else {
					report(s.ticket, s.step)
				}
				s.end = sched.Steps()
				r.steps = append(r.steps, s.step)
			}
		})
	}
	return sched.Program{Actors: all, End: func() error {
		s := r.b.Snapshot()
		r.open, r.history.rest = s.State == atomicbreaker.StateOpen, s.Rolling
		if err := r.err(); err != nil {
			return err
		}
		return r.rig.rest()
	}}
}

// drawn is a rule and outcomes from a seed. Often all is at the edge of a trip:
// the window just full, everybody failing.
func drawn(seed uint64) *lastRig {
	rnd := rand.New(rand.NewPCG(seed, 11))
	rule := lastRule{calls: 1 + rnd.IntN(5), failed: []float64{1, 1, 0.75, 0.5, 0.6}[rnd.IntN(5)]}
	if rnd.IntN(8) == 0 {
		rule.calls = 15 + rnd.IntN(4) // around the end of a word
	}
	rule.minimum = max(1, rule.calls-rnd.IntN(2)*rnd.IntN(3))
	switch rnd.IntN(6) {
	case 0:
		rule.slow = []float64{1, 0.5}[rnd.IntN(2)]
	case 1:
		rule.failed, rule.slow = 0, 1
	case 2:
		least := uint64(rule.minimum)
		rule.failed, rule.ready = 0, func(c atomicbreaker.Counts) bool { return c.Calls >= least && c.Failures >= least }
	}
	bad := []float64{1, 0.9, 0.7, 0.5}[rnd.IntN(4)]
	draw := func() step { return step{failed: rnd.Float64() < bad, slow: rule.slow > 0 && rnd.IntN(3) > 0} }

	n := 3 + rnd.IntN(2)
	actors := make([][]step, n)
	for i := range actors {
		for range 1 + rnd.IntN(3-n/4) {
			actors[i] = append(actors[i], draw())
		}
	}
	if rnd.IntN(4) == 0 {
		actors[n-1] = []step{{looks: true}}
	}
	var first sequence
	for range rnd.IntN(rule.calls + 1) {
		s := draw()
		if next := append(first[:len(first):len(first)], s); !rule.trips(next) {
			first = next
		}
	}
	// Where the words of the window end, and so does the room for a lap, moves on.
	for range rnd.IntN(2) * rnd.IntN(40) {
		first = append(sequence{{}}, first...)
	}
	for k := range first {
		if rule.trips(first[:k+1]) {
			first = nil
			break
		}
	}
	r := newLastRig(rule)
	r.begin(first, actors)
	return r
}

var lastSchedules = flag.Uint64("last", 50_000, "schedules of recorders over the last calls that are drawn from seeds")

// TestLastCallsAtRest draws schedules of three and four recorders from seeds:
// a breaker at rest is open exactly if an order of its outcomes that explains
// what was seen trips.
func TestLastCallsAtRest(t *testing.T) {
	began, steps, opened := time.Now(), atomic.Steps, 0
	for seed := range *lastSchedules {
		r := drawn(seed)
		if _, err := sched.Random(seed, []float64{0.05, 0.2, 0.5}[seed%3], r.program()); err != nil {
			t.Fatalf("schedule [seed %d]: %v", seed, err)
		}
		if r.open {
			opened++
		}
	}
	if atomic.Steps == steps {
		t.Fatal("no atomic operation passed through the scheduler: this is not an instrumented build")
	}
	if n := uint64(opened); n < *lastSchedules/10 || n > *lastSchedules*9/10 {
		t.Errorf("%d of %d opened: one of the two is hardly tested", n, *lastSchedules)
	}
	t.Logf("explored the last calls: %d schedules from seeds, %d opened, %v", *lastSchedules, opened, time.Since(began).Round(time.Millisecond))
}

// TestLastCallsInEverySchedule explores small cases to the bound.
func TestLastCallsInEverySchedule(t *testing.T) {
	bad, good, look := step{failed: true}, step{}, step{looks: true}
	all := lastRule{calls: 2, minimum: 2, failed: 1}
	for name, c := range map[string]struct {
		rule        lastRule
		preemptions int
		first       sequence
		actors      [][]step
	}{
		"two failures that fill the window":       {all, 4, nil, [][]step{{bad}, {bad}}},
		"three failures that fill the window":     {lastRule{calls: 3, minimum: 3, failed: 1}, 2, nil, [][]step{{bad}, {bad}, {bad}}},
		"failures, and a success that ends them":  {all, 3, nil, [][]step{{bad, bad}, {bad, good}}},
		"a failure and a success, then a failure": {all, 2, sequence{bad}, [][]step{{bad}, {good}, {bad}}},
		"the turn of a word": {all, 3, sequence{good, good, good, good, good, good, good, good, good, good, good, good, good, good, bad},
			[][]step{{bad}, {good, bad}}},
		"a look at the turn of a word": {all, 2, sequence{good, good, good, good, good, good, good, good, good, good, good, good, good, good, bad},
			[][]step{{good, good}, {look}}},
	} {
		t.Run(name, func(t *testing.T) {
			stats, err := sched.Explore(c.preemptions, func() sched.Program {
				r := newLastRig(c.rule)
				r.begin(c.first, c.actors)
				return r.program()
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("explored %s: %d preemptions, %d schedules, %d operations", name, c.preemptions, stats.Schedules, stats.Steps)
		})
	}
}
