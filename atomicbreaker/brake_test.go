package atomicbreaker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atomicbreaker/breaker/clock"
)

// healthy is a breaker in front of a dependency that has answered 100 calls a second in 50 ms for a minute.
func healthy(t testing.TB, c Config) (*Breaker, *clock.Manual) {
	t.Helper()
	b, manual := made(t, c)
	traffic(b, manual, 100, time.Minute, always(50*time.Millisecond))
	require.Equal(t, StateClosed, b.State())
	require.InDelta(t, float64(50*time.Millisecond), float64(b.Snapshot().Latency.Usual), float64(time.Millisecond))
	return b, manual
}

// theta is when an answer is late for callers who wait a second: at 50 ms and a quarter of the rest.
const theta = 50*time.Millisecond + 950*time.Millisecond/4

func TestAnswersThatComeLateMakeItHalfOpen(t *testing.T) {
	b, manual := healthy(t, Config{Deadline: time.Second})
	failed, _ := traffic(b, manual, 100, 2*theta, always(900*time.Millisecond))
	require.Zero(t, failed)
	s := b.Snapshot()
	require.Equal(t, []any{StateHalfOpen, ReasonNearDeadline}, []any{s.State, s.Reason}, "before any call has failed")
	require.InDelta(t, 100*2*theta.Seconds(), s.ProbeWindow, 5, "what it answers within half of the second")
	require.Zero(t, s.Opened)

	// A false alarm refuses nobody, and is over after a quiet time.
	_, refused := traffic(b, manual, 100, 3*time.Second, always(50*time.Millisecond))
	require.Zero(t, refused)
	require.Equal(t, StateClosed, b.State())
	require.InDelta(t, float64(50*time.Millisecond), float64(b.Snapshot().Latency.Usual), float64(time.Millisecond))
}

// The age of what is out tells, not its answer: calls that hang are late long before they fail.
func TestCallsThatHangMakeItHalfOpen(t *testing.T) {
	b, manual := healthy(t, Config{Deadline: time.Second})
	for range 100 {
		if _, err := b.Acquire(); err != nil {
			break
		}
		manual.Advance(5 * time.Millisecond)
	}
	require.Equal(t, ReasonNearDeadline, b.Snapshot().Reason)
}

func TestNothingBrakesWithoutADeadline(t *testing.T) {
	for name, c := range map[string]Config{
		"nobody says":   {},
		"off":           {Deadline: Off},
		"classic rule":  {Deadline: time.Second, Recovery: Recovery{Probes: 1}},
		"too short":     {Deadline: 100 * time.Millisecond}, // callers wait no more than twice the usual
		"forced closed": {Deadline: time.Second, Mode: ForcedClosed},
	} {
		t.Run(name, func(t *testing.T) {
			b, manual := made(t, c)
			traffic(b, manual, 100, time.Minute, always(50*time.Millisecond))
			_, refused := traffic(b, manual, 100, time.Minute, always(900*time.Millisecond))
			require.Zero(t, refused)
			require.Equal(t, ReasonNone, b.Snapshot().Reason)
		})
	}
}

// A few answers are late in health, and a stall of the network is over soon: neither brakes.
func TestLateAnswersOfHealthDoNotBrake(t *testing.T) {
	b, manual := healthy(t, Config{Deadline: time.Second})
	n := 0
	tail := func() time.Duration { // one in five takes 600 ms
		if n++; n%5 == 0 {
			return 600 * time.Millisecond
		}
		return 50 * time.Millisecond
	}
	_, refused := traffic(b, manual, 100, 10*time.Minute, tail)
	require.Zero(t, refused)
	require.Equal(t, ReasonNone, b.Snapshot().Reason)
	require.InDelta(t, float64(50*time.Millisecond), float64(b.Snapshot().Latency.Usual), float64(5*time.Millisecond))
}

// What stays slow is accepted: a dependency that has become twelve times slower for good is not
// refused its calls for ever.
func TestWhatStaysSlowIsAccepted(t *testing.T) {
	b, manual := healthy(t, Config{Deadline: time.Second})
	traffic(b, manual, 100, 2*time.Minute, always(600*time.Millisecond))
	_, refused := traffic(b, manual, 100, 2*time.Minute, always(600*time.Millisecond))
	require.Zero(t, refused)
	require.Equal(t, StateClosed, b.State())
	require.Greater(t, b.Snapshot().Latency.Usual, 400*time.Millisecond)
}

// In half-open an answer that takes more than half of what callers wait widens nothing.
func TestLateAnswersWidenNothing(t *testing.T) {
	b, manual := healthy(t, Config{Deadline: time.Second})
	traffic(b, manual, 100, 2*theta, always(700*time.Millisecond))
	require.Equal(t, StateHalfOpen, b.State())
	window := b.Snapshot().ProbeWindow
	traffic(b, manual, 1000, 5*time.Second, always(700*time.Millisecond))
	require.Equal(t, window, b.Snapshot().ProbeWindow)
	require.Equal(t, StateHalfOpen, b.State())
}

// The deadline of the context reaches the breaker by Do and AcquireContext.
func TestDeadlineOfTheContextIsSeen(t *testing.T) {
	for name, call := range map[string]func(b *Breaker, ctx context.Context, settle func(func())){
		"AcquireContext": func(b *Breaker, ctx context.Context, settle func(func())) {
			if x, err := b.AcquireContext(ctx); err == nil {
				settle(func() { x.Done(ctx, nil) })
			}
		},
		"Do": func(b *Breaker, ctx context.Context, settle func(func())) {
			_ = b.Do(ctx, func(context.Context) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, manual := sampling(t, Config{})
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			for range 20 {
				call(b, ctx, func(f func()) { manual.AfterFunc(time.Millisecond, f) })
				manual.Advance(longestTick)
			}
			require.InDelta(t, float64(time.Hour), float64(b.Snapshot().Latency.Deadline), float64(time.Minute))
			off, manual := sampling(t, Config{Deadline: Off})
			call(off, ctx, func(f func()) { f() })
			manual.Advance(longestTick)
			require.Zero(t, off.Snapshot().Latency.Deadline)
		})
	}
}

// A brake that finds the dependency dead opens: no success is assumed.
func TestBrakeInFrontOfADeadDependencyOpens(t *testing.T) {
	b, manual := healthy(t, Config{Deadline: time.Second})
	traffic(b, manual, 100, 2*theta, always(900*time.Millisecond))
	require.Equal(t, StateHalfOpen, b.State())
	for range netFailures {
		calls(t, b, 1, Failure)
	}
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, 500*time.Millisecond, b.RetryAfter().Round(500*time.Millisecond))
}

// The window grows to what was in flight before the trip in fewer round trips than by tripling.
func TestWindowGrowsToTheLoadBeforeTheTrip(t *testing.T) {
	b, manual := made(t, Config{})
	traffic(b, manual, 500, 20*time.Second, always(200*time.Millisecond))
	for b.State() == StateClosed { // 100 in flight
		calls(t, b, 1, Failure)
		manual.Advance(2 * time.Millisecond)
	}
	manual.Advance(b.RetryAfter())
	rounds := 0
	for ; b.Snapshot().ProbeWindow < 90; rounds++ {
		require.Less(t, rounds, 5)
		var round []*Ticket
		for {
			x, err := b.Acquire()
			if err != nil {
				break
			}
			round = append(round, &x)
		}
		manual.Advance(200 * time.Millisecond)
		for _, x := range round {
			x.Report(Success)
		}
	}
	require.LessOrEqual(t, rounds, 4, "tripling takes five")
}
