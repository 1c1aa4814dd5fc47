package atomicbreaker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Classes see their parts of the probe window; at least one place is everybody's.
func TestClassesSeeTheirPartOfTheWindow(t *testing.T) {
	ctx := t.Context()
	for class, want := range map[Class][]int{Critical: {1, 2, 3, 4, 100}, Normal: {1, 1, 1, 2, 50}, Sheddable: {1, 1, 1, 1, 25}} {
		for i, window := range []int{1, 2, 3, 4, 100} {
			b, _ := made(t, Config{})
			jump(b, pack(phaseHalfOpen, Auto, 0, window, 0))
			n := 0
			for ; ; n++ {
				if _, err := b.AcquireContext(WithClass(ctx, class)); err != nil {
					require.ErrorIs(t, err, ErrProbeLimit)
					break
				}
			}
			require.Equal(t, want[i], n, "%v of %d", class, window)
			for _, others := range []context.Context{ctx, nil, WithClass(ctx, Critical)} {
				if n < window {
					_, err := b.AcquireContext(others)
					require.NoError(t, err, "a call that matters more")
					n++
				}
			}
		}
	}
	require.PanicsWithValue(t, "atomicbreaker: unknown class 3: want Critical, Normal or Sheddable", func() { WithClass(ctx, 3) })
}

// In closed and open there are no classes.
func TestClassesAreForHalfOpenAlone(t *testing.T) {
	ctx := WithClass(t.Context(), Sheddable)
	b, _ := made(t, Config{})
	for range 100 {
		_, err := b.AcquireContext(ctx)
		require.NoError(t, err)
	}
	b.Trip()
	_, err := b.AcquireContext(WithClass(ctx, Critical))
	require.ErrorIs(t, err, ErrOpen)
}

// surge runs a dependency of 400 calls a second with a queue, 100 critical calls a second, and for
// ten seconds eleven times as many others. It returns the share of critical calls that were answered within the second
// that callers wait, from the surge's begin on.
func surge(t testing.TB, class Class) float64 {
	t.Helper()
	b, manual := made(t, Config{Deadline: time.Second})
	var free time.Duration // when the dependency has done what it has been sent
	served, all := 0, 0
	call := func(ctx context.Context, critical bool) {
		if critical {
			all++
		}
		x, err := b.AcquireContext(ctx)
		if err != nil {
			return
		}
		free = max(free, manual.Now()) + time.Second/400
		latency := free - manual.Now() + 30*time.Millisecond
		if latency > time.Second {
			manual.AfterFunc(time.Second, func() { x.Report(Failure) })
			return
		}
		if critical {
			served++
		}
		manual.AfterFunc(latency, func() { x.Report(Success) })
	}
	vital, other := WithClass(context.Background(), Critical), WithClass(context.Background(), class)
	run := func(length time.Duration, each int) {
		for end := manual.Now() + length; manual.Now() < end; manual.Advance(10 * time.Millisecond) {
			call(vital, true)
			for range each {
				call(other, false)
			}
		}
	}
	run(30*time.Second, 0)
	served, all = 0, 0
	run(10*time.Second, 11)
	run(10*time.Second, 0)
	return float64(served) / float64(all)
}

// In a surge to twelve times by calls that can be shed nearly all critical ones are served.
func TestCriticalCallsAreServedInASurge(t *testing.T) {
	alike, shed := surge(t, Critical), surge(t, Sheddable)
	t.Logf("served: %.4f of the critical calls among others like them, %.4f among sheddable ones", alike, shed)
	require.GreaterOrEqual(t, shed, 0.994)
	require.Less(t, alike, 0.96)
}
