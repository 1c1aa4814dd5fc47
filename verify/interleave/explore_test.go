//go:build interleave

package interleave

import (
	"fmt"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/verify/sched"
	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

type states = map[atomicbreaker.Snapshot]struct{}

// scenario is a set of actors and how many preemptions are explored; more
// with the flag -preemptions.
type scenario struct {
	name        string
	preemptions int
	program     func(seen states) sched.Program
}

const (
	success = atomicbreaker.Success
	failure = atomicbreaker.Failure
)

var scenarios = []scenario{
	{"admission against trip", 4, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(0)
		r.exact = true
		return r.program(func() { r.acquire() }, r.b.Trip)
	}},
	{"two admissions against trip", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(0)
		return r.program(func() { r.acquire() }, func() { r.acquire() }, r.b.Trip)
	}},
	{"call against the failure that trips", 3, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.call(failure)
		return r.program(func() { r.call(failure) }, func() { r.call(success) })
	}},
	{"three failures, two trip", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		return r.program(func() { r.call(failure) }, func() { r.call(failure) }, func() { r.call(failure) })
	}},
	{"cooldown against two callers", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.exact = true
		r.b.Trip()
		r.last = r.b.Snapshot()
		return r.program(func() { r.m.Advance(cooldown) }, func() { r.acquire() }, func() { r.acquire() })
	}},
	{"trip against the clock", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.exact = true
		r.silence = true
		return r.program(r.b.Trip, func() { r.m.Advance(cooldown - 1); r.m.Advance(1) })
	}},
	{"Retry-After against Trip", 3, func(seen states) sched.Program {
		const after = 6 * cooldown
		r := newRig(base(), seen)
		r.call(failure)
		t := r.acquire()
		p := r.program(func() { t.ReportAfter(failure, after) }, r.b.Trip)
		p.End = func() error {
			if r.told[0].Reason == atomicbreaker.ReasonStreak && r.b.RetryAfter() < after {
				return fmt.Errorf("opened by a failure that said %v, and for %v", after, r.b.RetryAfter())
			}
			return r.rest()
		}
		return p
	}},
	{"two probes against expiry", 2, func(seen states) sched.Program {
		r := newRig(classic(2, 1, 2), seen).halfOpen(1)
		r.isClassic, r.silence = true, true
		return r.program(func() { r.tickets[0].Report(success) }, func() { r.call(failure) }, func() { r.m.Advance(timeout) })
	}},
	{"probe's success against expiry", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		r.silence = true
		return r.program(func() { r.tickets[0].Report(success) }, func() { r.m.Advance(timeout) })
	}},
	{"cancelled probe against expiry", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		r.silence = true
		return r.program(func() { r.tickets[0].Cancel() }, func() { r.m.Advance(timeout) })
	}},
	{"silence against an outcome and a caller", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		r.exact = true
		r.silence = true
		return r.program(func() { r.m.Advance(quiet) }, func() { r.tickets[0].Report(success) }, func() { r.acquire() })
	}},
	{"quiet tick against a caller", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		r.exact = true
		r.silence = true
		r.tickets[0].Report(success)
		r.m.Advance(quiet)
		r.last = r.b.Snapshot()
		return r.program(func() { r.m.Advance(quiet) }, func() { r.call(failure) })
	}},
	{"settle against settle, one ticket", 4, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.acquire()
		return once(r, func() bool { return r.tickets[0].Report(failure) }, func() bool { return r.tickets[0].Cancel() })
	}},
	{"settle against settle, one probe", 3, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		return once(r, func() bool { return r.tickets[0].Report(success) }, func() bool { return r.tickets[0].Report(failure) })
	}},
	{"success against failure, two probes", 2, func(seen states) sched.Program {
		r := newRig(classic(2, 1, 2), seen).halfOpen(2)
		r.isClassic = true
		return r.program(func() { r.tickets[0].Report(success) }, func() { r.tickets[1].Report(failure) })
	}},
	{"three probes, one verdict", 2, func(seen states) sched.Program {
		r := newRig(classic(3, 2, 3), seen).halfOpen(3)
		r.isClassic = true
		return r.program(func() { r.tickets[0].Report(success) }, func() { r.tickets[1].Report(success) }, func() { r.tickets[2].Report(failure) })
	}},
	{"late outcome against a new episode", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		r.b.Trip()
		r.last = r.b.Snapshot()
		return r.program(func() { r.tickets[0].Report(success) }, func() { r.m.Advance(cooldown) }, func() { r.acquire() })
	}},
	{"reset against admission and outcome", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		return r.program(r.reset, func() { r.tickets[0].Report(failure) }, func() { r.acquire() })
	}},
	{"samples against the worker's look and a Reset", 1, func(seen states) sched.Program {
		r := newRig(sampling(), seen)
		r.call(success)
		r.m.Advance(0)
		r.last = r.b.Snapshot()
		return r.program(func() { r.call(success) }, func() { r.m.Advance(tick) }, r.reset)
	}},
	{"a sample that is settled against the look that finds it late", 2, func(seen states) sched.Program {
		r := newRig(sampling(), seen).learnt()
		r.brakes = true
		for range 4 {
			r.acquire()
		}
		r.m.Advance(2 * tick) // late from 250 ms on
		r.last = r.b.Snapshot()
		return r.program(func() { r.tickets[len(r.tickets)-1].Report(success) }, func() { r.m.Advance(tick) }, func() { r.acquire() })
	}},
	{"a brake against a Trip", 2, func(seen states) sched.Program {
		r := newRig(sampling(), seen).learnt()
		r.brakes = true
		for range 4 {
			r.acquire()
		}
		r.m.Advance(2 * tick)
		r.last = r.b.Snapshot()
		return r.program(r.b.Trip, func() { r.m.Advance(tick) })
	}},
	{"reset against trip", 3, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.exact = true
		return r.program(r.reset, r.b.Trip)
	}},
	{"reset against the failure that trips", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.call(failure)
		return r.program(r.reset, func() { r.call(failure) })
	}},
	{"reset against an old failure and a new one", 3, func(seen states) sched.Program { return resetAndCount(seen, failure, true) }},
	{"reset against an old failure and a new one, the first of all", 2, func(seen states) sched.Program { return resetAndCount(seen, failure, false) }},
	{"reset against an old success and a new failure", 2, func(seen states) sched.Program { return resetAndCount(seen, success, true) }},
	{"reset against cooldown", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.exact = true
		r.b.Trip()
		r.last = r.b.Snapshot()
		return r.program(r.reset, func() { r.m.Advance(cooldown) })
	}},
	{"reset against expiry", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		r.silence = true
		return r.program(r.reset, func() { r.m.Advance(timeout) })
	}},
	{"reset against reset and trip", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		return r.program(r.reset, r.reset, r.b.Trip)
	}},
	{"reset against force", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.modes = true
		return r.program(r.reset, func() { r.b.SetMode(atomicbreaker.ForcedOpen); r.b.SetMode(atomicbreaker.Auto) })
	}},
	{"force against admission and outcome", 2, func(seen states) sched.Program {
		r := newRig(base(), seen).halfOpen(1)
		r.modes = true
		return r.program(func() { r.b.SetMode(atomicbreaker.ForcedClosed); r.b.SetMode(atomicbreaker.Auto) },
			func() { r.tickets[0].Report(failure) }, func() { r.acquire() })
	}},
	{"leaving ForcedClosed against two failures of the last two calls", 2, leaveForced},
	{"shadow against cooldown", 2, func(seen states) sched.Program {
		r := newRig(base(), seen)
		r.b.Trip()
		r.last = r.b.Snapshot()
		return r.program(func() { r.b.SetMode(atomicbreaker.Shadow); r.b.SetMode(atomicbreaker.Auto) }, func() { r.m.Advance(cooldown) })
	}},
	{"outcomes against a bucket's turnover", 2, func(seen states) sched.Program {
		c := base()
		c.ConsecutiveFailures, c.FailureRate, c.MinimumCalls = atomicbreaker.Off, 1, 100
		r := newRig(c, seen)
		r.call(success)
		r.m.Advance(0)
		p := r.program(func() { r.call(failure) }, func() { r.call(success) }, func() { r.m.Advance(bucket) })
		p.End = func() error {
			// Two buckets of a window: nothing can have left it.
			if s := r.b.Snapshot(); s.Rolling != (atomicbreaker.Counts{Calls: 3, Failures: 1}) {
				return fmt.Errorf("the window holds %+v, want 3 calls and 1 failure", s.Rolling)
			}
			return r.rest()
		}
		return p
	}},
	{"outcomes against a new stripe", 2, func(seen states) sched.Program {
		c := base()
		c.Stripes, c.ConsecutiveFailures, c.FailureRate, c.MinimumCalls = 4, 3, 1, 100
		r := newRig(c, seen)
		r.call(failure)
		p := r.program(func() { r.call(failure) }, func() { r.call(failure) }, func() { r.m.Advance(0) })
		p.End = func() error {
			if s := r.b.Snapshot(); s.State != atomicbreaker.StateOpen {
				return fmt.Errorf("three failures in a row, and %v", s.State)
			}
			return r.rest()
		}
		return p
	}},
}

// resetAndCount is an outcome from before a Reset that races with it and with
// one from after. Only the second may be in the window. If live, the cell in which
// both failures count has counted one already.
func resetAndCount(seen states, old atomicbreaker.Outcome, live bool) sched.Program {
	c := base()
	c.ConsecutiveFailures = 5
	r := newRig(c, seen)
	if live {
		r.call(failure)
	}
	t := r.acquire()
	p := r.program(func() { t.Report(old) }, func() { r.reset(); r.call(failure) })
	p.End = func() error {
		if s := r.b.Snapshot(); s.Rolling != (atomicbreaker.Counts{Calls: 1, Failures: 1}) {
			return fmt.Errorf("the window holds %+v, want the one failure since the Reset", s.Rolling)
		}
		return r.rest()
	}
	return p
}

// leaveForced leaves ForcedClosed, which holds a failure, beside a failure and
// another that is told only when ForcedClosed is over. That one must trip if both are
// in the window that has begun, and nothing else may.
func leaveForced(seen states) sched.Program {
	c := base()
	c.ConsecutiveFailures, c.FailureRate, c.MinimumCalls = atomicbreaker.Off, 1, 2
	c.Window, c.Buckets, c.WindowCalls = 0, 0, 2
	r := newRig(c, seen)
	r.modes = true
	r.b.SetMode(atomicbreaker.ForcedClosed)
	r.call(failure)
	one, two, after := r.acquire(), r.acquire(), false
	p := r.program(func() { r.b.SetMode(atomicbreaker.Auto) }, func() { one.Report(failure) }, func() {
		if r.b.Snapshot().Mode == atomicbreaker.Auto {
			after = true
			two.Report(failure)
		}
	})
	p.End = func() error {
		s := r.b.Snapshot()
		both := s.Rolling == (atomicbreaker.Counts{Calls: 2, Failures: 2})
		switch opened := s.State == atomicbreaker.StateOpen; {
		case opened && !after:
			return fmt.Errorf("opened by what ForcedClosed let pass")
		case !opened && after && both:
			return fmt.Errorf("closed with %+v", s.Rolling)
		}
		return r.rest()
	}
	return p
}

// once is two settlings of one ticket: one of them wins.
func once(r *rig, one, two func() bool) sched.Program {
	var won int
	settle := func(f func() bool) func() {
		return func() {
			if f() {
				won++
			}
		}
	}
	p := r.program(settle(one), settle(two))
	p.End = func() error {
		if won != 1 {
			return fmt.Errorf("%d settlings of one ticket returned true", won)
		}
		return r.rest()
	}
	return p
}

func TestEverySchedule(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			seen, steps, began := states{}, atomic.Steps, time.Now()
			stats, err := sched.Explore(s.preemptions, func() sched.Program { return s.program(seen) })
			if err != nil {
				t.Fatal(err)
			}
			if atomic.Steps == steps {
				t.Fatal("no atomic operation passed through the scheduler: this is not an instrumented build")
			}
			t.Logf("explored %s: %d preemptions, %d schedules, %d operations, longest %d, %d distinct states, %v",
				s.name, s.preemptions, stats.Schedules, stats.Steps, stats.Longest, len(seen), time.Since(began).Round(time.Millisecond))
		})
	}
}
