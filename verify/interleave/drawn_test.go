//go:build interleave

package interleave

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/verify/sched"
	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

var (
	draws = flag.Uint64("draws", 20_000, "schedules to draw")
	from  = flag.Uint64("from", 0, "the first seed")
)

// A turnover is some recorders that settle calls of a closed breaker while
// the clock turns its buckets over. In most of them no outcome leaves the
// window: at rest it holds every one, and the breaker has done what some order
// of the outcomes explains. In the others time may jump while the timers are
// late, as after a stop of the process: nothing that has left the window trips.
type turnover struct {
	*rig
	clock   *late
	ages    bool
	rate    float64
	minimum int
	stripes int
	before  [2]int // outcomes settled before the others, by kind
	ops     []op
	turns   int
}

// op is the settling of one call. Its place in the order is between two steps,
// its time between two instants.
type op struct {
	outcome     atomicbreaker.Outcome
	first, last int
	until       time.Duration
}

// late is a manual clock whose timers come late by what it is ahead.
type late struct {
	*clock.Manual
	ahead time.Duration
}

func (l *late) Now() time.Duration { return l.Manual.Now() + l.ahead }

const window = 8 * bucket

func drawTurnover(seed uint64) (*turnover, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 7))
	d := &turnover{
		clock:   &late{Manual: new(clock.Manual)},
		ages:    r.IntN(4) == 0,
		rate:    []float64{0.25, 0.5, 0.6, 1}[r.IntN(4)],
		minimum: 2 + r.IntN(6),
		stripes: 1 << (2 * r.IntN(2)),
		turns:   r.IntN(4),
	}
	d.rig = newRigOn(atomicbreaker.Config{
		Window: window, Buckets: 8, Clock: d.clock,
		FailureRate: d.rate, MinimumCalls: d.minimum, ConsecutiveFailures: atomicbreaker.Off,
		Cooldown: base().Cooldown, Stripes: d.stripes,
		Deadline: atomicbreaker.Off, Patience: atomicbreaker.Off,
	}, d.clock.Manual, nil)
	if r.IntN(2) > 0 { // the cells are of an earlier generation
		for range 5 {
			d.call(success)
		}
		d.call(failure)
		d.reset()
	}
	if r.IntN(3) > 0 {
		for range r.IntN(d.minimum) {
			o := atomicbreaker.Outcome(r.IntN(4) / 3)
			d.call(o)
			d.before[o]++
		}
	}
	d.last = d.b.Snapshot()
	return d, r
}

// actors are recorders, and one that is the clock.
func (d *turnover) actors(r *rand.Rand) (all []func()) {
	failing := r.Float64()
	for range 3 + r.IntN(2) {
		outcomes := make([]atomicbreaker.Outcome, 1+r.IntN(2))
		for i := range outcomes {
			if r.Float64() < failing {
				outcomes[i] = failure
			}
		}
		all = append(all, func() {
			for _, o := range outcomes {
				if t := d.acquire(); t != nil {
					d.ops = append(d.ops, op{outcome: o, first: sched.Steps()})
					i := len(d.ops) - 1
					t.Report(o)
					d.ops[i].last, d.ops[i].until = sched.Steps(), d.clock.Now()
				}
			}
		})
	}
	jump := time.Duration(0)
	if d.ages {
		jump = time.Duration(1+r.IntN(12)) * bucket
	}
	if d.turns > 0 {
		all = append(all, func() {
			for range d.turns {
				if jump > 0 {
					d.clock.ahead += jump // the timers come late
					_ = d.b.State()
				}
				d.m.Advance(bucket)
			}
		})
	}
	return all
}

// orders returns whether some order of the outcomes leaves the breaker closed,
// and whether some order trips it: by sets of outcomes that may have come first.
func (d *turnover) orders() (stays, trips bool) {
	n := len(d.ops)
	closed := make([]bool, 1<<n)
	closed[0] = true
	for set := range closed {
		if !closed[set] {
			continue
		}
		for i, o := range d.ops {
			if set>>i&1 == 1 || d.mustFollow(i, set) {
				continue
			}
			next := set | 1<<i
			met := d.met(next)
			if met && d.stripes > 1 { // the end of the bucket may judge, whatever came last
				trips = true
			}
			if met && o.outcome == failure {
				trips = true
			} else {
				closed[next] = true
			}
		}
	}
	return closed[1<<n-1], trips
}

// mustFollow reports whether an outcome outside of set was there before i came.
func (d *turnover) mustFollow(i, set int) bool {
	for j, o := range d.ops {
		if set>>j&1 == 0 && j != i && o.last < d.ops[i].first {
			return true
		}
	}
	return false
}

func (d *turnover) counts(set int) (calls, failures int) {
	calls, failures = d.before[success]+d.before[failure], d.before[failure]
	for i, o := range d.ops {
		if set>>i&1 == 1 {
			calls++
			if o.outcome == failure {
				failures++
			}
		}
	}
	return calls, failures
}

func (d *turnover) met(set int) bool {
	calls, failures := d.counts(set)
	return calls >= d.minimum && float64(failures)/float64(calls) >= d.rate
}

// end checks the breaker at rest, after the end of the last bucket.
func (d *turnover) end() error {
	d.m.Advance(0)
	d.m.Advance(bucket)
	s := d.b.Snapshot()
	if d.ages {
		return errors.Join(d.fresh(), d.rest())
	}
	stays, trips := d.orders()
	all := 1<<len(d.ops) - 1
	calls, failures := d.counts(all)
	switch {
	case s.State == atomicbreaker.StateClosed && s.Rolling != (atomicbreaker.Counts{Calls: uint64(calls), Failures: uint64(failures)}):
		return fmt.Errorf("the window holds %+v, want %d calls and %d failures", s.Rolling, calls, failures)
	case s.State == atomicbreaker.StateOpen && !trips:
		return fmt.Errorf("open, and no order of %+v after %v trips at %v of %d", d.ops, d.before, d.rate, d.minimum)
	case s.State == atomicbreaker.StateClosed && d.stripes == 1 && !stays:
		return fmt.Errorf("closed, and every order of %+v after %v trips at %v of %d", d.ops, d.before, d.rate, d.minimum)
	case s.State == atomicbreaker.StateClosed && failures >= d.minimum && d.met(all) && d.before[failure] < failures:
		return fmt.Errorf("closed after the end of the bucket, and %d of %d failed at %v of %d", failures, calls, d.rate, d.minimum)
	}
	return d.rest()
}

// fresh checks that what tripped had not left the window.
func (d *turnover) fresh() error {
	if len(d.told) == 0 {
		return nil
	}
	var calls, failures uint64
	at := d.told[0].At
	if at < window {
		calls, failures = uint64(d.before[success]+d.before[failure]), uint64(d.before[failure])
	}
	for _, o := range d.ops {
		if o.until+window > at {
			calls++
			failures += uint64(o.outcome)
		}
	}
	if c := d.told[0].Counts; c.Calls > calls || c.Failures > failures {
		return fmt.Errorf("tripped at %v by %+v, and only %d calls and %d failures of %+v are young enough", at, c, calls, failures, d.ops)
	}
	return nil
}

// TestDrawnSchedules draws programs and schedules from seeds.
func TestDrawnSchedules(t *testing.T) {
	steps, opened := atomic.Steps, 0
	for seed := *from; seed < *from+*draws; seed++ {
		d, r := drawTurnover(seed)
		chance := []float64{0.05, 0.2, 0.5}[seed%3]
		if _, err := sched.Random(seed, chance, sched.Program{Actors: d.actors(r), End: d.end}); err != nil {
			t.Fatalf("seed %d, %d stripes: %v", seed, d.stripes, err)
		}
		if len(d.told) > 0 {
			opened++
		}
	}
	if atomic.Steps == steps {
		t.Fatal("no atomic operation passed through the scheduler: this is not an instrumented build")
	}
	t.Logf("explored %d drawn schedules, %d operations; %d opened the breaker", *draws, atomic.Steps-steps, opened)
}
