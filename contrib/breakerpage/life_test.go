package breakerpage

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/stretchr/testify/require"
)

// TestReadsByItself at its interval, until it is closed.
func TestReadsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w breakerwatch.Watch
		page, err := New(&w, nil)
		require.NoError(t, err)
		ticks := func() uint64 {
			page.mu.Lock()
			defer page.mu.Unlock()
			return page.board.tick
		}
		require.EqualValues(t, 1, ticks())
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 11, ticks())
		page.Close()
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 11, ticks())
	})
}

// TestAPageThatNobodyHoldsEnds: its goroutine holds it weakly.
func TestAPageThatNobodyHoldsEnds(t *testing.T) {
	var w breakerwatch.Watch
	require.NoError(t, w.Add(atomicbreaker.MustNew(atomicbreaker.Config{})))
	before := runtime.NumGoroutine()
	page, err := New(&w, &Options{Interval: 100 * time.Millisecond})
	require.NoError(t, err)
	require.Greater(t, runtime.NumGoroutine(), before)
	held := weak.Make(page)
	page = nil
	_ = page
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		runtime.GC()
		if held.Value() == nil && runtime.NumGoroutine() <= before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("collected: %v; %d goroutines, %d before", held.Value() == nil, runtime.NumGoroutine(), before)
		}
	}
}
