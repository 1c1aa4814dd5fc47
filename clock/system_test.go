package clock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

func TestSystemFollowsABubblesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.System()
		require.Zero(t, c.Now(), "its epoch is the call that made it")
		time.Sleep(24 * time.Hour)
		require.Equal(t, 24*time.Hour, c.Now())
		later := clock.System()
		require.Zero(t, later.Now(), "each has an epoch of its own")
		time.Sleep(time.Nanosecond)
		require.Equal(t, 24*time.Hour+1, c.Now())
		require.EqualValues(t, 1, later.Now())
	})
}

func TestSystemTimersRunAtTheirInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.System()
		var mu sync.Mutex
		var at []time.Duration
		note := func() {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, c.Now())
		}
		timer := c.AfterFunc(time.Second, note)
		c.AfterFunc(-time.Hour, note)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []time.Duration{0, time.Second}, at)
		require.False(t, timer.Reset(time.Minute))
		require.True(t, timer.Reset(time.Hour))
		require.True(t, timer.Stop())
		require.False(t, timer.Stop())
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Len(t, at, 2)
	})
}

func TestSystemNeverStepsBack(t *testing.T) {
	c := clock.System()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			last := c.Now()
			for range 10_000 {
				now := c.Now()
				if now < last || now < 0 {
					t.Errorf("%v after %v", now, last)
					return
				}
				last = now
			}
		})
	}
	all.Wait()
}
