package locked_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/locked"
	"github.com/atomicbreaker/breaker/clock"
)

type config = atomicbreaker.Config

func TestFailureRateTripsOnTheFailureThatReachesIt(t *testing.T) {
	for _, c := range []struct {
		rate            float64
		minimum         int
		successes, upTo int // so many successes, then it trips on this failure
	}{
		{0.5, 10, 5, 5},
		{0.5, 10, 10, 10},
		{0.5, 10, 0, 10}, // the minimum holds it back
		{1, 10, 0, 10},
		{1.0 / 3, 3, 2, 1},
		{2.0 / 3, 3, 1, 2},
		{0.1, 10, 9, 1},
		{0.7, 10, 3, 7},
		{0.01, 1, 99, 1},
	} {
		t.Run(fmt.Sprintf("rate=%.2f/successes=%d", c.rate, c.successes), func(t *testing.T) {
			each(t, config{FailureRate: c.rate, MinimumCalls: c.minimum, ConsecutiveFailures: off}, func(t *testing.T, r *rig) {
				r.succeed(c.successes)
				r.fail(c.upTo - 1)
				r.want(closed)
				r.fail(1)
				r.want(open)
				r.reasons(atomicbreaker.ReasonFailureRate)
				want := atomicbreaker.Counts{Calls: uint64(c.successes + c.upTo), Failures: uint64(c.upTo)}
				if got := r.last().Counts; got != want {
					t.Errorf("announced %+v, want %+v", got, want)
				}
			})
		})
	}
}

func TestQuickSuccessNeverTrips(t *testing.T) {
	each(t, config{FailureRate: 0.5, ConsecutiveFailures: off}, func(t *testing.T, r *rig) {
		r.fail(9)
		r.succeed(1) // 9 of 10 have failed
		r.want(closed)
		r.fail(1)
		r.want(open)
	})
}

func TestStreakEndsWithSuccessAloneAndSurvivesIdleness(t *testing.T) {
	each(t, config{FailureRate: off, ConsecutiveFailures: 3}, func(t *testing.T, r *rig) {
		r.fail(2)
		r.succeed(1)
		r.fail(2)
		r.report(1, atomicbreaker.Ignored)
		r.admit().Cancel()
		r.clock.Advance(time.Hour)
		r.want(closed)
		r.fail(1)
		r.reasons(atomicbreaker.ReasonStreak)
		if got := r.last().Counts; got != (atomicbreaker.Counts{Calls: 1, Failures: 1}) {
			t.Errorf("announced %+v: the earlier failures have left the window", got)
		}
	})
}

func TestNeutralOutcomesAreInNoShare(t *testing.T) {
	each(t, config{FailureRate: 0.5, MinimumCalls: 4, ConsecutiveFailures: off, SlowCallDuration: ms, SlowCallRate: 0.75}, func(t *testing.T, r *rig) {
		r.succeed(2)
		r.report(50, atomicbreaker.Ignored)
		for _, slow := range r.flight(5, time.Second) {
			slow.Cancel()
		}
		if got := r.Snapshot(); got.Rolling != (atomicbreaker.Counts{Calls: 2}) || got.Slow != 0 || got.Ignored != 50 || got.Cancelled != 5 {
			t.Errorf("%+v", got)
		}
		r.fail(2)
		r.want(open)
	})
}

func TestReasonIsTheFirstRuleInOrder(t *testing.T) {
	all := config{
		MinimumCalls: 2, FailureRate: 0.5, ConsecutiveFailures: 2,
		SlowCallDuration: 10 * ms, SlowCallRate: 0.5,
		ReadyToTrip: func(c atomicbreaker.Counts) bool { return c.Calls >= 2 },
	}
	for _, c := range []struct {
		name  string
		alter func(*config)
		want  atomicbreaker.Reason
	}{
		{"all", func(*config) {}, atomicbreaker.ReasonStreak},
		{"no streak", func(c *config) { c.ConsecutiveFailures = off }, atomicbreaker.ReasonFailureRate},
		{"no failure rate", func(c *config) { c.ConsecutiveFailures, c.FailureRate = off, off }, atomicbreaker.ReasonSlowCallRate},
		{"predicate alone", func(c *config) { c.ConsecutiveFailures, c.FailureRate, c.SlowCallRate = off, off, off }, atomicbreaker.ReasonReadyToTrip},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := all
			c.alter(&cfg)
			each(t, cfg, func(t *testing.T, r *rig) {
				settle(r.flight(2, 10*ms), atomicbreaker.Failure)
				r.reasons(c.want)
				if got := r.last().Counts; got != (atomicbreaker.Counts{Calls: 2, Failures: 2, Slow: 2}) {
					t.Errorf("announced %+v", got)
				}
			})
		})
	}
}

func TestSlowSuccessTripsByTheSlowRuleOnly(t *testing.T) {
	each(t, config{MinimumCalls: 4, FailureRate: 0.5, ConsecutiveFailures: off, SlowCallDuration: 10 * ms, SlowCallRate: 0.5}, func(t *testing.T, r *rig) {
		settle(r.flight(3, 10*ms-1), atomicbreaker.Failure)
		settle(r.flight(1, 10*ms), atomicbreaker.Success) // share of failures 3/4, of slow calls 1/4
		r.want(closed)
		settle(r.flight(2, 10*ms), atomicbreaker.Success) // 3/6 slow
		r.reasons(atomicbreaker.ReasonSlowCallRate)
	})
}

func TestQuickFailureCanFillTheMinimumOfTheSlowRule(t *testing.T) {
	each(t, config{MinimumCalls: 4, FailureRate: off, ConsecutiveFailures: off, SlowCallDuration: 10 * ms, SlowCallRate: 0.5}, func(t *testing.T, r *rig) {
		settle(r.flight(3, 10*ms), atomicbreaker.Success)
		r.succeed(1) // a quick success asks no rule
		r.want(closed)
		r.fail(1)
		r.reasons(atomicbreaker.ReasonSlowCallRate)
	})
}

func TestPredicateIsAskedAfterFailuresAndSlowCallsOnly(t *testing.T) {
	var asked []atomicbreaker.Counts
	trip := false
	each(t, config{
		SlowCallDuration: 10 * ms, SlowCallRate: off,
		ReadyToTrip: func(c atomicbreaker.Counts) bool { asked = append(asked, c); return trip },
	}, func(t *testing.T, r *rig) {
		asked, trip = nil, false
		r.succeed(1)
		r.report(1, atomicbreaker.Ignored)
		r.fail(1)
		settle(r.flight(1, 10*ms), atomicbreaker.Success)
		trip = true
		settle(r.flight(1, 10*ms), atomicbreaker.Failure)
		want := []atomicbreaker.Counts{{Calls: 2, Failures: 1}, {Calls: 3, Failures: 1, Slow: 1}, {Calls: 4, Failures: 2, Slow: 2}}
		if !slices.Equal(asked, want) {
			t.Errorf("asked about %+v, want %+v", asked, want)
		}
		r.reasons(atomicbreaker.ReasonReadyToTrip)
		if r.last().Counts != want[2] {
			t.Errorf("announced %+v, want %+v", r.last().Counts, want[2])
		}
		asked = nil
		r.clock.Advance(r.RetryAfter())
		r.fail(1)
		if asked != nil {
			t.Error("asked about a probe")
		}
	})
}

func TestPanicInPredicateReachesTheCallerAndCountsTheOutcome(t *testing.T) {
	each(t, config{ReadyToTrip: func(atomicbreaker.Counts) bool { panic("predicate") }}, func(t *testing.T, r *rig) {
		ticket := r.admit()
		if got := recovered(func() { ticket.Done(context.Background(), errBroken) }); got != "predicate" {
			t.Errorf("recovered %v", got)
		}
		if s := r.Snapshot(); s.Failed != 1 || s.Rolling.Failures != 1 || s.State != closed {
			t.Errorf("%+v", s)
		}
		if ticket.Cancel() {
			t.Error("settled twice")
		}
	})
}

// recovered returns what f panics with.
func recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestWindowOfCallsHoldsTheLastN(t *testing.T) {
	each(t, config{WindowCalls: 5, FailureRate: 0.6, ConsecutiveFailures: off}, func(t *testing.T, r *rig) {
		r.fail(2)
		r.succeed(5)
		r.clock.Advance(time.Hour)
		if got := r.Snapshot().Rolling; got != (atomicbreaker.Counts{Calls: 5}) {
			t.Errorf("%+v", got)
		}
		if r.clock.Timers() != 0 {
			t.Error("a window of calls has a timer")
		}
		r.fail(2)
		r.want(closed)
		r.fail(1)
		r.want(open)
	})
}

// Each outcome of a naive list is in the window until its bucket, whose edges
// are multiples of a bucket's width since the breaker was made, leaves it.
func TestRollingWindowIsThatOfANaiveList(t *testing.T) {
	const width, buckets = 7 * ms, 4
	random := rand.New(rand.NewPCG(3, 1))
	each(t, config{Window: buckets * width, Buckets: buckets, FailureRate: off, ConsecutiveFailures: 1000000, SlowCallDuration: 5 * ms, SlowCallRate: off}, func(t *testing.T, r *rig) {
		made := r.clock.Now()
		type entry struct {
			bucket       time.Duration
			failed, slow bool
		}
		var list []entry
		for step := range 20000 {
			now := r.clock.Now()
			switch random.IntN(3) {
			case 0:
				r.clock.Advance(time.Duration(random.Int64N(int64([]time.Duration{ms, width, 6 * width}[random.IntN(3)]))))
			case 1:
				r.clock.Advance(width - (now-made)%width - time.Duration(random.IntN(2))) // an edge, or just before it
			default:
				e := entry{failed: random.IntN(2) == 0, slow: random.IntN(3) == 0}
				ticket := r.admit()
				if e.slow {
					r.clock.Advance(5 * ms)
				}
				e.bucket = (r.clock.Now() - made) / width
				ticket.Report(map[bool]atomicbreaker.Outcome{false: atomicbreaker.Success, true: atomicbreaker.Failure}[e.failed])
				list = append(list, e)
			}
			var want atomicbreaker.Counts
			oldest := (r.clock.Now()-made)/width - buckets + 1
			list = slices.DeleteFunc(list, func(e entry) bool { return e.bucket < oldest })
			for _, e := range list {
				want.Calls++
				if e.failed {
					want.Failures++
				}
				if e.slow {
					want.Slow++
				}
			}
			if got := r.Snapshot().Rolling; got != want {
				t.Fatalf("step %d at %v: %+v, want %+v", step, r.clock.Now()-made, got, want)
			}
		}
	})
}

func TestWindowIsEmptyInEveryNewGeneration(t *testing.T) {
	each(t, config{MinimumCalls: 4, ConsecutiveFailures: off, FailureRate: 0.9}, func(t *testing.T, r *rig) {
		empty := func(after string) {
			t.Helper()
			if got := r.Snapshot().Rolling; got != (atomicbreaker.Counts{}) {
				t.Errorf("after %s: %+v", after, got)
			}
		}
		r.fail(3)
		r.Reset()
		empty("Reset")
		r.fail(3)
		r.want(closed)
		r.fail(1)
		r.want(open)
		empty("the trip")
		r.clock.Advance(500 * ms)
		empty("the cooldown")
		r.succeed(3)
		empty("the probes")
		r.clock.Advance(2 * time.Second)
		r.want(closed)
		empty("the close")
	})
}

func TestStreakIsForgottenInANewGeneration(t *testing.T) {
	each(t, config{FailureRate: off, ConsecutiveFailures: 3}, func(t *testing.T, r *rig) {
		r.fail(2)
		r.Reset()
		r.fail(2)
		r.want(closed)
		r.SetMode(atomicbreaker.ForcedClosed)
		r.SetMode(atomicbreaker.Auto)
		r.fail(2)
		r.want(closed)
		r.fail(1)
		r.want(open)
	})
}

func TestOpensForTheCooldownExactly(t *testing.T) {
	each(t, config{Cooldown: atomicbreaker.Cooldown{Min: 100 * ms}}, func(t *testing.T, r *rig) {
		r.fail(10)
		at := r.clock.Now()
		if r.RetryAfter() != 100*ms {
			t.Errorf("RetryAfter %v", r.RetryAfter())
		}
		r.clock.Advance(100*ms - 1)
		r.refuse(atomicbreaker.ErrOpen)
		if r.RetryAfter() != ms {
			t.Errorf("RetryAfter %v just before the end, want at least 1ms", r.RetryAfter())
		}
		r.clock.Advance(1)
		r.want(halfOpen)
		if got := r.Snapshot(); got.Since != at+100*ms || got.RetryAfter != 0 || got.TimeOpen != 100*ms || got.Opened != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestJitterIsDrawnOncePerOpeningBothWays(t *testing.T) {
	draws, random := 0, 0.0
	each(t, config{
		Cooldown: atomicbreaker.Cooldown{Min: time.Second, Jitter: 0.25},
		Rand:     func() float64 { draws++; return random },
	}, func(t *testing.T, r *rig) {
		for i, c := range []struct {
			random float64
			want   time.Duration
		}{{0, 750 * ms}, {0.5, time.Second}, {0.75, 1125 * ms}} {
			draws, random = 0, c.random
			r.Trip()
			if got := r.RetryAfter(); got != c.want || draws != 1 {
				t.Errorf("%d: %v after %d draws, want %v after one", i, got, draws, c.want)
			}
			r.Reset()
		}
	})
}

func TestRetryAfterOfTheServerIsAFloor(t *testing.T) {
	random := 0.0
	each(t, config{
		ConsecutiveFailures: 1,
		Cooldown:            atomicbreaker.Cooldown{Min: time.Second, Max: 3 * time.Second, Jitter: 0.2},
		Rand:                func() float64 { return random },
	}, func(t *testing.T, r *rig) {
		for _, c := range []struct {
			floor  time.Duration
			random float64
			want   time.Duration
		}{
			{0, 0, 800 * ms},
			{-time.Hour, 0, 800 * ms},
			{500 * ms, 0, 800 * ms},
			{900 * ms, 0, 900 * ms}, // not before, although within the jitter
			{2 * time.Second, 0, 2 * time.Second},
			{2 * time.Second, 0.5, 2200 * ms},
			{time.Hour, 0, 3 * time.Second},
			{time.Hour, 0.5, 3300 * ms},
		} {
			random = c.random
			r.Reset()
			r.admit().ReportAfter(atomicbreaker.Failure, c.floor)
			if got := r.RetryAfter(); got != c.want {
				t.Errorf("floor %v at %v: %v, want %v", c.floor, c.random, got, c.want)
			}
		}
		// A floor is for the cooldown that its outcome causes, in half-open too.
		random = 0.5
		r.clock.Advance(r.RetryAfter())
		r.admit().ReportAfter(atomicbreaker.Failure, 2*time.Second)
		if got := r.RetryAfter(); got != 2200*ms {
			t.Errorf("reopened for %v", got)
		}
		r.clock.Advance(r.RetryAfter())
		r.fail(1)
		if got := r.RetryAfter(); got != time.Second {
			t.Errorf("reopened for %v, want the cooldown by age", got)
		}
	})
}

func TestCooldownGrowth(t *testing.T) {
	// The breaker reopens once after each of these waits in half-open.
	waits := []time.Duration{0, 8 * time.Second, 0, time.Minute}
	for _, c := range []struct {
		factor float64
		want   []time.Duration
	}{
		// Ages at the reopenings: 0.5 s; 0.5+0.5+8 s; that +1.125 s; a minute more.
		{0, []time.Duration{500 * ms, 1125 * ms, 1265625 * time.Microsecond, 5 * time.Second}},
		{1, []time.Duration{500 * ms, 500 * ms, 500 * ms, 500 * ms}},
		{2, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second}},
		{1.5, []time.Duration{750 * ms, 1125 * ms, 1687500 * time.Microsecond, 2531250 * time.Microsecond}},
	} {
		t.Run(fmt.Sprint("factor=", c.factor), func(t *testing.T) {
			each(t, config{Cooldown: atomicbreaker.Cooldown{Factor: c.factor}}, func(t *testing.T, r *rig) {
				for range 2 { // a close forgets the growth
					r.probing()
					for i, wait := range waits {
						r.clock.Advance(wait)
						r.fail(1)
						r.want(open)
						if got := r.RetryAfter(); got != c.want[i] {
							t.Errorf("reopening %d: %v, want %v", i, got, c.want[i])
						}
						r.clock.Advance(r.RetryAfter())
					}
					r.Reset()
				}
			})
		})
	}
}

func TestTripInHalfOpenGoesOnGrowing(t *testing.T) {
	each(t, config{Cooldown: atomicbreaker.Cooldown{Factor: 2}}, func(t *testing.T, r *rig) {
		r.probing()
		probe := r.admit()
		r.Trip()
		if got := r.RetryAfter(); got != time.Second {
			t.Errorf("%v", got)
		}
		probe.Done(context.Background(), nil)
		if s := r.Snapshot(); s.Late != 1 || s.Abandoned != 0 {
			t.Errorf("%+v", s)
		}
		r.clock.Advance(400 * ms)
		r.Trip() // no news
		if got := r.RetryAfter(); got != 600*ms {
			t.Errorf("%v", got)
		}
		r.reasons(atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonCooldown, atomicbreaker.ReasonTripCalled)
	})
}

func TestClassification(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	timedOut, stop := context.WithTimeout(context.Background(), -1)
	defer stop()
	other, err := locked.NewMutex(config{Clock: new(clock.Manual)})
	if err != nil {
		t.Fatal(err)
	}
	other.Trip()
	_, refusal := other.Acquire()
	refusal = fmt.Errorf("calling: %w", refusal)
	live := context.Background()
	asked := 0
	classify := func(error) atomicbreaker.Outcome { asked++; return atomicbreaker.Success }
	for _, c := range []struct {
		name                        string
		ctx                         context.Context
		err                         error
		byDefault, byClassify, asks uint64 // 0 success, 1 failure, 2 ignored; how often Classify is asked
	}{
		{"nil", live, nil, 0, 0, 0},
		{"nil, cancelled", cancelled, nil, 0, 0, 0},
		{"error", live, errBroken, 1, 0, 1},
		{"error, cancelled", cancelled, errBroken, 2, 2, 0},
		{"error, deadline passed", timedOut, context.DeadlineExceeded, 1, 1, 0},
		{"cancellation inside", live, context.Canceled, 1, 0, 1},
		{"another breaker's refusal", live, refusal, 2, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cfg := range []config{{}, {Classify: classify}} {
				each(t, cfg, func(t *testing.T, r *rig) {
					want, asks := c.byDefault, uint64(0)
					if cfg.Classify != nil {
						want, asks = c.byClassify, c.asks
					}
					asked = 0
					if !r.admit().Done(c.ctx, c.err) {
						t.Error("not settled")
					}
					s := r.Snapshot()
					if got := [3]uint64{s.Succeeded, s.Failed, s.Ignored}; got[want] != 1 || uint64(asked) != asks {
						t.Errorf("success, failure, ignored %v, want outcome %d; asked %d times, want %d", got, want, asked, asks)
					}
				})
			}
		})
	}
}

func TestFirstOutcomeOfANewGenerationGoesToItsOwnBucket(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.succeed(1) // the window wakes in bucket 0
		r.Trip()
		r.clock.Advance(9500 * ms)
		r.Reset()
		r.fail(1) // in bucket 9, before any timer has run
		r.clock.Advance(9500*ms - 1)
		if got := r.Snapshot().Rolling.Calls; got != 1 {
			t.Errorf("%d calls before the end of the window", got)
		}
		r.clock.Advance(1)
		if got := r.Snapshot().Rolling.Calls; got != 0 {
			t.Errorf("%d calls after it", got)
		}
	})
}

func TestPredicateTripsOnlyTheGenerationThatItWasAskedAbout(t *testing.T) {
	var meanwhile func()
	each(t, config{ReadyToTrip: func(atomicbreaker.Counts) bool { meanwhile(); return true }}, func(t *testing.T, r *rig) {
		meanwhile = r.Reset
		r.fail(1)
		r.want(closed)
		meanwhile = func() { r.SetMode(atomicbreaker.ForcedClosed) }
		r.fail(1)
		r.want(closed)
	})
}
