package breakertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakertest"
	"github.com/stretchr/testify/require"
)

const (
	closed   = atomicbreaker.StateClosed
	open     = atomicbreaker.StateOpen
	halfOpen = atomicbreaker.StateHalfOpen
)

// fakeT keeps what a test would have printed.
type fakeT struct {
	mu    sync.Mutex
	said  []string
	fatal bool
}

func (t *fakeT) Helper() {}
func (t *fakeT) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said = append(t.said, fmt.Sprintf(format, args...))
}

func (t *fakeT) Fatalf(format string, args ...any) {
	t.fatal = true
	t.Errorf(format, args...)
}

// take returns what was said since the last take.
func (t *fakeT) take() string {
	defer func() { t.said = nil }()
	return strings.Join(t.said, "\n")
}

func call(b *breakertest.Breaker, err error) error {
	return b.Do(context.Background(), func(context.Context) error { return err })
}

var errDown = errors.New("down")

func TestEveryStart(t *testing.T) {
	for _, c := range []struct {
		start   breakertest.Start
		state   atomicbreaker.State
		refusal error
	}{
		{breakertest.Closed, closed, nil},
		{breakertest.NearlyOpen, closed, nil},
		{breakertest.Open, open, atomicbreaker.ErrOpen},
		{breakertest.HalfOpen, halfOpen, nil},
		{breakertest.ProbesFull, halfOpen, atomicbreaker.ErrProbeLimit},
		{breakertest.ForcedOpen, open, atomicbreaker.ErrForced},
		{breakertest.ForcedClosed, closed, nil},
	} {
		for kind, recovery := range map[string]atomicbreaker.Recovery{"window": {}, "classic": {Probes: 3, Successes: 2}} {
			t.Run(c.start.String()+" "+kind, func(t *testing.T) {
				b := breakertest.New(t, c.start, atomicbreaker.Config{Name: "billing", Recovery: recovery})
				b.WantState(c.state)
				b.WantOutcomes(breakertest.Outcomes{})
				b.WantTransitions()
				require.Zero(t, b.Now())
				err := call(b, nil)
				if c.refusal == nil {
					require.NoError(t, err)
					b.WantOutcomes(breakertest.Outcomes{Succeeded: 1})
					return
				}
				require.ErrorIs(t, err, c.refusal)
				b.WantRefused(err)
				b.WantOutcomes(breakertest.Outcomes{Refused: 1})
			})
		}
	}
}

func TestNearlyOpenIsOneFailureFromOpen(t *testing.T) {
	for name, c := range map[string]atomicbreaker.Config{
		"defaults":       {},
		"streak of 1":    {ConsecutiveFailures: 1},
		"streak of 7":    {ConsecutiveFailures: 7},
		"rate only":      {ConsecutiveFailures: atomicbreaker.Off, MinimumCalls: 40},
		"the last calls": {WindowCalls: 16},
		"own rule": {ReadyToTrip: func(c atomicbreaker.Counts) bool { return c.Failures >= 4 },
			ConsecutiveFailures: atomicbreaker.Off, FailureRate: atomicbreaker.Off},
		"four stripes": {Stripes: 4, ConsecutiveFailures: 9},
	} {
		t.Run(name, func(t *testing.T) {
			b := breakertest.New(t, breakertest.NearlyOpen, c)
			b.WantState(closed)
			require.Equal(t, errDown, call(b, errDown))
			b.WantState(open)
			b.WantTransitions(open)
			b.WantOutcomes(breakertest.Outcomes{Failed: 1})
		})
	}
}

func TestWhatCannotBeMadeEndsTheTest(t *testing.T) {
	for want, make := range map[string]func(breakertest.TB){
		"MinimumCalls": func(t breakertest.TB) { breakertest.New(t, breakertest.Closed, atomicbreaker.Config{MinimumCalls: -3}) },
		"Window":       func(t breakertest.TB) { breakertest.New(t, breakertest.NearlyOpen, atomicbreaker.Config{Window: -3}) },
		"do not open": func(t breakertest.TB) {
			breakertest.New(t, breakertest.NearlyOpen, atomicbreaker.Config{FailureRate: atomicbreaker.Off,
				ConsecutiveFailures: atomicbreaker.Off, ReadyToTrip: func(atomicbreaker.Counts) bool { return false }})
		},
		"cannot be full": func(t breakertest.TB) {
			breakertest.New(t, breakertest.ProbesFull, atomicbreaker.Config{Mode: atomicbreaker.Shadow})
		},
		"want one of Closed": func(t breakertest.TB) { breakertest.New(t, 99, atomicbreaker.Config{}) },
		"want 0 or more":     func(t breakertest.TB) { breakertest.New(t, breakertest.Closed, atomicbreaker.Config{}).Advance(-1) },
		"inside of synctest.Test": func(t breakertest.TB) {
			breakertest.New(t, breakertest.Closed, atomicbreaker.Config{Clock: clock.System()}).Advance(time.Millisecond)
		},
	} {
		fake := new(fakeT)
		make(fake)
		require.True(t, fake.fatal, want)
		require.Contains(t, fake.take(), want)
	}
}

// story takes a breaker from closed through an outage to closed again.
func story(b *breakertest.Breaker) {
	for range 3 {
		_ = call(b, errDown)
	}
	_ = call(b, nil)
	b.AdvanceToReady()
	_ = call(b, nil)
	for range 30 {
		b.Advance(100 * time.Millisecond)
	}
}

func TestTimeIsTheTests(t *testing.T) {
	check := func(t *testing.T, c clock.Clock) {
		b := breakertest.New(t, breakertest.Closed, atomicbreaker.Config{ConsecutiveFailures: 3, Clock: c})
		story(b)
		b.WantTransitions(open, halfOpen, closed)
		b.WantOutcomes(breakertest.Outcomes{Succeeded: 1, Failed: 3, Refused: 1})
		var at []time.Duration
		for _, x := range b.Transitions() {
			at = append(at, x.At)
		}
		require.Equal(t, []time.Duration{0, 500 * time.Millisecond}, at[:2])
		require.InDelta(t, 3500*time.Millisecond, b.Now(), float64(time.Millisecond), "on a real clock RetryAfter leaves a millisecond for the timer")
	}
	began := time.Now()
	t.Run("on a clock of its own", func(t *testing.T) { check(t, nil) })
	t.Run("on a manual clock", func(t *testing.T) { check(t, new(clock.Manual)) })
	t.Run("in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { check(t, clock.System()) })
	})
	require.Less(t, time.Since(began), 3*time.Second, "it has waited in real time")
}

func TestAdvanceToReadyKnowsWhenNobodyKnows(t *testing.T) {
	for _, start := range []breakertest.Start{breakertest.Closed, breakertest.HalfOpen, breakertest.ForcedOpen} {
		b := breakertest.New(t, start, atomicbreaker.Config{})
		b.AdvanceToReady()
		require.Zero(t, b.Now(), start)
	}
}

func TestProbesAreHeldUntilTheyAreSettled(t *testing.T) {
	b := breakertest.New(t, breakertest.ProbesFull, atomicbreaker.Config{Recovery: atomicbreaker.Recovery{Probes: 2}})
	fake := new(fakeT)
	require.Equal(t, 2, b.Snapshot().ProbesInFlight)
	b.SettleProbes(atomicbreaker.Success)
	b.WantNoProbe()
	b.WantTransitions(closed)
	b.WantOutcomes(breakertest.Outcomes{Succeeded: 2})

	leaky := breakertest.New(fake, breakertest.HalfOpen, atomicbreaker.Config{})
	_, err := leaky.Acquire() // and is not settled
	require.NoError(t, err)
	leaky.WantNoProbe()
	require.Contains(t, fake.take(), "1 probes are in flight, want none: a ticket was not settled")
}

func TestAFailedWantTellsWhatHappened(t *testing.T) {
	fake := new(fakeT)
	b := breakertest.New(fake, breakertest.Closed, atomicbreaker.Config{Name: "billing", ConsecutiveFailures: 3})
	story(b)
	for what, want := range map[string]func(){
		"the breaker is closed, want open": func() { b.WantState(open) },
		"the breaker counted: 1 succeeded, 3 failed, 1 refused\nwant:                1 late": func() {
			b.WantOutcomes(breakertest.Outcomes{Late: 1})
		},
		"the breaker changed to [open half-open closed], want [open]": func() { b.WantTransitions(open) },
		"the call was made and got no error, want a refusal":          func() { b.WantRefused(nil) },
		"the error is no refusal: down":                               func() { b.WantRefused(errDown) },
		`another breaker refused: "stock", want "billing"`: func() {
			other := breakertest.New(fake, breakertest.Open, atomicbreaker.Config{Name: "stock"})
			b.WantRefused(call(other, nil))
		},
	} {
		want()
		said := fake.take()
		require.Contains(t, said, what)
		require.Contains(t, said, `what happened to the breaker "billing":
        0s  closed -> open: streak, 3 of 3 failed, 0 slow
     500ms  open -> half-open: cooldown
`)
		require.Contains(t, said, "now closed; 1 succeeded, 3 failed, 1 refused")
	}
	b.WantState(closed)
	b.WantOutcomes(breakertest.Outcomes{Succeeded: 1, Failed: 3, Refused: 1})
	b.WantTransitions(open, halfOpen, closed)
	require.Empty(t, fake.said)
	require.False(t, fake.fatal)

	held := breakertest.New(fake, breakertest.ForcedOpen, atomicbreaker.Config{})
	require.Contains(t, held.Story(), "now open, mode forced-open; no outcome")
	opened := breakertest.New(fake, breakertest.Open, atomicbreaker.Config{})
	require.Contains(t, opened.Story(), "now open, for 500ms more; no outcome")
	half := breakertest.New(fake, breakertest.ProbesFull, atomicbreaker.Config{})
	require.Contains(t, half.Story(), "now half-open, 1 of 1 probes in flight; no outcome")
}

func TestWaitOutcomesWaitsForAnotherGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := new(fakeT)
		b := breakertest.New(fake, breakertest.Closed, atomicbreaker.Config{Clock: clock.System()})
		go func() {
			time.Sleep(4 * time.Second)
			_ = call(b, nil)
		}()
		b.WaitOutcomes(breakertest.Outcomes{Succeeded: 1})
		require.Empty(t, fake.take())
		b.WaitOutcomes(breakertest.Outcomes{Succeeded: 2})
		require.Contains(t, fake.take(), "want:                2 succeeded")
	})
}

func TestTheUsersListenerIsKept(t *testing.T) {
	var heard []atomicbreaker.State
	b := breakertest.New(t, breakertest.Open, atomicbreaker.Config{OnTransition: func(t atomicbreaker.Transition) { heard = append(heard, t.To) }})
	b.AdvanceToReady()
	require.Equal(t, []atomicbreaker.State{open, halfOpen}, heard)
	b.WantTransitions(halfOpen)
}

func TestOutcomesOfAnyBreaker(t *testing.T) {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	ticket, err := b.Acquire()
	require.NoError(t, err)
	ticket.Cancel()
	ticket, err = b.Acquire()
	require.NoError(t, err)
	b.Reset()
	ticket.Report(atomicbreaker.Success)
	require.Equal(t, breakertest.Outcomes{Cancelled: 1, Late: 1}, breakertest.OutcomesOf(b.Snapshot()))
}
