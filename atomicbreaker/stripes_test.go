package atomicbreaker

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/ring"
	"github.com/stretchr/testify/require"
)

// settleOn does what settling does, on a stripe that the test chooses.
func settleOn(t *testing.T, b *Breaker, s ring.Stripe, o Outcome) {
	t.Helper()
	n := s.Peek(ring.Kind(o))
	require.True(t, ring.Live(n, 0) && s.Hit(ring.Kind(o), n) || s.Take(ring.Kind(o), n, 0))
	if o == Success {
		b.endStreak(s, 0)
		return
	}
	run := b.noteBad(s, 0, ring.Failure)
	if c, look := b.windowOf(s, 0, b.streakMet(run)); look {
		b.judge(b.load(), c, ring.Failure, run, 0)
	}
}

// TestTripIsAtMostOneBucketLateOnManyStripes: the stripe whose own share
// reaches the rate has done so before the minimum was met; the one that meets
// the minimum sees a low share of its own. The end of the bucket catches up.
func TestTripIsAtMostOneBucketLateOnManyStripes(t *testing.T) {
	var last Transition
	b, manual := made(t, Config{ConsecutiveFailures: Off, OnTransition: func(tr Transition) { last = tr }})
	b.wake(0)
	stripes := stripesOf(t, b, 2)
	for range 4 {
		settleOn(t, b, stripes[0], Failure)
	}
	for range 5 {
		settleOn(t, b, stripes[1], Success)
	}
	settleOn(t, b, stripes[1], Failure)
	require.Equal(t, Counts{Calls: 10, Failures: 5}, b.Snapshot().Rolling)
	manual.Advance(time.Second - 1)
	require.Equal(t, StateClosed, b.State())
	manual.Advance(1)
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, []any{ReasonFailureRate, Counts{Calls: 10, Failures: 5}}, []any{last.Reason, last.Counts})
}

// TestStripeThatReachesTheRateReadsTheOthers: no bucket has to end where the
// failing stripe itself sees the rate reached.
func TestStripeThatReachesTheRateReadsTheOthers(t *testing.T) {
	for n := 1; n < 10; n++ { // failures on one stripe, the rest of ten calls on the other
		b, _ := made(t, Config{ConsecutiveFailures: Off, FailureRate: float64(n) / 10})
		b.wake(0)
		stripes := stripesOf(t, b, 2)
		for range 10 - n {
			settleOn(t, b, stripes[1], Success)
		}
		for i := range n {
			require.Equal(t, StateClosed, b.State(), "%d of %d failures", i, n)
			settleOn(t, b, stripes[0], Failure)
		}
		require.Equal(t, StateOpen, b.State(), "%d failures of 10", n)
	}
}

func TestTimeAloneNeverTripsOnManyStripes(t *testing.T) {
	for _, late := range []time.Duration{1, 3} { // the timer may miss edges
		for _, c := range []Config{{}, {FailureRate: Off, SlowCallDuration: time.Millisecond}} {
			s := new(skewed)
			c.Clock, c.ConsecutiveFailures, c.MinimumCalls = s, Off, 5
			b := madeOn(t, c)
			calls(t, b, 1, Success)
			stripesOf(t, b, 4)
			s.Advance(0)
			calls(t, b, 20, Success)
			s.Advance(3 * time.Second)
			for range 9 { // failed, or slow
				ticket := admitted(t, b)
				s.Advance(time.Millisecond)
				require.True(t, ticket.Report(Failure))
			}
			calls(t, b, 1, Success)
			for range 20 {
				s.by.Add(int64((late - 1) * time.Second))
				s.Advance(time.Second)
				require.Equal(t, StateClosed, b.State())
			}
		}
	}
}

// TestWakingAndANewGenerationUseOneStripeAgain: so that one goroutine's trips are exact.
func TestWakingAndANewGenerationUseOneStripeAgain(t *testing.T) {
	for _, c := range []Config{{Stripes: 8}, {Stripes: 8, WindowCalls: 10}} {
		b, manual := made(t, c)
		calls(t, b, 1, Success)
		stripesOf(t, b, 8)
		require.Equal(t, 8, b.ring.InUse())
		manual.Advance(time.Minute)
		calls(t, b, 1, Success)
		if c.WindowCalls == 0 {
			require.Equal(t, 1, b.ring.InUse())
			stripesOf(t, b, 8)
		}
		b.Reset()
		calls(t, b, 1, Success)
		require.Equal(t, 1, b.ring.InUse())
		require.Equal(t, 8, b.ring.Stripes(), "the stripes are kept, and what they counted")
		require.Equal(t, uint64(3), b.Snapshot().Succeeded)
	}
}

// TestContentionGrowsTheStripesInTheWorker: it is told by the ring through the worker.
func TestContentionGrowsTheStripesInTheWorker(t *testing.T) {
	b, manual := made(t, Config{Stripes: 8})
	calls(t, b, 1, Success)
	for _, want := range []int{2, 4, 8, 8} {
		b.ring.Shared()
		require.Less(t, b.ring.InUse(), 9)
		manual.Advance(0)
		require.Equal(t, want, b.ring.InUse())
	}
	b.Trip()
	b.ring.Shared()
	manual.Advance(500 * time.Millisecond)
	require.Equal(t, StateHalfOpen, b.State(), "growing does not disturb the cooldown")
}
