package atomicbreaker

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// G13: with nothing to time there is no timer.
func TestIdleBreakerOwnsNoTimer(t *testing.T) {
	t.Run("new", func(t *testing.T) {
		for _, m := range allModes {
			_, manual := made(t, Config{Mode: m})
			require.Zero(t, manual.Timers(), m)
		}
	})
	t.Run("closed", func(t *testing.T) {
		b, manual := made(t, Config{})
		calls(t, b, 1, Success)
		require.Equal(t, 1, manual.Timers())
		manual.Advance(9 * time.Second)
		require.Equal(t, 1, manual.Timers(), "an outcome is in the window")
		manual.Advance(2 * time.Second)
		require.Zero(t, manual.Timers())
	})
	t.Run("closed, of the last calls", func(t *testing.T) {
		b, manual := made(t, Config{WindowCalls: 10})
		calls(t, b, 9, Success)
		manual.Advance(2 * longestTick) // the second finds that nobody has called
		require.Zero(t, manual.Timers())
	})
	t.Run("open", func(t *testing.T) {
		b, manual := opened(t, Config{})
		for range 100 {
			refused(t, b, ErrOpen)
			manual.Advance(time.Millisecond)
			require.Equal(t, 1, manual.Timers(), "the cooldown's")
		}
	})
	t.Run("half-open", func(t *testing.T) {
		b, manual := halfOpened(t, Config{})
		require.Zero(t, manual.Timers(), "nothing in flight, nothing refused, nothing seen")
		ticket := admitted(t, b)
		manual.Advance(0)
		require.Equal(t, 1, manual.Timers())
		ticket.Cancel()
		manual.Advance(2 * time.Second)
		require.Zero(t, manual.Timers(), "the probe has given its place back")
	})
	t.Run("recovered", func(t *testing.T) {
		b, manual := halfOpened(t, Config{})
		recoverBy(t, b, manual)
		manual.Advance(0)
		require.Zero(t, manual.Timers())
	})
	t.Run("forced open", func(t *testing.T) {
		b, manual := halfOpened(t, Config{})
		admitted(t, b)
		b.SetMode(ForcedOpen)
		manual.Advance(0)
		require.Zero(t, manual.Timers())
	})
	t.Run("the most there ever is", func(t *testing.T) {
		b, manual := made(t, Config{ConsecutiveFailures: 1})
		for i := range 300 {
			if ticket, err := b.Acquire(); err == nil {
				ticket.Report(Outcome(i % 2))
			}
			b.SetMode(Mode(i % 3 * 3 % 4))
			require.LessOrEqual(t, manual.Timers(), 1)
			manual.Advance(100 * time.Millisecond)
			require.LessOrEqual(t, manual.Timers(), 1)
		}
	})
}

// realStates bring a breaker on the system's clock into every state.
var realStates = map[string]func(t *testing.T, c Config) *Breaker{
	"new":    func(_ *testing.T, c Config) *Breaker { return MustNew(c) },
	"closed": func(t *testing.T, c Config) *Breaker { b := MustNew(c); calls(t, b, 3, Success); return b },
	"open":   func(_ *testing.T, c Config) *Breaker { b := MustNew(c); b.Trip(); return b },
	"half-open": func(t *testing.T, c Config) *Breaker {
		b := halfOpenNow(c)
		calls(t, b, 1, Success)
		return b
	},
	"half-open, a probe out": func(t *testing.T, c Config) *Breaker {
		b := halfOpenNow(c)
		admitted(t, b)
		return b
	},
	"forced open": func(_ *testing.T, c Config) *Breaker { b := MustNew(c); b.SetMode(ForcedOpen); return b },
	"refused": func(t *testing.T, c Config) *Breaker {
		b := MustNew(c)
		b.Trip()
		refused(t, b, ErrOpen)
		return b
	},
}

// halfOpenNow does not wait for a cooldown: ForcedOpen is left for half-open.
func halfOpenNow(c Config) *Breaker {
	b := MustNew(c)
	b.SetMode(ForcedOpen)
	b.SetMode(Auto)
	return b
}

// G13: a timer that runs keeps no breaker alive.
func TestDroppedBreakerIsCollectedInEveryState(t *testing.T) {
	for kind, c := range map[string]Config{
		"default":   {},
		"listening": {OnTransition: func(Transition) {}},
		"timed":     {SlowCallDuration: time.Second},
		"long":      {Cooldown: Cooldown{Min: time.Hour, Max: time.Hour}, Recovery: Recovery{ProbeTimeout: time.Hour}},
	} {
		for state, bring := range realStates {
			t.Run(kind+"/"+state, func(t *testing.T) {
				var cleaned atomic.Bool
				held := func() weak.Pointer[Breaker] {
					b := bring(t, c)
					runtime.AddCleanup(b, func(*struct{}) { cleaned.Store(true) }, nil)
					return weak.Make(b)
				}()
				waitUntil(t, func() bool {
					runtime.GC()
					return held.Value() == nil && cleaned.Load()
				})
			})
		}
	}
}

func TestHeldBreakerIsNotCollected(t *testing.T) {
	b := MustNew(Config{Cooldown: Cooldown{Min: time.Hour, Max: time.Hour}})
	b.Trip()
	held := weak.Make(b)
	for range 5 {
		runtime.GC()
	}
	require.Equal(t, b, held.Value())
	require.Equal(t, StateOpen, b.State())
}

// G13: no goroutine belongs to a breaker.
func TestBreakersOwnNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	var all []*Breaker
	for _, bring := range realStates {
		for range 200 {
			all = append(all, bring(t, Config{OnTransition: func(Transition) {}, Cooldown: Cooldown{Min: time.Hour, Max: time.Hour}}))
		}
	}
	waitUntil(t, func() bool { return runtime.NumGoroutine() <= before }) // callbacks that are due end
	runtime.KeepAlive(all)
}

// TestTimeMovesABreakerWithoutTraffic runs on the system's clock, in a bubble.
func TestTimeMovesABreakerWithoutTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := MustNew(Config{ConsecutiveFailures: 1, Cooldown: Cooldown{Jitter: Off}})
		time.Sleep(time.Hour)
		calls(t, b, 1, Failure)
		time.Sleep(500*time.Millisecond - 1)
		synctest.Wait()
		require.Equal(t, StateOpen, b.State())
		require.Equal(t, time.Millisecond+1, b.RetryAfter(), "what is left, and a millisecond for the timer")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, StateHalfOpen, b.State())
		require.True(t, b.Snapshot().Unprobed)
		calls(t, b, 1, Success)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, StateClosed, b.State())
		// Nothing is left to run: the bubble would not end otherwise.
	})
}

func TestProbeOfDoThatHangsIsGivenUpInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := MustNew(Config{ConsecutiveFailures: 1, Cooldown: Cooldown{Jitter: Off}, Recovery: Recovery{ProbeTimeout: 3 * time.Second}})
		calls(t, b, 1, Failure)
		time.Sleep(time.Second)
		synctest.Wait()
		require.NoError(t, b.Do(t.Context(), func(ctx context.Context) error {
			_, ok := ctx.Deadline()
			require.False(t, ok)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			require.Equal(t, StateOpen, b.State())
			return ctx.Err()
		}))
		require.Equal(t, uint64(1), b.Snapshot().Late)
	})
}

// G10.
func TestClocksOfAnyEpochBehaveAlike(t *testing.T) {
	run := func(start, by time.Duration) []Transition {
		var told []Transition
		s := new(skewed)
		s.Advance(start)
		s.by.Store(int64(by))
		b := madeOn(t, Config{
			Clock: s, ConsecutiveFailures: 3, SlowCallDuration: 100 * time.Millisecond, MinimumCalls: 4,
			OnTransition: func(tr Transition) { tr.At -= start + by; told = append(told, tr) },
		})
		for i := range 400 {
			if ticket, err := b.Acquire(); err == nil {
				s.Advance(time.Duration(i%7) * 20 * time.Millisecond)
				ticket.Report(Outcome(i / 50 % 2))
			}
			s.Advance(time.Duration(i%13) * 30 * time.Millisecond)
		}
		return told
	}
	want := run(0, 0)
	require.Greater(t, len(want), 10)
	for _, epoch := range [][2]time.Duration{
		{1, 0}, {time.Hour, 0}, {100 * 365 * 24 * time.Hour, 0}, {0, time.Hour}, {0, 100 * 365 * 24 * time.Hour},
	} {
		got := run(epoch[0], epoch[1])
		for i := range min(len(want), len(got)) {
			require.Equal(t, want[i], got[i], "a clock that starts at %v", epoch[0]+epoch[1])
		}
		require.Len(t, got, len(want))
	}
}

// G10: a machine that was suspended finds the time gone by and its timers late.
func TestSuspendedMachineFindsTimeGoneBy(t *testing.T) {
	suspend := func(s *skewed, d time.Duration) {
		s.by.Add(int64(d))
		s.Advance(time.Second) // the timers run at last, a little later than they should
		s.Advance(time.Second)
	}
	t.Run("closed", func(t *testing.T) {
		s := new(skewed)
		b := madeOn(t, Config{Clock: s})
		calls(t, b, 9, Failure)
		suspend(s, time.Hour)
		require.Zero(t, b.Snapshot().Rolling)
		calls(t, b, 9, Failure)
		require.Equal(t, StateClosed, b.State())
	})
	t.Run("open", func(t *testing.T) {
		s := new(skewed)
		b := madeOn(t, Config{Clock: s, ConsecutiveFailures: 1})
		calls(t, b, 1, Failure)
		s.by.Add(int64(time.Hour))
		refused(t, b, ErrOpen)
		require.Zero(t, b.RetryAfter(), "whoever asks finds it out")
		require.Equal(t, StateHalfOpen, b.State())
		s.Advance(time.Second)
		require.Equal(t, StateHalfOpen, b.State())
	})
	t.Run("half-open", func(t *testing.T) {
		s := new(skewed)
		b := madeOn(t, Config{Clock: s, ConsecutiveFailures: 1})
		calls(t, b, 1, Failure)
		s.Advance(500 * time.Millisecond)
		calls(t, b, 1, Success)
		suspend(s, time.Hour)
		require.Equal(t, StateClosed, b.State())
	})
}
