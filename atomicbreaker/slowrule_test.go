package atomicbreaker_test

import (
	"context"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// slowly has n calls that take 10 ms and succeed.
func slowly(c *clock.Manual, b *atomicbreaker.Breaker, n int) {
	for range n {
		ticket, _ := b.Acquire()
		c.Advance(10 * time.Millisecond)
		ticket.Done(context.Background(), nil)
	}
}

func TestSlowSuccessDoesNotTripByTheFailureRate(t *testing.T) {
	for _, calls := range []int{0, 10} {
		c := new(clock.Manual)
		b := atomicbreaker.MustNew(atomicbreaker.Config{
			Clock: c, WindowCalls: calls, ConsecutiveFailures: atomicbreaker.Off,
			SlowCallDuration: 10 * time.Millisecond,
		})
		for range 9 {
			ticket, _ := b.Acquire()
			ticket.Report(atomicbreaker.Failure)
		}
		slowly(c, b, 1)
		if b.State() != atomicbreaker.StateClosed {
			t.Errorf("window of calls %d: tripped by %v", calls, b.Snapshot().Reason)
		}
	}
}

func TestQuickFailureFillsTheMinimumOfTheSlowRule(t *testing.T) {
	c := new(clock.Manual)
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Clock: c, FailureRate: atomicbreaker.Off, SlowCallDuration: 10 * time.Millisecond,
	})
	slowly(c, b, 9)
	ticket, _ := b.Acquire()
	ticket.Report(atomicbreaker.Failure)
	if s := b.Snapshot(); s.State != atomicbreaker.StateOpen || s.Reason != atomicbreaker.ReasonSlowCallRate {
		t.Errorf("%v for %v", s.State, s.Reason)
	}
}
