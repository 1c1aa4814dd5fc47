package atomicbreaker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of this file stop a goroutine in the middle of an operation, at a
// reading of the clock, let another one run, and let the first go on. Each
// interleaving is thus met every time, not once in a million.

func TestWhoLosesTheRaceToOpenDoesNotLengthenTheCooldown(t *testing.T) {
	for name, race := range map[string]func(b *Breaker) (win, lose func()){
		"Report": func(b *Breaker) (win, lose func()) {
			calls(t, b, 1, Success) // the window is awake and does not read the clock
			one, other := admitted(t, b), admitted(t, b)
			return func() { one.Report(Failure) }, func() { other.Report(Failure) }
		},
		"Trip": func(b *Breaker) (win, lose func()) {
			calls(t, b, 1, Success)
			one := admitted(t, b)
			return func() { one.Report(Failure) }, func() { b.trip(b.load().generation(), ReasonTripCalled, Counts{}, 0) }
		},
		"SetMode": func(b *Breaker) (win, lose func()) {
			b.SetMode(ForcedOpen)
			b.Trip()
			return func() { b.SetMode(Auto) }, func() { b.SetMode(Auto) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := new(hooked)
			c := tripAfter(1)
			c.Clock = h
			b := madeOn(t, c)
			win, lose := race(b)
			h.onNow(0, func() {
				win()
				require.Equal(t, 500*time.Millisecond, b.RetryAfter())
				h.Advance(300 * time.Millisecond)
			})
			lose()
			require.Equal(t, StateOpen, b.State())
			require.Equal(t, 200*time.Millisecond, b.RetryAfter())
		})
	}
}

func TestAdmissionThatIsOvertakenTakesNoPlaceTwice(t *testing.T) {
	h := new(hooked)
	b := madeOn(t, Config{Clock: h, ConsecutiveFailures: 1})
	calls(t, b, 1, Failure)
	h.Advance(500 * time.Millisecond)
	var other *Ticket
	h.onNow(0, func() { other = admitted(t, b) })
	refused(t, b, ErrProbeLimit) // it saw the place free, and lost it
	require.Equal(t, inWindow{1, 1}, windowShown(b))

	require.True(t, other.Report(Success))
	h.onNow(0, func() { b.Trip() })
	refused(t, b, ErrOpen) // nor is a probe of a half-open that is over
	require.Zero(t, windowShown(b).inFlight)
}

func TestSettlingThatIsOvertakenIsLate(t *testing.T) {
	for name, settle := range settlings {
		h := new(hooked)
		b := madeOn(t, Config{Clock: h, ConsecutiveFailures: 1})
		calls(t, b, 1, Failure)
		h.Advance(500 * time.Millisecond)
		probe := admitted(t, b)
		h.onNow(0, func() {
			b.Reset()
			b.Trip()
			h.Advance(500 * time.Millisecond)
			admitted(t, b)
		})
		require.True(t, settle(probe), name)
		s := b.Snapshot()
		require.Equal(t, []any{StateHalfOpen, 1, uint64(1)}, []any{s.State, s.ProbesInFlight, s.Late}, name)
		require.Equal(t, evidence{generation: s.Generation}, evidenceOf(b.evidence.Load(), s.Generation))
	}
}

func TestChangeThatComesWhileTheTimerIsBeingSetIsNotMissed(t *testing.T) {
	// The worker reads the clock to see what is due and again to set the timer.
	for skip := range 5 {
		h := new(hooked)
		b := madeOn(t, Config{Clock: h})
		calls(t, b, 1, Success)
		h.Advance(100 * time.Millisecond)
		b.kick()
		h.onNow(skip, b.Trip)
		h.Advance(0)
		h.hook = nil
		b.Trip() // unless it was called
		h.Advance(500*time.Millisecond - 1)
		require.Equal(t, StateOpen, b.State(), "skip %d", skip)
		h.Advance(1)
		require.Equal(t, StateHalfOpen, b.State(), "skip %d", skip)
	}
}

func TestTimeOpenIsExactWhateverComesBetween(t *testing.T) {
	// The timer reads the clock a few times while it ends the cooldown. Once
	// the breaker is half-open, a probe may come at any of them, fail, and
	// open the breaker again.
	reopened := 0
	for skip := range 5 {
		h := new(hooked)
		c := tripAfter(1)
		c.Clock = h
		b := madeOn(t, c)
		calls(t, b, 1, Failure)
		h.Advance(0)
		h.onNow(skip, func() {
			if b.State() == StateHalfOpen {
				calls(t, b, 1, Failure)
				reopened++
			}
		})
		h.Advance(500 * time.Millisecond)
		h.hook = nil
		require.Equal(t, 500*time.Millisecond, b.Snapshot().TimeOpen, "skip %d", skip)
	}
	require.Positive(t, reopened)
}

func TestInstantsOfTransitionsNeverGoBack(t *testing.T) {
	changed := 0
	for skip := range 6 {
		h := new(hooked)
		var seen []Transition
		c := tripAfter(1)
		c.Clock = h
		c.OnTransition = func(tr Transition) { seen = append(seen, tr) }
		b := madeOn(t, c)
		for _, act := range []func(){
			b.Trip,
			func() { h.Advance(b.RetryAfter()) },
			b.Reset,
			func() { b.SetMode(ForcedOpen) },
			func() { b.SetMode(Auto) },
		} {
			h.onNow(skip, func() {
				b.Reset()
				h.Manual.Advance(time.Millisecond)
				b.Trip()
			})
			act()
			h.hook = nil
			h.Advance(0)
		}
		for i, tr := range seen[1:] {
			require.GreaterOrEqual(t, tr.At, seen[i].At, "%+v after %+v", tr, seen[i])
			require.Equal(t, seen[i].To, tr.From)
		}
		changed += len(seen)
	}
	require.Greater(t, changed, 30)
}

func TestAClockThatStepsBackCountsAsOneThatStands(t *testing.T) {
	s := new(skewed)
	c := tripAfter(1)
	c.Clock = s
	b := madeOn(t, c)
	s.by.Store(int64(time.Hour))
	calls(t, b, 1, Failure)
	s.by.Store(0)
	require.Equal(t, 500*time.Millisecond+time.Hour, b.RetryAfter(), "nothing opens early")
	s.by.Store(int64(time.Hour))
	s.Advance(499 * time.Millisecond)
	require.Equal(t, StateOpen, b.State())
	s.Advance(time.Millisecond)
	require.Equal(t, StateHalfOpen, b.State())

	for _, o := range []Outcome{Ignored, Success} {
		ticket := admitted(t, b)
		s.by.Store(int64(time.Hour - time.Second))
		require.True(t, ticket.Report(o))
		require.Equal(t, LastProbe{Settled: true, Outcome: o, Latency: 0}, b.Snapshot().LastProbe)
		require.NotPanics(t, func() { s.Advance(time.Millisecond) })
		s.by.Store(int64(time.Hour))
	}
}

func TestReasonIsThatOfTheLastChangeHoweverManyResetsLieBetween(t *testing.T) {
	b, _ := opened(t, Config{})
	for range 1<<15 + 1 { // half of what a tag of 16 bits tells apart
		b.Reset()
	}
	require.Equal(t, ReasonResetCalled, b.Snapshot().Reason)
	b.Trip()
	require.Equal(t, ReasonTripCalled, b.Snapshot().Reason)
}

func TestWindowNeverMovesBack(t *testing.T) {
	t.Run("clock steps back over an edge", func(t *testing.T) {
		s := new(skewed)
		b := madeOn(t, Config{Clock: s})
		calls(t, b, 1, Success)
		s.Advance(time.Second) // to the first edge
		calls(t, b, 4, Failure)
		s.by.Store(-1)
		b.kick()
		s.Advance(0)
		require.Equal(t, Counts{Calls: 5, Failures: 4}, b.Snapshot().Rolling)
		s.by.Store(0)
		s.Advance(time.Second)
		require.Equal(t, Counts{Calls: 5, Failures: 4}, b.Snapshot().Rolling)
	})
	t.Run("the window wakes while the worker sleeps", func(t *testing.T) {
		h := new(hooked)
		b := madeOn(t, Config{Clock: h})
		h.Advance(900 * time.Millisecond)
		b.kick()
		h.onNow(0, func() {
			// The worker is about to read 900 ms. It is stopped right after.
			h.late = true
			h.Manual.Advance(100 * time.Millisecond)
			calls(t, b, 4, Failure)
		})
		h.Advance(0)
		require.Equal(t, uint64(4), b.Snapshot().Rolling.Calls)
		h.Advance(9*time.Second + 999*time.Millisecond)
		require.Equal(t, uint64(4), b.Snapshot().Rolling.Calls)
		h.Advance(time.Millisecond)
		require.Zero(t, b.Snapshot().Rolling.Calls)
	})
}

func TestATimerThatIsLateLeavesNothingBehindInTheWindow(t *testing.T) {
	for _, c := range []Config{
		{Window: time.Millisecond, Buckets: 1},
		{Window: 10 * time.Millisecond},
		{},
	} {
		s := new(skewed)
		c.Clock = s
		c.ConsecutiveFailures = Off
		b := madeOn(t, c)
		calls(t, b, 5, Failure)
		s.Advance(0)
		// Whatever the lateness, what is older than a window is not in it: not
		// when the number of a bucket happens to look like that of an old one.
		for late := 1; late <= 4096; late++ {
			s.by.Store(int64(c.WithDefaults().Window) + int64(late)*int64(b.cfg().bucket))
			require.Zero(t, b.Snapshot().Rolling.Calls, "%v, late by %d buckets", c.WithDefaults().Window, late)
		}
		s.by.Store(int64(160 * b.cfg().bucket)) // where slot and five bits of the number are the same
		s.Advance(b.cfg().bucket)
		calls(t, b, 5, Failure)
		require.Equal(t, StateClosed, b.State(), "%v: five old and five new failures tripped", c.WithDefaults().Window)
	}
}

func TestAnOldGenerationDoesNotComeRoundAgain(t *testing.T) {
	// The longest bucket leaves 12 bits of a generation in a stamp.
	b, manual := made(t, Config{Window: 24 * time.Hour, Buckets: 1, ConsecutiveFailures: Off})
	calls(t, b, 5, Failure)
	for range 1<<12 - 1 {
		b.Reset()
		calls(t, b, 1, Success)
		manual.Advance(0)
	}
	b.Reset()
	calls(t, b, 5, Failure)
	require.Equal(t, Counts{Calls: 5, Failures: 5}, b.Snapshot().Rolling)
	require.Equal(t, StateClosed, b.State())
}
