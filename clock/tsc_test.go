package clock

import (
	"testing"
	"time"

	"github.com/loov/hrtime"
	"github.com/stretchr/testify/require"
)

// between reads a clock between two readings of the system's, as close together
// as it finds them.
func between(c Clock) (at time.Time, reads time.Duration) {
	best := time.Hour
	for range 200 {
		before := time.Now()
		now := c.Now()
		if after := time.Now(); after.Sub(before) < best {
			best = after.Sub(before)
			at, reads = before.Add(best/2), now
		}
	}
	return at, reads
}

func TestTSCAgreesWithTheSystemsTime(t *testing.T) {
	c, ok := TSC()
	if !ok {
		t.Skip("no invariant counter here")
	}
	began, first := between(c)
	for time.Since(began) < 5*time.Millisecond { // as long as it was calibrated for
	}
	ended, last := between(c)
	took := ended.Sub(began)
	// Right to a promille and what two readings cost: the promise is tighter, the machine may be busy.
	require.InDelta(t, float64(took), float64(last-first), float64(took)/1000+float64(20*time.Microsecond))
}

func TestTSCNeverStepsBackAndNeverBelowItsEpoch(t *testing.T) {
	c, _ := TSC()
	last := time.Duration(0)
	for range 100_000 {
		now := c.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
}

func TestTSCWithoutACounterIsTheSystemsClock(t *testing.T) {
	c, ok := TSC()
	_, counts := c.(tsc)
	require.Equal(t, hrtime.TSCSupported(), ok)
	require.Equal(t, ok, counts)
}

func TestTSCDoesNotOverflow(t *testing.T) {
	const perSecond = 3_000_000_000
	for _, age := range []time.Duration{time.Hour, 365 * 24 * time.Hour, 90 * 365 * 24 * time.Hour} {
		counts := uint64(age/time.Second) * perSecond
		c := tsc{epoch: hrtime.TSC() - hrtime.Count(counts), scale: 1 << 32 / 3}
		require.InEpsilon(t, float64(age), float64(c.Now()), 1e-6)
	}
}

// TestTSCBeforeItsEpochShowsZero: counters of two processors may be a few
// counts apart.
func TestTSCBeforeItsEpochShowsZero(t *testing.T) {
	c := tsc{epoch: hrtime.TSC() + 1<<40, scale: 1 << 32 / 3}
	require.Zero(t, c.Now())
}

func TestTSCTimersAreTheRuntimes(t *testing.T) {
	c, _ := TSC()
	done := make(chan struct{})
	timer := c.AfterFunc(0, func() { close(done) })
	<-done
	require.False(t, timer.Stop())
}
