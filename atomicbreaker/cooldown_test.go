package atomicbreaker

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reopening runs an outage in which every probe fails at once, and returns the
// cooldowns.
func reopening(t *testing.T, c Config, n int) []time.Duration {
	t.Helper()
	b, manual := opened(t, c)
	var all []time.Duration
	for range n {
		all = append(all, b.RetryAfter())
		manual.Advance(b.RetryAfter())
		require.Equal(t, StateHalfOpen, b.State())
		calls(t, b, 1, Failure)
		manual.Advance(0)
	}
	return all
}

func TestCooldownGrowsAsConfigured(t *testing.T) {
	ms := func(all ...int) (d []time.Duration) {
		for _, x := range all {
			d = append(d, time.Duration(x)*time.Millisecond)
		}
		return d
	}
	for name, x := range map[string]struct {
		c    Cooldown
		want []time.Duration
	}{
		"constant":       {Cooldown{Factor: 1}, ms(500, 500, 500, 500)},
		"doubling":       {Cooldown{Factor: 2}, ms(500, 1000, 2000, 4000, 5000, 5000)},
		"by a half":      {Cooldown{Min: time.Second, Max: 3 * time.Second, Factor: 1.5}, ms(1000, 1500, 2250, 3000, 3000)},
		"sixteenfold":    {Cooldown{Min: time.Millisecond, Max: time.Second, Factor: 16}, ms(1, 16, 256, 1000)},
		"min alone":      {Cooldown{Min: 20 * time.Second, Factor: 2}, ms(20000, 20000)},
		"longest of all": {Cooldown{Min: 24 * time.Hour, Max: 24 * time.Hour, Factor: 16}, ms(86400000, 86400000, 86400000)},
	} {
		require.Equal(t, x.want, reopening(t, Config{Cooldown: x.c}, len(x.want)), name)
	}
}

func TestCooldownIsAnEighthOfTheAgeOfTheOutage(t *testing.T) {
	c := Config{Cooldown: Cooldown{Min: 100 * time.Millisecond, Max: 5 * time.Second}}
	age := time.Duration(0)
	for i, got := range reopening(t, c, 60) {
		want := 100 * time.Millisecond
		if i > 0 {
			want = min(max(age/8, want), 5*time.Second)
		}
		require.Equal(t, want, got, "after %v", age)
		age += got
	}
	require.Greater(t, age, time.Minute)
}

func TestNewOutageStartsAtTheShortestCooldown(t *testing.T) {
	for _, factor := range []float64{0, 2} {
		b, manual := halfOpened(t, Config{Cooldown: Cooldown{Factor: factor}})
		for range 10 {
			calls(t, b, 1, Failure)
			manual.Advance(b.RetryAfter())
		}
		recoverBy(t, b, manual)
		calls(t, b, 1, Failure)
		require.Equal(t, 500*time.Millisecond, b.RetryAfter())
	}
}

func TestCooldownEndsAtItsVeryInstant(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, 500 * time.Millisecond, 7*time.Second + 1, 24 * time.Hour} {
		b, manual := opened(t, Config{Cooldown: Cooldown{Min: d}})
		manual.Advance(d - 1)
		b.kick() // whatever wakes the worker
		manual.Advance(0)
		require.Equal(t, StateOpen, b.State())
		refused(t, b, ErrOpen)
		manual.Advance(1)
		require.Equal(t, StateHalfOpen, b.State())
	}
}

func TestJitterIsDrawnOncePerOpeningAndSpreadsBothWays(t *testing.T) {
	for _, jitter := range []float64{0.25, 0.999, 1e-9} {
		for _, at := range []float64{0, 0.25, 0.5, 0.75, math.Nextafter(1, 0)} {
			drawn := 0
			b, manual := opened(t, Config{
				Cooldown: Cooldown{Min: 2 * time.Second, Max: 10 * time.Second, Factor: 2, Jitter: jitter},
				Rand:     func() float64 { drawn++; return at },
			})
			for opening, length := range []time.Duration{2, 4, 8, 10} { // it grows without the jitter
				want := float64(length*time.Second) * (1 - jitter + 2*jitter*at)
				got := float64(b.RetryAfter())
				require.InDelta(t, max(want, float64(time.Millisecond)), got, 1)
				for range 10 {
					refused(t, b, ErrOpen)
					b.Snapshot()
				}
				require.Equal(t, opening+1, drawn)
				manual.Advance(b.RetryAfter())
				manual.Advance(time.Millisecond)
				calls(t, b, 1, Failure)
				manual.Advance(0)
			}
		}
	}
}

func TestJitterIsDrawnOnceHoweverOftenAnOpeningIsTried(t *testing.T) {
	drawn := 0
	var between func()
	b, _ := halfOpened(t, Config{Cooldown: Cooldown{Jitter: 0.5}, Rand: func() float64 {
		drawn++
		if f := between; f != nil {
			between = nil
			f()
		}
		return 0.5
	}})
	calls(t, b, 1, Success)
	drawn, between = 0, func() { admitted(t, b) } // changes the word: the opening is tried again
	b.Trip()
	require.Equal(t, StateOpen, b.State())
	require.Nil(t, between)
	require.Equal(t, 1, drawn)
}

func TestRandIsNotAskedWhereJitterIsOff(t *testing.T) {
	b, manual := opened(t, Config{Cooldown: Cooldown{Jitter: Off}, Rand: func() float64 { panic("asked") }})
	require.NotPanics(t, func() { manual.Advance(b.RetryAfter()); b.Trip() })
}

func TestRetryAfterIsTheFloorOfTheCooldownItCauses(t *testing.T) {
	for name, x := range map[string]struct {
		jitter float64
		after  time.Duration
		least  time.Duration
		most   time.Duration
	}{
		"no time given":        {Off, 0, 500 * time.Millisecond, 500 * time.Millisecond},
		"negative":             {Off, -time.Hour, 500 * time.Millisecond, 500 * time.Millisecond},
		"less than it is":      {Off, 100 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond},
		"more":                 {Off, 3 * time.Second, 3 * time.Second, 3 * time.Second},
		"more than the most":   {Off, time.Hour, 5 * time.Second, 5 * time.Second},
		"more, jitter":         {0.5, 2 * time.Second, 2 * time.Second, 3 * time.Second},
		"the most, jitter":     {0.5, time.Hour, 5 * time.Second, 7500 * time.Millisecond},
		"just as much, jitter": {0.5, 500 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond},
		"a bit less, jitter":   {0.5, 499 * time.Millisecond, 499 * time.Millisecond, 750 * time.Millisecond},
	} {
		for _, at := range []float64{0, 0.5, 0.999} {
			b, manual := made(t, Config{
				ConsecutiveFailures: 1, Cooldown: Cooldown{Jitter: x.jitter}, Rand: func() float64 { return at },
			})
			require.True(t, admitted(t, b).ReportAfter(Failure, x.after))
			require.GreaterOrEqual(t, b.RetryAfter(), x.least, name)
			require.LessOrEqual(t, b.RetryAfter(), x.most, name)

			// The next cooldown knows nothing of it.
			manual.Advance(b.RetryAfter())
			calls(t, b, 1, Failure)
			require.LessOrEqual(t, b.RetryAfter(), time.Duration(1.6*float64(max(500*time.Millisecond, 5*time.Second/8+time.Second))))
		}
	}
}

func TestRetryAfterOfAProbeCounts(t *testing.T) {
	for _, c := range []Config{{}, {Recovery: Recovery{Probes: 1}}, {WindowCalls: 10}} {
		b, _ := halfOpened(t, c)
		require.True(t, admitted(t, b).ReportAfter(Failure, 4*time.Second))
		require.Equal(t, 4*time.Second, b.RetryAfter())
	}
}

func TestRetryAfterOfWhatDoesNotOpenIsForgotten(t *testing.T) {
	b, _ := made(t, Config{ConsecutiveFailures: 2})
	require.True(t, admitted(t, b).ReportAfter(Failure, 4*time.Second))
	require.True(t, admitted(t, b).ReportAfter(Ignored, 4*time.Second))
	calls(t, b, 1, Failure)
	require.Equal(t, 500*time.Millisecond, b.RetryAfter())
}

func TestRetryAfterIsZeroUnlessOpen(t *testing.T) {
	b, manual := made(t, Config{ConsecutiveFailures: 1})
	require.Zero(t, b.RetryAfter())
	calls(t, b, 1, Failure)
	for left := 500 * time.Millisecond; left > 0; left -= 50 * time.Millisecond {
		require.Equal(t, left, b.RetryAfter())
		require.Equal(t, left, refused(t, b, ErrOpen).RetryAfter())
		manual.Advance(50 * time.Millisecond)
	}
	require.Equal(t, StateHalfOpen, b.State())
	require.Zero(t, b.RetryAfter())
}

func TestForcedOpeningIsAnOutageOfItsOwn(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	recoverBy(t, b, manual)
	manual.Advance(time.Hour)
	b.SetMode(ForcedOpen)
	b.SetMode(Auto)
	calls(t, b, 1, Failure)
	require.Equal(t, 500*time.Millisecond, b.RetryAfter(), "the age of an outage that is over")
}
