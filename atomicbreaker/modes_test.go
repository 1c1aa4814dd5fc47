package atomicbreaker

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// G11.
func TestEachModeAdmitsWhatItSays(t *testing.T) {
	type row struct {
		state   State
		admits  bool
		refusal error
	}
	inner := []string{"closed", "open", "half-open, full"}
	for mode, rows := range map[Mode][3]row{
		Auto:         {{StateClosed, true, nil}, {StateOpen, false, ErrOpen}, {StateHalfOpen, false, ErrProbeLimit}},
		ForcedOpen:   {{StateOpen, false, ErrForced}, {StateOpen, false, ErrForced}, {StateOpen, false, ErrForced}},
		ForcedClosed: {{StateClosed, true, nil}, {StateClosed, true, nil}, {StateClosed, true, nil}},
		Shadow:       {{StateClosed, true, nil}, {StateOpen, true, nil}, {StateHalfOpen, true, nil}},
	} {
		for i, want := range rows {
			for _, c := range []Config{{}, {SlowCallDuration: time.Second}, {WindowCalls: 10}, {Recovery: Recovery{Probes: 2, Concurrent: 1}}} {
				b, _ := situations[inner[i]](t, c)
				b.SetMode(mode)
				for range 100 {
					require.Equal(t, want.state, b.State(), "%v while %s", mode, inner[i])
					require.Equal(t, want.admits, b.Ready())
					ticket, err := b.Acquire()
					require.ErrorIs(t, err, want.refusal)
					require.Equal(t, want.admits, ticket.Cancel())
				}
			}
		}
	}
}

// G11 under contention: nothing gets past an open breaker, nothing is refused
// by a closed one, however many ask at once.
func TestOpenAdmitsNobodyAndClosedRefusesNobodyUnderContention(t *testing.T) {
	for name, situation := range situations {
		if name == "half-open, new" || name == "half-open, a place left" {
			continue
		}
		b, _ := situation(t, Config{ConsecutiveFailures: 100})
		want := b.Ready()
		var wrong atomic.Int64
		together(4, func(int) {
			for range 2000 {
				ticket, err := b.Acquire()
				if (err == nil) != want {
					wrong.Add(1)
				}
				ticket.Report(Ignored)
			}
		})
		require.Zero(t, wrong.Load(), name)
	}
}

func TestForcedClosedCountsAndTripsNothing(t *testing.T) {
	for _, c := range []Config{{}, {WindowCalls: 10}, {SlowCallDuration: time.Millisecond}} {
		b, manual := made(t, c)
		b.SetMode(ForcedClosed)
		for range 50 {
			ticket := admitted(t, b)
			manual.Advance(time.Millisecond)
			require.True(t, ticket.Report(Failure))
		}
		manual.Advance(time.Second)
		s := b.Snapshot()
		require.Equal(t, StateClosed, s.State)
		require.Equal(t, uint64(50), s.Failed)
		require.NotZero(t, s.Rolling.Failures)
	}
}

func TestLeavingForcedClosedEmptiesTheWindowEveryTime(t *testing.T) {
	for _, c := range []Config{{}, {WindowCalls: 100}} {
		b, _ := made(t, c)
		b.SetMode(ForcedClosed)
		calls(t, b, 9, Failure)
		for range 20 { // more often than a stamp can tell apart
			require.True(t, b.Ready())
			b.SetMode(Auto)
			require.Zero(t, b.Snapshot().Rolling)
			b.SetMode(ForcedClosed)
		}
		b.SetMode(Auto)
		calls(t, b, 1, Failure)
		require.Equal(t, Counts{Calls: 1, Failures: 1}, b.Snapshot().Rolling)
		require.Equal(t, StateClosed, b.State())
		require.Equal(t, uint32(0), b.Snapshot().Generation)
	}
}

func TestLeavingForcedOpenIsHalfOpenAtOnce(t *testing.T) {
	for _, m := range []Mode{Auto, Shadow} {
		b, manual := made(t, Config{})
		b.SetMode(ForcedOpen)
		require.Zero(t, b.RetryAfter(), "nobody knows")
		require.Zero(t, refused(t, b, ErrForced).RetryAfter())
		manual.Advance(time.Hour)
		require.Equal(t, StateOpen, b.State())
		b.SetMode(m)
		require.Equal(t, StateHalfOpen, b.State())
		require.Equal(t, inWindow{0, 1}, windowShown(b))
		recoverBy(t, b, manual)
	}
}

func TestCommandsToAForcedBreakerAreRemembered(t *testing.T) {
	for mode, want := range map[Mode]map[string]State{
		ForcedOpen:   {"": StateHalfOpen, "Trip": StateOpen, "Reset": StateClosed, "Trip, Reset": StateClosed, "Reset, Trip": StateOpen},
		ForcedClosed: {"": StateClosed, "Trip": StateOpen, "Reset": StateClosed, "Trip, Reset": StateClosed, "Reset, Trip": StateOpen},
	} {
		for told, state := range want {
			for _, via := range []Mode{mode, ForcedOpen, ForcedClosed} { // a command survives another forced mode
				announced := 0
				b, manual := made(t, Config{OnTransition: func(Transition) { announced++ }})
				calls(t, b, 3, Failure)
				old := admitted(t, b)
				b.SetMode(mode)
				before := announced
				switch told {
				case "Trip":
					b.Trip()
				case "Reset":
					b.Reset()
				case "Trip, Reset":
					b.Trip()
					b.Reset()
				case "Reset, Trip":
					b.Reset()
					b.Trip()
				}
				require.Equal(t, before, announced, "no event until the force is lifted")
				require.Equal(t, mode, b.Snapshot().Mode)
				b.SetMode(via)
				if via != mode && told == "" {
					continue // what it resumes as is then that mode's
				}
				b.SetMode(Auto)
				require.Equal(t, state, b.State(), "%v told %q, by way of %v", mode, told, via)
				require.Zero(t, b.Snapshot().Rolling)
				if state == StateOpen {
					require.Equal(t, 500*time.Millisecond, b.RetryAfter())
					manual.Advance(500 * time.Millisecond)
					require.Equal(t, StateHalfOpen, b.State())
				}
				if told != "" || mode == ForcedOpen || via == ForcedOpen {
					late := b.Snapshot().Late
					require.True(t, old.Report(Failure))
					require.Equal(t, late+1, b.Snapshot().Late)
				}
			}
		}
	}
}

func TestSameModeAgainIsNothing(t *testing.T) {
	for name, situation := range situations {
		b, _ := situation(t, Config{OnTransition: func(tr Transition) {}})
		before := inside(b)
		b.SetMode(b.Snapshot().Mode)
		require.Equal(t, before, inside(b), name)
	}
}

func TestShadowAndBackKeepsStateWindowAndGeneration(t *testing.T) {
	for _, name := range []string{"closed", "open", "half-open, full", "half-open, a place left", "half-open, new"} {
		b, manual := situations[name](t, Config{OnTransition: func(tr Transition) { require.NotEqual(t, ReasonSetModeCalled, tr.Reason) }})
		ticket := &Ticket{}
		if b.State() == StateClosed {
			ticket = admitted(t, b)
		}
		before := b.Snapshot()
		b.SetMode(Shadow)
		b.SetMode(Auto)
		manual.Advance(0)
		require.Equal(t, before, b.Snapshot(), name)
		if b.State() == StateClosed {
			require.True(t, ticket.Report(Failure))
			require.Zero(t, b.Snapshot().Late)
		}
	}
}

func TestShadowRunsAsAutoOverWhatAutoWouldHaveAdmitted(t *testing.T) {
	auto, clockOfAuto := made(t, Config{ConsecutiveFailures: 3, Recovery: Recovery{Quiet: 300 * time.Millisecond}})
	shadow, clockOfShadow := made(t, Config{ConsecutiveFailures: 3, Recovery: Recovery{Quiet: 300 * time.Millisecond}, Mode: Shadow})
	states := make(map[State]int)
	for i := range 3000 {
		o := Outcome(i / 97 % 2)
		a, err := auto.Acquire()
		s := admitted(t, shadow)
		if err == nil {
			require.True(t, a.Report(o))
			require.True(t, s.Report(o))
		} else {
			require.True(t, s.Report(Outcome(i%3))) // whatever it is, it has no say
		}
		d := time.Duration(i%11) * 7 * time.Millisecond
		clockOfAuto.Advance(d)
		clockOfShadow.Advance(d)
		x, y := auto.Snapshot(), shadow.Snapshot()
		require.Equal(t, x.Refused(), y.WouldRefuse)
		require.Equal(t,
			[]any{x.State, x.Generation, x.Since, x.Reason, x.RetryAfter, x.Rolling, x.ProbesInFlight, x.ProbeWindow, x.Unprobed, x.LastProbe, x.Opened, x.TimeOpen},
			[]any{y.State, y.Generation, y.Since, y.Reason, y.RetryAfter, y.Rolling, y.ProbesInFlight, y.ProbeWindow, y.Unprobed, y.LastProbe, y.Opened, y.TimeOpen})
		states[x.State]++
	}
	require.Len(t, states, 3)
}

func TestTripOpensAndARepeatedTripIsNoNews(t *testing.T) {
	announced := 0
	b, manual := made(t, Config{OnTransition: func(Transition) { announced++ }})
	b.Trip()
	require.Equal(t, []any{StateOpen, 500 * time.Millisecond, 1}, []any{b.State(), b.RetryAfter(), announced})
	manual.Advance(400 * time.Millisecond)
	b.Trip()
	require.Equal(t, []any{StateOpen, 100 * time.Millisecond, 1}, []any{b.State(), b.RetryAfter(), announced}, "the timer is untouched")
}

func TestTripInHalfOpenReopensAndGrowthGoesOn(t *testing.T) {
	b, manual := halfOpened(t, Config{Cooldown: Cooldown{Factor: 2}})
	probe := admitted(t, b)
	b.Trip()
	require.Equal(t, time.Second, b.RetryAfter())
	require.True(t, probe.Report(Success))
	require.Equal(t, uint64(1), b.Snapshot().Late)
	require.Zero(t, b.Snapshot().Abandoned)
	manual.Advance(time.Second)
	require.Equal(t, StateHalfOpen, b.State())
	b.Trip()
	require.Equal(t, 2*time.Second, b.RetryAfter())
}

func TestResetForgetsAllButTheTotals(t *testing.T) {
	for name, situation := range situations {
		if name == "forced open" || name == "forced closed" {
			continue
		}
		b, _ := situation(t, Config{Cooldown: Cooldown{Factor: 2}})
		before := b.Snapshot()
		b.Reset()
		s := b.Snapshot()
		require.Equal(t, StateClosed, s.State, name)
		require.Equal(t, before.Generation+1, s.Generation)
		require.Zero(t, s.Rolling)
		require.Equal(t, []any{before.Succeeded, before.Failed, before.Opened, before.Refused(), before.Mode},
			[]any{s.Succeeded, s.Failed, s.Opened, s.Refused(), s.Mode})
		b.Trip()
		require.Equal(t, 500*time.Millisecond, b.RetryAfter(), "growth is forgotten")
	}
}

func TestUnknownModePanics(t *testing.T) {
	b, _ := made(t, Config{})
	require.PanicsWithValue(t, "atomicbreaker: unknown Mode 4: want Auto, ForcedOpen, ForcedClosed or Shadow", func() { b.SetMode(Shadow + 1) })
	require.Equal(t, Auto, b.Snapshot().Mode)
}

func TestBreakerStartsInTheModeOfItsConfiguration(t *testing.T) {
	for m, want := range map[Mode]State{Auto: StateClosed, ForcedOpen: StateOpen, ForcedClosed: StateClosed, Shadow: StateClosed} {
		b, manual := made(t, Config{Mode: m})
		s := b.Snapshot()
		require.Equal(t, []any{m, want, uint32(0), ReasonNone}, []any{s.Mode, s.State, s.Generation, s.Reason})
		manual.Advance(time.Hour)
		require.Equal(t, want, b.State())
		if m == ForcedOpen {
			require.Equal(t, []any{uint64(1), time.Hour}, []any{b.Snapshot().Opened, b.Snapshot().TimeOpen})
			b.SetMode(Auto)
			calls(t, b, 1, Failure)
			require.Equal(t, 5*time.Second, b.RetryAfter(), "an outage of an hour")
		}
	}
}
