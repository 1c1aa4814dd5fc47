package gobreaker

import (
	"testing"
	"testing/synctest"
	"time"
)

// A request that comes between a change of the core's state and the change of
// the frame that follows it counts in the state that has admitted it.
func TestRequestCountsInTheStateThatAdmittedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := NewCircuitBreaker[int](Settings{
			Interval: time.Minute, Timeout: time.Second, ReadyToTrip: func(Counts) bool { return true },
		})
		b := &cb.b
		before := b.frame.Load()
		cb.Execute(func() (int, error) { return 0, errGoexit })
		time.Sleep(time.Second + 1)
		if got := cb.State(); got != StateHalfOpen {
			t.Fatalf("state %v, want half-open", got)
		}
		b.frame.Store(before) // as a request sees it that was quicker than what follows
		_, err := cb.Execute(func() (int, error) {
			if got := cb.Counts(); got != (Counts{Requests: 1}) {
				t.Errorf("counts %+v, want the one request", got)
			}
			return 1, nil
		})
		if err != nil {
			t.Errorf("got %v: the place was not given back", err)
		}
		if got := cb.State(); got != StateClosed {
			t.Errorf("state %v, want closed", got)
		}
		if got := cb.Counts(); got != (Counts{}) {
			t.Errorf("counts %+v, want none", got)
		}
	})
}

// Between two edges nobody looks at the clock: an alarm tells when to, and one
// who looks too early sets another.
func TestClockIsLookedAtNearEdgesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := NewCircuitBreaker[int](Settings{
			Interval: 80 * time.Second, BucketPeriod: 8 * time.Second, Timeout: time.Hour,
			ReadyToTrip: func(Counts) bool { return true },
		})
		near := func(want bool, left time.Duration) {
			t.Helper()
			synctest.Wait()
			if got := cb.b.near.Load(); got != want {
				t.Errorf("%v before an edge: looks at the clock: %v, want %v", left, got, want)
			}
		}
		succeed := func() (int, error) { return 1, nil }
		cb.Execute(succeed)
		cb.Execute(succeed) // the core has been woken by the one before
		for range 5 {
			near(false, 8*time.Second)
			time.Sleep(7*time.Second - time.Nanosecond)
			near(false, time.Second+time.Nanosecond)
			time.Sleep(time.Nanosecond)
			near(true, time.Second)
			cb.State()
			near(false, time.Second)
			time.Sleep(875 * time.Millisecond)
			near(true, 125*time.Millisecond)
			cb.State()
			near(false, 125*time.Millisecond)
			time.Sleep(105 * time.Millisecond)
			cb.State()
			near(true, 20*time.Millisecond) // from here on for all
			time.Sleep(20 * time.Millisecond)
			cb.State()
		}
		cb.Execute(func() (int, error) { return 0, errGoexit })
		cb.Execute(succeed) // is refused, and lets the core set its timer
		for left := time.Hour; left > 20*time.Minute; left -= 10 * time.Minute {
			near(false, left)
			time.Sleep(10 * time.Minute) // no alarm is set for longer
			near(true, left-10*time.Minute)
			cb.State()
		}
	})
}
