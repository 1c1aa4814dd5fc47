package atomicbreaker

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inWindow is what admission goes by: how many are in flight, and how many may be.
type inWindow struct{ inFlight, window int }

func windowShown(b *Breaker) inWindow {
	s := b.Snapshot()
	return inWindow{s.ProbesInFlight, s.ProbeWindow}
}

// TestRecoveryStepByStep goes through one recovery as a reader would on paper.
func TestRecoveryStepByStep(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	require.Equal(t, inWindow{0, 1}, windowShown(b))
	require.True(t, b.Snapshot().Unprobed)

	first := admitted(t, b)
	require.False(t, b.Snapshot().Unprobed)
	require.Equal(t, inWindow{1, 1}, windowShown(b))
	refused(t, b, ErrProbeLimit)
	manual.Advance(10 * time.Millisecond)
	require.True(t, first.Report(Success))
	require.Equal(t, inWindow{0, 3}, windowShown(b), "it triples: the place that is free again and two more")

	three := []*Ticket{admitted(t, b), admitted(t, b), admitted(t, b)}
	refused(t, b, ErrProbeLimit)
	manual.Advance(10 * time.Millisecond)
	for i, ticket := range three {
		require.True(t, ticket.Report(Success))
		// Two more for each, while at least a third of the window is in use.
		require.Equal(t, []inWindow{{2, 5}, {1, 7}, {0, 7}}[i], windowShown(b))
	}

	var seven []*Ticket
	for range 7 {
		seven = append(seven, admitted(t, b))
	}
	manual.Advance(31 * time.Millisecond) // more than three times the fastest: a slow answer
	require.True(t, seven[0].Report(Success))
	require.Equal(t, inWindow{6, 7}, windowShown(b), "slow answers stop the fast growth")
	for _, ticket := range seven[1:5] {
		require.True(t, ticket.Report(Failure))
	}
	require.Equal(t, inWindow{2, 7}, windowShown(b), "four net failures do nothing")
	require.True(t, seven[5].Report(Failure))
	require.Equal(t, inWindow{1, 3}, windowShown(b), "the fifth leaves 5/8 of the five that were in flight when it was sent")
	require.True(t, seven[6].Report(Failure))
	require.Equal(t, inWindow{0, 3}, windowShown(b), "what was sent before the cut only gives its place back")

	calls(t, b, 7, Success) // an eighth of a place each, while a third of the window is in use
	require.Equal(t, inWindow{0, 3}, windowShown(b))
	calls(t, b, 1, Success)
	require.Equal(t, inWindow{0, 4}, windowShown(b))

	// The window was full within this second; then it is not any more.
	manual.Advance(time.Second - 51*time.Millisecond)
	require.Equal(t, StateHalfOpen, b.State())
	manual.Advance(time.Second - 1)
	require.Equal(t, StateHalfOpen, b.State())
	manual.Advance(1)
	require.Equal(t, StateClosed, b.State())
	require.Equal(t, inWindow{0, 0}, windowShown(b))
	require.Equal(t, ReasonRecovered, b.Snapshot().Reason)
}

// G1.
func TestOneProbeGoesUntilOneHasSucceeded(t *testing.T) {
	const rounds, goroutines = 100, 8
	b, manual := opened(t, Config{})
	for range rounds {
		manual.Advance(b.RetryAfter())
		require.Equal(t, StateHalfOpen, b.State())
		for _, want := range []int64{1, 3} {
			var in atomic.Int64
			var tickets [goroutines]*Ticket
			together(goroutines, func(i int) {
				if ticket, err := b.Acquire(); err == nil {
					tickets[i] = &ticket
					in.Add(1)
				}
			})
			require.Equal(t, want, in.Load())
			for i, ticket := range tickets {
				if ticket != nil {
					require.True(t, ticket.Report(Success))
					tickets[i] = nil
				}
			}
		}
		b.Trip()
		manual.Advance(0)
	}
}

// G1, in the classic rule: the limit stays what it is, so that goroutines can
// count for themselves.
func TestProbesInFlightNeverExceedTheWindow(t *testing.T) {
	const limit, goroutines = 3, 8
	b, _ := halfOpened(t, Config{Recovery: Recovery{Probes: 1024, Successes: 1024, Concurrent: limit}})
	var inFlight, most atomic.Int64
	together(goroutines, func(i int) {
		for range 1000 {
			ticket, err := b.Acquire()
			if err != nil {
				continue
			}
			if n := inFlight.Add(1); n > most.Load() {
				most.Store(n)
			}
			inFlight.Add(-1)
			if i%2 == 0 {
				ticket.Cancel()
			} else {
				ticket.Report(Ignored)
			}
		}
	})
	require.LessOrEqual(t, most.Load(), int64(limit))
	require.Equal(t, inWindow{0, limit}, windowShown(b))
	s := b.Snapshot()
	require.Equal(t, uint64(goroutines*1000), s.Ignored+s.Cancelled+s.RefusedHalfOpen)
}

// G4: whatever is dropped, at whatever point, a caller who keeps asking gets
// the breaker closed once the dependency is well.
func TestNoProbeStrandsTheBreaker(t *testing.T) {
	for name, c := range map[string]Config{
		"window":               {},
		"window, quick expiry": {Recovery: Recovery{ProbeTimeout: 300 * time.Millisecond}},
		"one probe":            {Recovery: Recovery{Probes: 1}},
		"three in a row":       {Recovery: Recovery{Probes: 3, Concurrent: 1}},
		"two of five":          {Recovery: Recovery{Probes: 5, Successes: 2}},
		"doubling":             {Cooldown: Cooldown{Factor: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			for dropped := range 40 { // which of the first probes never answer, as bits
				b, manual := opened(t, c)
				asked, probe := 0, 0
				for ; b.State() != StateClosed; asked++ {
					require.Less(t, asked, 2000, "stranded with the probes %b dropped: %+v", dropped, b.Snapshot())
					if ticket, err := b.Acquire(); err == nil {
						if probe >= 6 || dropped>>probe&1 == 0 {
							require.True(t, ticket.Report(Success))
						}
						probe++
					}
					manual.Advance(100 * time.Millisecond)
				}
			}
		})
	}
}

func TestSilenceLetsOneMoreInAtTheDoublingPaceOfTheCooldown(t *testing.T) {
	b, manual := halfOpened(t, Config{Cooldown: Cooldown{Min: 2 * time.Second, Max: 5 * time.Second}})
	admitted(t, b)
	// The pace is 2 s, then 4, then 5: at most the longest cooldown.
	for i, wait := range []time.Duration{2, 4, 5, 5} {
		manual.Advance(wait*time.Second - 1)
		refused(t, b, ErrProbeLimit)
		manual.Advance(1)
		require.Equal(t, inWindow{i + 1, i + 2}, windowShown(b))
		admitted(t, b)
		refused(t, b, ErrProbeLimit)
	}
	// Silence is counted from the last outcome: 30 s in all give all of them up.
	manual.Advance(14*time.Second - 1)
	require.Equal(t, StateHalfOpen, b.State())
	inFlight := windowShown(b).inFlight
	manual.Advance(1)
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, ReasonProbeTimeout, b.Snapshot().Reason)
	require.Equal(t, uint64(inFlight), b.Snapshot().Abandoned)
}

func TestShorterQuietThanCooldownWaitsForTheCooldown(t *testing.T) {
	b, manual := halfOpened(t, Config{Recovery: Recovery{Quiet: 100 * time.Millisecond}})
	admitted(t, b)
	manual.Advance(500*time.Millisecond - 1)
	require.False(t, b.Ready())
	manual.Advance(1)
	require.True(t, b.Ready())
}

func TestProbesAreGivenUpAtTheirVeryInstant(t *testing.T) {
	for name, settle := range settlings {
		for _, before := range []time.Duration{1, 0} {
			b, manual := halfOpened(t, Config{Recovery: Recovery{Probes: 9, Successes: 5, Concurrent: 1, ProbeTimeout: 400 * time.Millisecond}})
			ticket := admitted(t, b)
			manual.Advance(400*time.Millisecond - before)
			require.True(t, settle(ticket), name)
			s := b.Snapshot()
			if before == 0 {
				require.Equal(t, []any{StateOpen, uint64(1), uint64(1)}, []any{s.State, s.Late, s.Abandoned}, name)
				continue
			}
			require.Equal(t, []any{StateHalfOpen, uint64(0), uint64(0)}, []any{s.State, s.Late, s.Abandoned}, name)
		}
	}
}

// TestOutcomeAtTheInstantOfGivingUpIsLate even if it comes before the timer.
func TestOutcomeAtTheInstantOfGivingUpIsLateEvenBeforeTheTimer(t *testing.T) {
	for name, settle := range settlings {
		s := new(skewed)
		b := madeOn(t, Config{Clock: s, ConsecutiveFailures: 1})
		calls(t, b, 1, Failure)
		s.Advance(500 * time.Millisecond)
		ticket := admitted(t, b)
		s.by.Store(int64(30 * time.Second)) // the timer is late
		require.True(t, settle(ticket), name)
		got := b.Snapshot()
		require.Equal(t, []any{StateOpen, uint64(1), uint64(1)}, []any{got.State, got.Late, got.Abandoned}, name)
	}
}

func TestExpiryNotAboveTheCooldownKeepsASecondProbeOut(t *testing.T) {
	b, manual := halfOpened(t, Config{Recovery: Recovery{ProbeTimeout: 500 * time.Millisecond, Quiet: 100 * time.Millisecond}})
	admitted(t, b)
	for range 499 {
		manual.Advance(time.Millisecond)
		refused(t, b, ErrProbeLimit)
	}
	manual.Advance(time.Millisecond)
	refused(t, b, ErrOpen)
}

func TestAnIdleHourIsNotAHungProbe(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	manual.Advance(time.Hour)
	require.Equal(t, StateHalfOpen, b.State(), "half-open waits for a call, however long")
	ticket := admitted(t, b)
	manual.Advance(0)
	refused(t, b, ErrProbeLimit)
	manual.Advance(999 * time.Millisecond)
	refused(t, b, ErrProbeLimit)
	require.True(t, ticket.Report(Success))
	manual.Advance(time.Hour)
	require.Equal(t, StateClosed, b.State())
}

func TestNeutralProbeGivesItsPlaceBackAndDecidesNothing(t *testing.T) {
	for _, c := range []Config{{}, {Recovery: Recovery{Probes: 1}}, {Recovery: Recovery{Probes: 2, Concurrent: 1}}} {
		for _, settle := range []func(*Ticket) bool{(*Ticket).Cancel, func(x *Ticket) bool { return x.Report(Ignored) }} {
			b, manual := halfOpened(t, c)
			for range 100 {
				ticket := admitted(t, b)
				refused(t, b, ErrProbeLimit)
				manual.Advance(time.Millisecond)
				require.True(t, settle(ticket))
				require.Equal(t, inWindow{0, 1}, windowShown(b))
			}
			manual.Advance(time.Minute)
			require.Equal(t, StateHalfOpen, b.State())
			require.Zero(t, b.Snapshot().Abandoned)
		}
	}
}

func TestFirstVerdictIsASingleCall(t *testing.T) {
	b, _ := halfOpened(t, Config{})
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, ReasonProbeFailed, b.Snapshot().Reason)
}

// A window is not cut because of a probe that was alone: there is nothing to cut.
func TestFailuresOfProbesThatAreAloneReopen(t *testing.T) {
	b, _ := halfOpened(t, Config{})
	calls(t, b, 1, Success)
	calls(t, b, 4, Failure)
	require.Equal(t, inWindow{0, 3}, windowShown(b))
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
}

func TestTwoCutsWithNoSuccessBetweenReopen(t *testing.T) {
	b, _ := halfOpened(t, Config{})
	calls(t, b, 1, Success)
	other := admitted(t, b)
	calls(t, b, 5, Failure)
	require.Equal(t, StateHalfOpen, b.State())
	other.Cancel()
	calls(t, b, 4, Failure)
	require.Equal(t, StateHalfOpen, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
}

func TestOutcomeFromBeforeACutGivesOnlyItsPlaceBack(t *testing.T) {
	b, _ := halfOpened(t, Config{})
	calls(t, b, 1, Success)
	old := []*Ticket{admitted(t, b), admitted(t, b)}
	calls(t, b, 5, Failure)
	require.Equal(t, inWindow{2, 1}, windowShown(b), "after a cut more may be in flight than the window")
	refused(t, b, ErrProbeLimit)
	evidence := b.evidence.Load()
	require.True(t, old[0].Report(Failure))
	require.True(t, old[1].Report(Success))
	require.Equal(t, evidence, b.evidence.Load())
	require.Equal(t, inWindow{0, 1}, windowShown(b))
}

func TestFullWindowHoldsTheClosingBack(t *testing.T) {
	for name, fill := range map[string]func(t *testing.T, b *Breaker){
		"by a refusal": func(t *testing.T, b *Breaker) {
			ticket := admitted(t, b)
			defer ticket.Cancel()
			admittedOthers := []*Ticket{admitted(t, b), admitted(t, b)}
			refused(t, b, ErrProbeLimit)
			for _, other := range admittedOthers {
				other.Cancel()
			}
		},
		"by one who takes the last place and asks only Ready": func(t *testing.T, b *Breaker) {
			tickets := []*Ticket{admitted(t, b), admitted(t, b), admitted(t, b)}
			require.False(t, b.Ready())
			for _, ticket := range tickets {
				ticket.Cancel()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, manual := halfOpened(t, Config{})
			calls(t, b, 1, Success)
			require.Equal(t, inWindow{0, 3}, windowShown(b))
			for range 20 {
				fill(t, b)
				manual.Advance(time.Second)
				require.Equal(t, StateHalfOpen, b.State())
			}
			manual.Advance(2 * time.Second)
			require.Equal(t, StateClosed, b.State())
		})
	}
}

func TestSoMuchInFlightIsHealth(t *testing.T) {
	b, _ := halfOpened(t, Config{})
	var out []*Ticket
	for b.State() == StateHalfOpen {
		for b.Ready() && b.State() == StateHalfOpen {
			out = append(out, admitted(t, b))
		}
		require.LessOrEqual(t, len(out), maxInFlight)
		half := len(out) / 2
		for _, ticket := range out[half:] {
			ticket.Report(Success)
		}
		out = out[:half]
	}
	require.Equal(t, StateClosed, b.State(), "the window has grown beyond its field")
	require.Equal(t, ReasonRecovered, b.Snapshot().Reason)
}

func TestSlowSuccessOfAProbeIsAFailureForTheVerdict(t *testing.T) {
	b, manual := halfOpened(t, Config{SlowCallDuration: time.Second, Recovery: Recovery{ProbeTimeout: time.Minute}})
	before := b.Snapshot()
	ticket := admitted(t, b)
	manual.Advance(time.Second)
	require.True(t, ticket.Report(Success))
	s := b.Snapshot()
	require.Equal(t, StateOpen, s.State)
	require.Equal(t, []uint64{before.Succeeded + 1, before.Failed, before.Slow + 1}, []uint64{s.Succeeded, s.Failed, s.Slow},
		"in the totals a slow success")
}

func TestClassicRuleClosesOnTheKthSuccess(t *testing.T) {
	b, manual := halfOpened(t, Config{Recovery: Recovery{Probes: 5, Successes: 3, Concurrent: 2}})
	two := []*Ticket{admitted(t, b), admitted(t, b)}
	refused(t, b, ErrProbeLimit)
	require.True(t, two[0].Report(Success))
	require.True(t, two[1].Report(Failure))
	calls(t, b, 1, Failure)
	calls(t, b, 1, Success)
	require.Equal(t, inWindow{0, 1}, windowShown(b), "one probe is left to send")
	manual.Advance(time.Hour)
	require.Equal(t, StateHalfOpen, b.State(), "no tick closes it")
	calls(t, b, 1, Success)
	require.Equal(t, StateClosed, b.State())
}

func TestClassicRuleReopensAsSoonAsTooManyHaveFailed(t *testing.T) {
	b, _ := halfOpened(t, Config{Recovery: Recovery{Probes: 5, Successes: 3}})
	five := []*Ticket{admitted(t, b), admitted(t, b), admitted(t, b), admitted(t, b), admitted(t, b)}
	refused(t, b, ErrProbeLimit)
	for _, ticket := range five[:3] {
		require.Equal(t, StateHalfOpen, b.State())
		require.True(t, ticket.Report(Failure))
	}
	require.Equal(t, StateOpen, b.State())
	require.True(t, five[3].Report(Success))
	require.Equal(t, uint64(1), b.Snapshot().Late)
}
