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

// Between two edges nobody looks at the clock: the alarm tells when to.
func TestClockIsLookedAtNearEdgesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near := func(b *breaker) bool {
			synctest.Wait()
			return b.near.Load()
		}
		cb := NewCircuitBreaker[int](Settings{
			Interval: 80 * time.Second, BucketPeriod: 8 * time.Second, Timeout: time.Minute,
			ReadyToTrip: func(Counts) bool { return true },
		})
		succeed := func() (int, error) { return 1, nil }
		cb.Execute(succeed)
		cb.Execute(succeed) // the core has been woken by the one before
		for range 5 {
			if near(&cb.b) {
				t.Error("looks at the clock after an edge")
			}
			time.Sleep(7*time.Second - 1)
			if near(&cb.b) {
				t.Error("looks at the clock more than a second before an edge")
			}
			time.Sleep(time.Nanosecond)
			if !near(&cb.b) {
				t.Error("does not look at the clock a second before an edge")
			}
			time.Sleep(time.Second)
			cb.State()
		}
		cb.Execute(func() (int, error) { return 0, errGoexit })
		cb.Execute(succeed) // is refused, and lets the core set its timer
		if near(&cb.b) {
			t.Error("looks at the clock at the beginning of the open state")
		}
		time.Sleep(59*time.Second + 1)
		if !near(&cb.b) {
			t.Error("does not look at the clock a second before the open state ends")
		}
	})
}
