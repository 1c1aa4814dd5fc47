package locked_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func TestResetClosesAndMakesOldTicketsLateEverywhere(t *testing.T) {
	for _, before := range []atomicbreaker.State{closed, open, halfOpen} {
		t.Run(before.String(), func(t *testing.T) {
			each(t, config{}, func(t *testing.T, r *rig) {
				old := []interface {
					Done(context.Context, error) bool
				}{r.admit()}
				switch before {
				case open:
					r.Trip()
				case halfOpen:
					r.probing()
					old = append(old, r.admit())
				}
				r.fail9(before)
				generation, events := r.Snapshot().Generation, len(r.events)
				r.Reset()
				r.want(closed)
				s := r.Snapshot()
				if s.Generation != generation+1 || s.Rolling.Calls != 0 {
					t.Errorf("%+v", s)
				}
				for _, ticket := range old {
					if !ticket.Done(context.Background(), errBroken) {
						t.Error("a late ticket was settled nevertheless")
					}
				}
				if s := r.Snapshot(); s.Late != uint64(len(old)) || s.Rolling.Calls != 0 {
					t.Errorf("%+v", s)
				}
				if announced := len(r.events) > events; announced != (before != closed) {
					t.Errorf("announced: %v", announced)
				}
				r.fail(9) // the window is empty
				r.want(closed)
			})
		})
	}
}

func (r *rig) fail9(s atomicbreaker.State) {
	if s == closed {
		r.fail(9)
	}
}

func TestTripOpensAClosedBreakerWithItsWindow(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.succeed(3)
		r.fail(2)
		r.Trip()
		r.reasons(atomicbreaker.ReasonTripCalled)
		if e := r.last(); e.Counts != (atomicbreaker.Counts{Calls: 5, Failures: 2}) || e.From != closed || e.To != open || e.Generation != 1 {
			t.Errorf("%+v", e)
		}
	})
}

// at is a breaker's mode and state.
type at struct {
	mode  atomicbreaker.Mode
	state atomicbreaker.State
}

func TestModes(t *testing.T) {
	const (
		auto         = atomicbreaker.Auto
		forcedOpen   = atomicbreaker.ForcedOpen
		forcedClosed = atomicbreaker.ForcedClosed
		shadow       = atomicbreaker.Shadow
	)
	for _, c := range []struct {
		from atomicbreaker.State // in Auto
		do   string              // o c a s: the modes; T Trip, R Reset; w a long wait
		want at
		step uint32 // of the generation
	}{
		{closed, "o", at{forcedOpen, open}, 1},
		{closed, "ow", at{forcedOpen, open}, 1},
		{closed, "oo", at{forcedOpen, open}, 1},
		{closed, "oa", at{auto, halfOpen}, 2},
		{closed, "os", at{shadow, halfOpen}, 2},
		{closed, "oTa", at{auto, open}, 1},
		{closed, "oRa", at{auto, closed}, 2},
		{closed, "oTRa", at{auto, closed}, 2},
		{closed, "oRTa", at{auto, open}, 1},
		{closed, "oTaw", at{auto, halfOpen}, 2},
		{closed, "oTaoa", at{auto, halfOpen}, 2}, // the command is spent
		{closed, "c", at{forcedClosed, closed}, 0},
		{closed, "ca", at{auto, closed}, 0},
		{closed, "cTa", at{auto, open}, 1},
		{closed, "cTaw", at{auto, halfOpen}, 2},
		{closed, "oc", at{forcedClosed, closed}, 2},
		{closed, "oca", at{auto, closed}, 2},
		{closed, "coa", at{auto, halfOpen}, 2},
		{closed, "s", at{shadow, closed}, 0},
		{closed, "sa", at{auto, closed}, 0},
		{open, "o", at{forcedOpen, open}, 0},
		{open, "ow", at{forcedOpen, open}, 0},
		{open, "oa", at{auto, halfOpen}, 1},
		{open, "c", at{forcedClosed, closed}, 1},
		{open, "ca", at{auto, closed}, 1},
		{open, "cs", at{shadow, closed}, 1},
		{open, "s", at{shadow, open}, 0},
		{open, "sw", at{shadow, halfOpen}, 1},
		{open, "saw", at{auto, halfOpen}, 1},
		{open, "T", at{auto, open}, 0},
		{halfOpen, "o", at{forcedOpen, open}, 1},
		{halfOpen, "oa", at{auto, halfOpen}, 2},
		{halfOpen, "c", at{forcedClosed, closed}, 1},
		{halfOpen, "s", at{shadow, halfOpen}, 0},
		{halfOpen, "sa", at{auto, halfOpen}, 0},
	} {
		t.Run(fmt.Sprintf("%v/%s", c.from, c.do), func(t *testing.T) {
			each(t, config{}, func(t *testing.T, r *rig) {
				switch c.from {
				case open:
					r.Trip()
				case halfOpen:
					r.probing()
				}
				before := r.Snapshot().Generation
				for _, do := range c.do {
					switch do {
					case 'a':
						r.SetMode(auto)
					case 'o':
						r.SetMode(forcedOpen)
					case 'c':
						r.SetMode(forcedClosed)
					case 's':
						r.SetMode(shadow)
					case 'T':
						r.Trip()
					case 'R':
						r.Reset()
					case 'w':
						r.clock.Advance(time.Hour)
					}
				}
				s := r.Snapshot()
				if (at{s.Mode, s.State}) != c.want || s.Generation != before+c.step {
					t.Errorf("%v in mode %v after %d generations, want %v after %d", s.State, s.Mode, s.Generation-before, c.want, c.step)
				}
				var last atomicbreaker.State
				for _, e := range r.events {
					if e.From != last {
						t.Errorf("%+v does not follow %v", e, last)
					}
					last = e.To
				}
				if last != s.State {
					t.Errorf("announced %v, is %v", last, s.State)
				}
			})
		})
	}
}

func TestForcedOpenRefusesAllWithoutProbesOrTimers(t *testing.T) {
	for _, c := range []config{{}, {Mode: atomicbreaker.ForcedOpen}} {
		each(t, c, func(t *testing.T, r *rig) {
			r.SetMode(atomicbreaker.ForcedOpen)
			for range 100 {
				r.clock.Advance(time.Second)
				r.refuse(atomicbreaker.ErrForced)
				r.refuse(atomicbreaker.ErrOpen)
			}
			if s := r.Snapshot(); s.RefusedForced != 200 || s.Refused() != 200 || s.State != open || s.RetryAfter != 0 || r.Ready() {
				t.Errorf("%+v", s)
			}
			if n := r.clock.Timers(); n != 0 {
				t.Errorf("%d timers", n)
			}
			r.SetMode(atomicbreaker.Auto)
			r.want(halfOpen)
			r.succeed(1)
		})
	}
}

func TestForcedClosedAdmitsAllAndCountsWithoutTripping(t *testing.T) {
	each(t, config{ReadyToTrip: func(atomicbreaker.Counts) bool { return true }}, func(t *testing.T, r *rig) {
		r.SetMode(atomicbreaker.ForcedClosed)
		old := r.admit()
		r.fail(100)
		if s := r.Snapshot(); s.State != closed || s.Rolling.Failures != 100 || s.Failed != 100 {
			t.Errorf("%+v", s)
		}
		r.SetMode(atomicbreaker.Auto)
		if s := r.Snapshot(); s.Rolling.Calls != 0 || s.Generation != 0 {
			t.Errorf("%+v", s)
		}
		old.Done(context.Background(), nil)
		if s := r.Snapshot(); s.Late != 0 || s.Rolling.Calls != 1 {
			t.Errorf("%+v: the generation lives on", s)
		}
	})
}

func TestCooldownOfARememberedTripBeginsWhenTheModeEnds(t *testing.T) {
	for _, mode := range []atomicbreaker.Mode{atomicbreaker.ForcedOpen, atomicbreaker.ForcedClosed} {
		each(t, config{}, func(t *testing.T, r *rig) {
			r.SetMode(mode)
			r.Trip()
			r.clock.Advance(time.Hour)
			r.SetMode(atomicbreaker.Auto)
			r.want(open)
			if got := r.RetryAfter(); got != 500*ms {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestShadowRefusesNobodyAndRunsAsAutoWould(t *testing.T) {
	each(t, config{Mode: atomicbreaker.Shadow, SlowCallDuration: 50 * ms, SlowCallRate: off}, func(t *testing.T, r *rig) {
		r.fail(10)
		r.want(open)
		if !r.Ready() || r.RetryAfter() != 500*ms {
			t.Errorf("ready %v, RetryAfter %v", r.Ready(), r.RetryAfter())
		}
		r.report(3, atomicbreaker.Failure)
		through := r.flight(1, 500*ms)
		r.want(halfOpen)
		probe := r.admit()
		r.window(1, 1)
		r.succeed(2) // nor do these count as probes
		r.window(1, 1)
		settle(through, atomicbreaker.Success)
		probe.Done(context.Background(), nil)
		r.window(3, 0)
		s := r.Snapshot()
		if s.WouldRefuse != 6 || s.Refused() != 0 || s.Succeeded != 4 || s.Failed != 13 || s.Late != 0 || s.Slow != 1 {
			t.Errorf("%+v", s)
		}
		r.SetMode(atomicbreaker.Auto)
		r.window(3, 0)
		r.clock.Advance(2 * time.Second)
		r.want(closed)
		r.reasons(atomicbreaker.ReasonFailureRate, atomicbreaker.ReasonCooldown, atomicbreaker.ReasonRecovered)
	})
}

func TestAutoToShadowAndBackKeepsTheWindow(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		r.fail(9)
		r.SetMode(atomicbreaker.Shadow)
		r.SetMode(atomicbreaker.Auto)
		r.fail(1)
		r.want(open)
	})
}

func TestUnknownModePanicsAndChangesNothing(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		if v := recovered(func() { r.SetMode(4) }); v == nil || !strings.Contains(fmt.Sprint(v), "SetMode(4)") {
			t.Errorf("recovered %v", v)
		}
		r.succeed(1)
	})
}

func TestTicketIsSettledOnce(t *testing.T) {
	each(t, config{Classify: func(error) atomicbreaker.Outcome { panic("asked") }}, func(t *testing.T, r *rig) {
		ticket := r.admit()
		if !ticket.Done(context.Background(), nil) {
			t.Error("not settled")
		}
		if ticket.Done(context.Background(), nil) || ticket.Done(context.Background(), errBroken) || ticket.Report(99) || ticket.Cancel() {
			t.Error("settled twice")
		}
		r.Trip()
		refused, err := r.Acquire()
		if err == nil || refused.Done(context.Background(), nil) || refused.Done(context.Background(), errBroken) || refused.Report(99) || refused.Cancel() {
			t.Error("settled the ticket beside a refusal")
		}
		if s := r.Snapshot(); s.Succeeded != 1 || s.Failed+s.Cancelled+s.Late != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestUserErrorsSettleAsFailureAndPanic(t *testing.T) {
	classify := func(err error) atomicbreaker.Outcome {
		if err.Error() == "unknown" {
			return 4
		}
		panic("Classify")
	}
	each(t, config{Classify: classify}, func(t *testing.T, r *rig) {
		for i, f := range []func() bool{
			func() bool { return r.admit().Done(context.Background(), errBroken) },
			func() bool { return r.admit().Done(context.Background(), errors.New("unknown")) },
			func() bool { return r.admit().Report(4) },
			func() bool {
				return r.Do(context.Background(), func(context.Context) error { return errors.New("unknown") }) == nil
			},
			func() bool { return r.Do(context.Background(), func(context.Context) error { panic("f") }) == nil },
		} {
			if v := recovered(func() { f() }); v == nil {
				t.Errorf("%d: no panic", i)
			}
			if s := r.Snapshot(); s.Failed != uint64(i+1) || s.Rolling.Failures != uint64(i+1) {
				t.Errorf("%d: %+v", i, s)
			}
		}
	})
}

func TestDo(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(context.Background())
		nothing := func(context.Context) error { return nil }
		if err := r.Do(ctx, nothing); err != nil {
			t.Error(err)
		}
		if err := r.Do(ctx, func(inner context.Context) error {
			if inner != ctx {
				t.Error("an ordinary call got another context")
			}
			return errBroken
		}); err != errBroken {
			t.Error(err)
		}
		if err := r.Do(ctx, func(context.Context) error { cancel(); return errBroken }); err != errBroken {
			t.Error(err)
		}
		if err := r.Do(ctx, nothing); err != context.Canceled {
			t.Error(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = r.Do(context.Background(), func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-done
		if s := r.Snapshot(); s.Succeeded != 1 || s.Failed != 2 || s.Ignored != 1 || s.Cancelled != 0 {
			t.Errorf("%+v", s)
		}
		r.probing()
		if err := r.Do(context.Background(), func(inner context.Context) error {
			if err := r.Do(context.Background(), nothing); !errors.Is(err, atomicbreaker.ErrProbeLimit) {
				t.Error(err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		r.window(3, 0)
		if recovered(func() { _ = r.Do(context.Background(), nil) }) == nil {
			t.Error("no panic")
		}
		r.window(3, 0)
		_ = r.Do(context.Background(), func(inner context.Context) error {
			r.clock.Advance(30*time.Second - 1)
			if inner.Err() != nil {
				t.Error(inner.Err())
			}
			r.clock.Advance(1)
			if _, ok := inner.Deadline(); ok || inner.Err() != nil {
				t.Error("a probe with a deadline of its own")
			}
			return nil
		})
	})
}

func TestRefusalTellsItsKindAndBreaker(t *testing.T) {
	each(t, config{Name: "db"}, func(t *testing.T, r *rig) {
		r.Trip()
		_, err := r.Acquire()
		var refusal interface {
			Name() string
			RetryAfter() time.Duration
		}
		if !errors.As(err, &refusal) || refusal.Name() != "db" || refusal.RetryAfter() != 500*ms {
			t.Errorf("%v", err)
		}
		if !strings.Contains(err.Error(), "db") || errors.Is(err, atomicbreaker.ErrForced) || errors.Is(err, atomicbreaker.ErrProbeLimit) {
			t.Errorf("%v", err)
		}
		if r.Name() != "db" || r.Snapshot().Name != "db" || r.last().Name != "db" {
			t.Error("wrong name")
		}
	})
}
