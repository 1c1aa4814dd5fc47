package clock_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

func TestManualStandsUntilAdvanced(t *testing.T) {
	var m clock.Manual
	require.Zero(t, m.Now())
	m.Advance(time.Second)
	m.Advance(0)
	require.Equal(t, time.Second, m.Now())
	m.Advance(time.Nanosecond)
	require.Equal(t, time.Second+1, m.Now())
}

func TestManualRunsTimersInOrderAtTheirInstants(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var m clock.Manual
		type firing struct{ at, due time.Duration }
		var fired []firing
		var want []time.Duration
		set := func() {
			d := time.Duration(random.IntN(100))
			due := m.Now() + d
			want = append(want, due)
			m.AfterFunc(d, func() { fired = append(fired, firing{m.Now(), due}) })
		}
		for range 50 {
			set()
			if random.IntN(3) == 0 {
				m.Advance(time.Duration(random.IntN(40)))
			}
		}
		m.Advance(1000)
		require.Len(t, fired, 50)
		slices.Sort(want)
		for i, f := range fired {
			require.Equal(t, f.due, f.at, "the clock shows the timer's instant while it runs")
			require.Equal(t, want[i], f.at)
		}
		require.Zero(t, m.Timers())
	}
}

func TestTimersOfOneInstantRunInTheOrderOfSetting(t *testing.T) {
	var m clock.Manual
	var order []int
	var timers []clock.Timer
	for i := range 10 {
		timers = append(timers, m.AfterFunc(time.Second, func() { order = append(order, i) }))
	}
	timers[3].Reset(time.Second) // set again: now the last
	m.Advance(time.Second)
	require.Equal(t, []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 3}, order)
}

func TestTimerSetByATimerRunsWithinTheSameAdvance(t *testing.T) {
	var m clock.Manual
	var at []time.Duration
	var timer clock.Timer
	timer = m.AfterFunc(time.Second, func() {
		at = append(at, m.Now())
		if len(at) < 6 {
			timer.Reset(time.Second)
		}
	})
	m.AfterFunc(0, func() { m.AfterFunc(-time.Hour, func() { at = append(at, -m.Now()) }) })
	m.Advance(10 * time.Second)
	require.Equal(t, []time.Duration{0, 1e9, 2e9, 3e9, 4e9, 5e9}, at)
	require.Equal(t, 10*time.Second, m.Now())
}

func TestAdvanceByZeroRunsWhatIsDue(t *testing.T) {
	var m clock.Manual
	ran := 0
	m.AfterFunc(0, func() { ran++ })
	m.AfterFunc(-time.Second, func() { ran++ })
	m.AfterFunc(1, func() { ran += 100 })
	require.Zero(t, ran, "nothing runs by itself")
	m.Advance(0)
	require.Equal(t, 2, ran)
	require.Equal(t, 1, m.Timers())
}

func TestAdvanceFromWithinATimer(t *testing.T) {
	var m clock.Manual
	var at []time.Duration
	m.AfterFunc(time.Second, func() {
		m.Advance(2 * time.Second)
		at = append(at, m.Now())
	})
	m.AfterFunc(2*time.Second, func() { at = append(at, m.Now()) })
	m.Advance(time.Second)
	require.Equal(t, []time.Duration{2 * time.Second, 3 * time.Second}, at)
	require.Equal(t, 3*time.Second, m.Now())
}

func TestStopAndResetTellWhetherATimerRan(t *testing.T) {
	var m clock.Manual
	ran := 0
	timer := m.AfterFunc(time.Second, func() { ran++ })
	require.True(t, timer.Stop())
	require.False(t, timer.Stop())
	m.Advance(time.Minute)
	require.Zero(t, ran)

	require.False(t, timer.Reset(time.Second), "it had been stopped")
	require.True(t, timer.Reset(2*time.Second))
	m.Advance(time.Second)
	require.Zero(t, ran, "the earlier appointment was moved")
	m.Advance(time.Second)
	require.Equal(t, 1, ran)
	require.False(t, timer.Stop(), "it has fired")
	require.False(t, timer.Reset(time.Second))
	m.Advance(time.Second)
	require.Equal(t, 2, ran)
}

func TestNextAndTimersShowWhatIsPending(t *testing.T) {
	var m clock.Manual
	_, ok := m.Next()
	require.False(t, ok)
	far := m.AfterFunc(time.Hour, func() {})
	near := m.AfterFunc(time.Second, func() {})
	next, ok := m.Next()
	require.True(t, ok)
	require.Equal(t, time.Second, next)
	near.Stop()
	next, _ = m.Next()
	require.Equal(t, time.Hour, next)
	require.Equal(t, 1, m.Timers())
	far.Stop()
	require.Zero(t, m.Timers())
}

func TestFarAwayTimerDoesNotOverflow(t *testing.T) {
	var m clock.Manual
	m.Advance(time.Hour)
	timer := m.AfterFunc(1<<63-1, func() { t.Error("ran") })
	m.Advance(1000 * time.Hour)
	next, ok := m.Next()
	require.True(t, ok)
	require.Equal(t, time.Duration(1<<63-1), next)
	require.True(t, timer.Stop())
}

func TestNegativeAdvancePanics(t *testing.T) {
	var m clock.Manual
	m.Advance(time.Second)
	require.PanicsWithValue(t, "clock: Manual.Advance by -1ns: time does not run backwards", func() { m.Advance(-1) })
	require.Equal(t, time.Second, m.Now())
	m.Advance(time.Second)
	require.Equal(t, 2*time.Second, m.Now(), "the panic left nothing locked")
}

// TestConcurrentAdvancesAddUp: each adds its part, and every timer runs once,
// never before its instant.
func TestConcurrentAdvancesAddUp(t *testing.T) {
	const goroutines, each = 8, 200
	var m clock.Manual
	var ran, early atomic.Int64
	set := func(d time.Duration) {
		due := m.Now() + d
		m.AfterFunc(d, func() {
			ran.Add(1)
			if m.Now() < due {
				early.Add(1)
			}
		})
	}
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() {
			last := m.Now()
			for n := range each {
				set(time.Duration(n*i%50) * time.Millisecond)
				m.Advance(time.Millisecond)
				if now := m.Now(); now < last {
					t.Error("the clock stepped back")
				} else {
					last = now
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, goroutines*each*time.Millisecond, m.Now())
	m.Advance(time.Second)
	require.Equal(t, int64(goroutines*each), ran.Load())
	require.Zero(t, early.Load())
	require.Zero(t, m.Timers())
}

func TestConcurrentStopsAndResetsKeepTheListWhole(t *testing.T) {
	var m clock.Manual
	var timers []clock.Timer
	for range 8 {
		timers = append(timers, m.AfterFunc(time.Hour, func() {}))
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 2))
			for range 2000 {
				timer := timers[random.IntN(len(timers))]
				if random.IntN(2) == 0 {
					timer.Stop()
				} else {
					timer.Reset(time.Duration(random.IntN(1000)))
				}
				if random.IntN(8) == 0 {
					m.Advance(time.Duration(random.IntN(100)))
				}
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, m.Timers(), len(timers))
	for _, timer := range timers {
		timer.Stop()
	}
	require.Zero(t, m.Timers())
}

func TestSettingATimerAllocatesNothing(t *testing.T) {
	var m clock.Manual
	for name, timer := range map[string]clock.Timer{
		"manual": m.AfterFunc(time.Hour, func() {}),
		"system": clock.System().AfterFunc(time.Hour, func() {}),
	} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			timer.Reset(time.Hour)
			timer.Stop()
		}), name)
	}
}
