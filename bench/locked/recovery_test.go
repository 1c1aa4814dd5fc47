package locked_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/lockstep"
)

func TestOneProbeUntilTheFirstSuccess(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		if !r.Snapshot().Unprobed {
			t.Error("probed")
		}
		probe := r.admit()
		r.window(1, 1)
		r.refuse(atomicbreaker.ErrProbeLimit)
		if s := r.Snapshot(); s.Unprobed || r.Ready() || s.RefusedHalfOpen != 1 {
			t.Errorf("%+v", s)
		}
		probe.Done(context.Background(), nil)
		r.window(3, 0)
	})
}

func TestFirstFailureReopens(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.fail(1)
		r.reasons(atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonCooldown, atomicbreaker.ReasonProbeFailed)
		if got := r.last().Counts; got != (atomicbreaker.Counts{Calls: 1, Failures: 1}) {
			t.Errorf("announced %+v", got)
		}
	})
}

func TestWindowGrowsByTwoPerFastSuccessWhileInUse(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		inFlight := r.flight(1, 0)
		for i := range 20 {
			settle(inFlight[:1], atomicbreaker.Success)
			r.window(3+2*i, 2*i)
			inFlight = append(inFlight[1:], r.flight(3, 0)...)
			r.refuse(atomicbreaker.ErrProbeLimit)
		}
	})
}

func TestUnusedWindowDoesNotGrow(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1) // 1 of 1
		r.window(3, 0)
		r.succeed(1) // 1 of 3: a third
		r.window(5, 0)
		r.succeed(1) // 1 of 5
		r.window(5, 0)
		pair := r.flight(2, 0)
		settle(pair[:1], atomicbreaker.Success) // 2 of 5
		r.window(7, 1)
		settle(pair[1:], atomicbreaker.Success) // 1 of 7
		r.window(7, 0)
	})
}

func TestSlowAnswersStopFastGrowth(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		settle(r.flight(1, 10*ms), atomicbreaker.Success)
		r.window(3, 0)
		settle(r.flight(3, 30*ms)[:1], atomicbreaker.Success) // three times the fastest is fast
		r.window(5, 2)
		for range 63 { // 1/64 of a place each
			settle(r.flight(1, 30*ms+1), atomicbreaker.Success)
			r.window(5, 2)
		}
		settle(r.flight(1, 31*ms), atomicbreaker.Success)
		r.window(6, 2)
	})
}

func TestGrowsByAnEighthPerFastSuccessAfterACut(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		round := r.flight(3, 0)
		settle(round[:1], atomicbreaker.Success)
		settle(round[1:], atomicbreaker.Ignored)
		r.window(5, 0)
		others := r.flight(4, 0)
		r.fail(5)
		settle(others, atomicbreaker.Ignored)
		r.window(2, 0)
		r.succeed(7)
		r.window(2, 0)
		r.succeed(1)
		r.window(3, 0)
	})
}

func TestFiveNetFailuresCutTheWindowAndTwoCutsWithoutSuccessReopen(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		settle(r.flight(3, 0), atomicbreaker.Success)
		r.window(7, 0) // the third found less than a third of it in use
		r.fail(4)
		r.succeed(1)
		r.fail(1)
		r.window(7, 0) // net four
		other := r.flight(1, 0)
		r.fail(1)
		settle(other, atomicbreaker.Ignored)
		r.window(1, 0)
		r.fail(4)
		r.want(halfOpen)
		r.fail(1)
		r.want(open)
		r.reasons(atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonCooldown, atomicbreaker.ReasonProbeFailed)
		if got := r.last().Counts; got != (atomicbreaker.Counts{Calls: 16, Failures: 11}) {
			t.Errorf("announced %+v", got)
		}
	})
}

func TestCutLeavesFiveEighthsOfThoseInFlightWhenTheFailingProbeWasSent(t *testing.T) {
	for _, c := range []struct{ others, left int }{{1, 1}, {3, 1}, {4, 2}, {8, 5}, {16, 10}} {
		t.Run(fmt.Sprintf("others=%d", c.others), func(t *testing.T) {
			each(t, config{}, func(t *testing.T, r *rig) {
				r.probing()
				r.succeed(1)
				for n := 3; n <= 17; n += 2 { // whatever the window has grown to
					round := r.flight(n, 0)
					settle(round[:1], atomicbreaker.Success)
					settle(round[1:], atomicbreaker.Ignored)
				}
				others := r.flight(c.others, 0)
				failing := r.flight(1, 0)
				r.fail(4)
				settle(others, atomicbreaker.Ignored)
				r.window(19, 1)
				settle(failing, atomicbreaker.Failure) // alone in the end, but not when it was sent
				r.window(c.left, 0)
			})
		})
	}
}

func TestRelapseOfADependencyThatWasWellIsANewOutage(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.clock.Advance(39500 * ms)
		r.fail(1)
		r.cools(5 * time.Second) // an eighth of 40 s
		r.clock.Advance(5 * time.Second)
		r.succeed(15)
		r.fail(5)
		r.cools(500 * ms)
		r.clock.Advance(500 * ms)
		r.fail(1)
		r.cools(500 * ms) // the outage is half a second old
		r.clock.Advance(500 * ms)
		r.clock.Advance(15 * time.Second)
		r.fail(1)
		r.cools(2 * time.Second) // 16 s
	})
}

// cools expects an open breaker with so much of its cooldown left.
func (r *rig) cools(left time.Duration) {
	r.t.Helper()
	r.want(open)
	if got := r.RetryAfter(); got != left {
		r.t.Errorf("a cooldown of %v, want %v", got, left)
	}
}

func TestTallyWeighsByTheFailureRate(t *testing.T) {
	// Four failures, so many successes, and so many failures more cut.
	for _, c := range []struct {
		rate                float64
		successes, failures int
	}{
		{0.5, 1, 2}, {0.5, 2, 3}, {0.5, 4, 5},
		{0, 2, 3}, {off, 2, 3},
		{0.25, 1, 2}, {0.25, 2, 2}, {0.25, 4, 3},
		{0.75, 1, 4}, {0.75, 2, 5},
		{1, 1, 5}, {0.9, 1, 5}, // the tally stops at nothing
		{0.01, 14, 2}, {0.01, 16, 3}, // 1/16 is the least weight
	} {
		t.Run(fmt.Sprintf("rate=%v/successes=%d", c.rate, c.successes), func(t *testing.T) {
			each(t, config{FailureRate: c.rate}, func(t *testing.T, r *rig) {
				r.probing()
				r.succeed(1)
				r.fail(4)
				r.succeed(c.successes)
				r.fail(c.failures - 1)
				r.window(5, 0)
				other := r.flight(1, 0)
				r.fail(1)
				settle(other, atomicbreaker.Ignored)
				r.window(1, 0)
			})
		})
	}
}

func TestOutcomeFromBeforeTheCutGivesOnlyItsPlaceBack(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		old := r.flight(2, 0)
		r.fail(5)
		r.window(1, 2)
		settle(old[:1], atomicbreaker.Success)
		r.window(1, 1)
		r.clock.Advance(2 * time.Second) // two ticks: a success since the cut would have closed
		r.want(halfOpen)
		settle(old[1:], atomicbreaker.Failure)
		r.fail(4)
		r.want(halfOpen)
		r.fail(1)
		r.want(open)
		if got := r.last().Counts; got.Calls != 13 {
			t.Errorf("announced %+v: every probe of the episode is in it", got)
		}
	})
}

func TestNeutralProbeGivesItsPlaceBackAtOnce(t *testing.T) {
	for _, c := range []config{{}, {Recovery: atomicbreaker.Recovery{Probes: 1}}, {Recovery: atomicbreaker.Recovery{Probes: 3, Concurrent: 1}}} {
		each(t, c, func(t *testing.T, r *rig) {
			r.probing()
			before := r.Snapshot().ProbeWindow
			r.report(10, atomicbreaker.Ignored)
			for range 10 {
				r.admit().Cancel()
			}
			r.window(before, 0)
			r.want(halfOpen)
			if r.Snapshot().Unprobed {
				t.Error("unprobed after calls that could have been probes")
			}
			if n := r.clock.Timers(); c.Recovery.Probes > 0 && n != 0 {
				t.Errorf("%d timers for nothing", n)
			}
		})
	}
}

func TestClosesAtTheFirstQuietTickWithoutAFullWindow(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		entered := r.clock.Now()
		r.clock.Advance(300 * ms)
		r.succeed(1) // the first probe: it takes the only place, whatever the load
		r.clock.Advance(500 * ms)
		r.succeed(1) // 1 of 3
		r.clock.Advance(500*ms - 1)
		r.want(halfOpen)
		r.clock.Advance(1)
		r.want(closed)
		r.reasons(atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonCooldown, atomicbreaker.ReasonRecovered)
		if e := r.last(); e.At != entered+1300*ms || e.Counts != (atomicbreaker.Counts{Calls: 2}) {
			t.Errorf("announced %+v", e)
		}
	})
}

func TestTakingTheLastPlaceHoldsTheCloseBack(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		for range 10 {
			var all []lockstep.Ticket
			for r.Ready() { // a caller that asks first is never refused
				all = append(all, r.admit())
			}
			settle(all, atomicbreaker.Success)
			r.clock.Advance(time.Second)
			r.want(halfOpen)
		}
		if s := r.Snapshot(); s.Refused() != 0 {
			t.Errorf("%+v", s)
		}
		r.clock.Advance(time.Second)
		r.want(closed)
	})
}

func TestRefusalHoldsTheCloseBack(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		hung := r.flight(3, time.Second)
		for range 5 {
			r.clock.Advance(time.Second / 2)
			if r.Ready() {
				hung = append(hung, r.admit())
			}
			r.refuse(atomicbreaker.ErrProbeLimit)
			r.clock.Advance(time.Second / 2)
			r.want(halfOpen)
		}
		settle(hung, atomicbreaker.Ignored)
		r.clock.Advance(time.Second) // at the last tick the window was full
		r.want(halfOpen)
		r.clock.Advance(time.Second)
		r.want(closed)
	})
}

func TestQuietTicksLieAtMultiplesSinceTheFirstProbe(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		if n := r.clock.Timers(); n != 0 {
			t.Errorf("%d timers while nobody asks", n)
		}
		r.clock.Advance(time.Hour + 900*ms)
		r.succeed(1)
		r.clock.Advance(time.Second - 1)
		r.want(halfOpen)
		r.clock.Advance(1)
		r.want(closed)
		if n := r.clock.Timers(); n != 0 {
			t.Errorf("%d timers in an idle breaker", n)
		}
	})
}

func TestSilenceMakesOneMorePlaceAndWaitsTwiceAsLong(t *testing.T) {
	each(t, config{Cooldown: atomicbreaker.Cooldown{Min: 2 * time.Second}}, func(t *testing.T, r *rig) {
		r.probing()
		r.clock.Advance(time.Minute) // an idle minute is no silence
		r.admit()
		for i, wait := range []time.Duration{2, 4, 5, 5} { // at most Max
			r.clock.Advance(wait*time.Second - 1)
			r.window(1+i, 1+i)
			r.clock.Advance(1)
			r.window(2+i, 1+i)
			r.admit()
		}
	})
}

func TestOutcomeEndsTheSilence(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		all := r.flight(3, 900*ms)
		settle(all[:1], atomicbreaker.Failure)
		r.flight(1, time.Second-1)
		r.window(3, 3)
		r.clock.Advance(1)
		r.window(4, 3)
	})
}

func TestNeutralOutcomeEndsTheSilenceToo(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		r.flight(2, 900*ms)
		r.report(1, atomicbreaker.Ignored)
		r.flight(1, time.Second-1)
		r.window(3, 3)
		r.clock.Advance(1)
		r.window(4, 3)
	})
}

func TestProbesAreGivenUpAfterProbeTimeoutOfSilence(t *testing.T) {
	each(t, config{Recovery: atomicbreaker.Recovery{ProbeTimeout: 10 * time.Second}}, func(t *testing.T, r *rig) {
		r.probing()
		first := r.admit()
		r.clock.Advance(9 * time.Second)
		second := r.admit()
		r.clock.Advance(time.Second - 1)
		r.want(halfOpen)
		r.clock.Advance(1)
		r.want(open)
		r.reasons(atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonCooldown, atomicbreaker.ReasonProbeTimeout)
		first.Done(context.Background(), nil)
		second.Done(context.Background(), errBroken)
		if s := r.Snapshot(); s.Abandoned != 2 || s.Late != 2 || s.Succeeded+s.Failed != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// At the instant of the timeout, a timer of the test's own that was set first
// runs first: the breaker's timer is late.
func TestOutcomeAtTheInstantOfTheTimeoutIsLate(t *testing.T) {
	for _, c := range []struct {
		at   time.Duration
		late uint64
	}{{10 * time.Second, 1}, {10*time.Second - 1, 0}} {
		each(t, config{Recovery: atomicbreaker.Recovery{ProbeTimeout: 10 * time.Second}}, func(t *testing.T, r *rig) {
			r.probing()
			probe := r.admit()
			r.clock.AfterFunc(c.at, func() { probe.Done(context.Background(), nil) })
			r.clock.Advance(10*time.Second - 2)
			r.clock.Advance(2)
			if s := r.Snapshot(); s.Late != c.late || s.Abandoned != c.late {
				t.Errorf("at %v: %+v", c.at, s)
			}
		})
	}
}

func TestTimeoutComesBeforeAnExtraPlaceAtTheSameInstant(t *testing.T) {
	for _, recovery := range []atomicbreaker.Recovery{{ProbeTimeout: time.Second}, {ProbeTimeout: time.Second, Probes: 2, Concurrent: 1}} {
		each(t, config{Recovery: recovery}, func(t *testing.T, r *rig) {
			r.probing()
			r.admit()
			r.clock.Advance(time.Second)
			r.want(open)
			if s := r.Snapshot(); s.Abandoned != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestSlowSuccessIsAFailureForTheVerdict(t *testing.T) {
	for _, recovery := range []atomicbreaker.Recovery{{}, {Probes: 1}} {
		each(t, config{SlowCallDuration: 10 * ms, SlowCallRate: off, Recovery: recovery}, func(t *testing.T, r *rig) {
			r.probing()
			settle(r.flight(1, 10*ms), atomicbreaker.Success)
			r.want(open)
			if s := r.Snapshot(); s.Succeeded != 1 || s.Slow != 1 || s.Failed != 0 {
				t.Errorf("%+v", s)
			}
			if got := r.last().Counts; got != (atomicbreaker.Counts{Calls: 1, Slow: 1}) {
				t.Errorf("announced %+v", got)
			}
		})
	}
}

func TestWindowBeyondItsLargestSizeCloses(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		for r.State() == halfOpen {
			w := r.Snapshot().ProbeWindow
			settle(r.flight(w, 0), atomicbreaker.Success)
			if got := r.Snapshot().ProbeWindow; got > 16383 {
				t.Fatalf("window %d", got)
			}
		}
		r.want(closed)
		if r.last().Reason != atomicbreaker.ReasonRecovered {
			t.Errorf("%+v", r.last())
		}
	})
}

func TestLastProbe(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		want := func(w atomicbreaker.LastProbe) {
			t.Helper()
			if got := r.Snapshot().LastProbe; got != w {
				t.Errorf("%+v, want %+v", got, w)
			}
		}
		r.succeed(1)
		want(atomicbreaker.LastProbe{})
		r.probing()
		settle(r.flight(1, 3*ms), atomicbreaker.Success)
		want(atomicbreaker.LastProbe{Settled: true, Latency: 3 * ms})
		settle(r.flight(1, 4*ms), atomicbreaker.Ignored)
		want(atomicbreaker.LastProbe{Settled: true, Outcome: atomicbreaker.Ignored, Latency: 4 * ms})
		r.admit().Cancel()
		late := r.flight(1, 4*ms)
		settle(r.flight(1, 5*ms), atomicbreaker.Failure)
		r.Reset()
		settle(late, atomicbreaker.Success)
		r.succeed(1)
		want(atomicbreaker.LastProbe{Settled: true, Outcome: atomicbreaker.Failure, Latency: 5 * ms})
	})
}

func TestClassicRule(t *testing.T) {
	for _, c := range []struct {
		name     string
		recovery atomicbreaker.Recovery
		outcomes string // s success, f failure, one at a time
		want     atomicbreaker.State
	}{
		{"one probe succeeds", atomicbreaker.Recovery{Probes: 1}, "s", closed},
		{"one probe fails", atomicbreaker.Recovery{Probes: 1}, "f", open},
		{"all of three, not yet", atomicbreaker.Recovery{Probes: 3}, "ss", halfOpen},
		{"all of three", atomicbreaker.Recovery{Probes: 3}, "sss", closed},
		{"all of three, last fails", atomicbreaker.Recovery{Probes: 3}, "ssf", open},
		{"two of five", atomicbreaker.Recovery{Probes: 5, Successes: 2}, "fffss", closed},
		{"two of five, early", atomicbreaker.Recovery{Probes: 5, Successes: 2}, "ss", closed},
		{"two of five, three failures", atomicbreaker.Recovery{Probes: 5, Successes: 2}, "sfff", halfOpen},
		{"two of five, four failures", atomicbreaker.Recovery{Probes: 5, Successes: 2}, "sffff", open},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, config{Recovery: c.recovery}, func(t *testing.T, r *rig) {
				r.probing()
				for _, o := range c.outcomes {
					r.want(halfOpen)
					if o == 's' {
						r.succeed(1)
					} else {
						r.fail(1)
					}
				}
				r.want(c.want)
			})
		})
	}
}

func TestClassicRuleAdmitsNInAllAndCAtOnce(t *testing.T) {
	each(t, config{Recovery: atomicbreaker.Recovery{Probes: 4, Concurrent: 3}}, func(t *testing.T, r *rig) {
		r.probing()
		r.window(3, 0)
		first := r.flight(3, 0)
		r.refuse(atomicbreaker.ErrProbeLimit)
		settle(first[:1], atomicbreaker.Success)
		r.window(3, 2)
		settle(first[1:2], atomicbreaker.Success)
		r.window(2, 1) // two of the four are left, one of them in flight
		second := r.flight(1, 0)
		r.refuse(atomicbreaker.ErrProbeLimit)
		second[0].Cancel()
		r.window(2, 1)
		second = r.flight(1, 0)
		settle(second, atomicbreaker.Success)
		r.window(1, 1)
		settle(first[2:], atomicbreaker.Success)
		r.want(closed)
	})
}

func TestClassicRuleIsNotStrandedByAHungProbe(t *testing.T) {
	each(t, config{Recovery: atomicbreaker.Recovery{Probes: 1}}, func(t *testing.T, r *rig) {
		r.probing()
		hung := r.admit()
		r.clock.Advance(time.Second)
		r.window(2, 1)
		second := r.admit()
		r.refuse(atomicbreaker.ErrProbeLimit)
		hung.Cancel()
		r.window(2, 1)
		second.Done(context.Background(), nil)
		r.want(closed)
		if n := r.clock.Timers(); n != 0 {
			t.Errorf("%d timers in an idle breaker", n)
		}
	})
}

func TestStrictLimitWithAProbeDeadline(t *testing.T) {
	each(t, config{Cooldown: atomicbreaker.Cooldown{Min: 5 * time.Second}, Recovery: atomicbreaker.Recovery{Probes: 1, ProbeTimeout: 2 * time.Second}}, func(t *testing.T, r *rig) {
		r.probing()
		hung := r.admit()
		r.clock.Advance(2*time.Second - 1)
		r.refuse(atomicbreaker.ErrProbeLimit)
		r.clock.Advance(1)
		r.want(open)
		r.clock.Advance(5 * time.Second)
		second := r.admit()
		hung.Done(context.Background(), nil)
		r.refuse(atomicbreaker.ErrProbeLimit)
		r.want(halfOpen)
		second.Done(context.Background(), nil)
		r.want(closed)
	})
}

func TestSilenceAfterACutAdmitsBeyondThoseInFlight(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.probing()
		r.succeed(1)
		settle(r.flight(3, 0)[:1], atomicbreaker.Success)
		r.flight(2, 0)
		r.fail(5)
		r.window(2, 4)
		r.refuse(atomicbreaker.ErrProbeLimit)
		r.clock.Advance(time.Second)
		r.window(5, 4)
	})
}
