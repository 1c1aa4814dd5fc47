package gobreaker_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// Where the drop-in is better than the original.

func TestSecondDoneDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := gobreaker.NewTwoStepCircuitBreaker[int](gobreaker.Settings{MaxRequests: 2, Timeout: time.Second})
		for range 6 {
			done, err := cb.Allow()
			if err != nil {
				t.Fatal(err)
			}
			done(errFailed)
			if cb.Counts().TotalFailures < 6 && cb.State() == closed {
				before := cb.Counts()
				done(errFailed)
				done(nil)
				if after := cb.Counts(); after != before {
					t.Fatalf("a second done changed %+v to %+v", before, after)
				}
			}
		}
		time.Sleep(time.Second + 1)
		done, err := cb.Allow()
		if err != nil {
			t.Fatal(err)
		}
		done(nil)
		done(nil)
		if cb.State() != halfOpen {
			t.Error("one request, reported twice, closed a breaker that needs two")
		}
		done(errFailed)
		if cb.State() != halfOpen {
			t.Error("a second done opened the breaker")
		}
	})
}

// goexit makes a request that ends its goroutine.
func (r rig) goexit() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.Execute(func() (int, error) { runtime.Goexit(); return 1, nil })
	}()
	<-over
}

func TestGoexitCountsAsFailureAndKeepsNoPlace(t *testing.T) {
	inBubble(t, gobreaker.Settings{Timeout: time.Second, ReadyToTrip: func(c gobreaker.Counts) bool { return c.TotalFailures == 2 }}, func(r rig) {
		r.goexit()
		r.wants(closed, counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
		r.goexit()
		r.wants(open, counts{})
		time.Sleep(time.Second + 1)
		r.goexit()
		r.wants(open, counts{})
		time.Sleep(time.Second + 1)
		r.succeed(1)
		r.wants(closed, counts{})
	})
}

// Requests that never end are given up: after five minutes without a result
// in half-open, or Timeout if that is longer.
func TestHungRequestsAreGivenUp(t *testing.T) {
	for timeout, patience := range map[time.Duration]time.Duration{
		time.Second: 5 * time.Minute, time.Hour: time.Hour,
	} {
		inBubble(t, gobreaker.Settings{MaxRequests: 2, Timeout: timeout, ReadyToTrip: onFirst}, func(r rig) {
			r.halfOpen(timeout)
			time.Sleep(10 * time.Hour) // nobody is waited for
			hung := r.begin()
			time.Sleep(patience / 2)
			r.succeed(1) // a sign of life
			time.Sleep(patience - 1)
			r.wants(halfOpen, counts{Requests: 2, TotalSuccesses: 1, ConsecutiveSuccesses: 1})
			r.refused(gobreaker.ErrTooManyRequests)
			time.Sleep(time.Nanosecond)
			r.refused(gobreaker.ErrOpenState)
			r.wants(open, counts{})
			time.Sleep(timeout + 1)
			r.succeed(1)
			hung(errFailed) // far too late
			r.succeed(1)
			r.wants(closed, counts{})
		})
	}
}

// In the closed state nobody is waited for: a hung request has no effect.
func TestHungRequestsDoNoHarmInClosed(t *testing.T) {
	inBubble(t, gobreaker.Settings{}, func(r rig) {
		hung := r.begin()
		time.Sleep(1000 * time.Hour)
		r.wants(closed, counts{Requests: 1})
		hung(errFailed)
		r.wants(closed, counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
	})
}

// A slow listener delays the request that it is told by, not others.
func TestSlowListenerBlocksNobodyElse(t *testing.T) {
	release := make(chan struct{})
	st := gobreaker.Settings{
		Timeout: time.Second, ReadyToTrip: onFirst,
		OnStateChange: func(_ string, from, _ gobreaker.State) {
			if from == closed {
				<-release
			}
		},
	}
	inBubble(t, st, func(r rig) {
		release = make(chan struct{}) // of the bubble
		over := make(chan struct{})
		go func() { r.end(errFailed); close(over) }()
		synctest.Wait()
		r.refused(gobreaker.ErrOpenState)
		time.Sleep(time.Second + 1)
		r.succeed(1)
		r.wants(closed, counts{})
		r.succeed(1)
		r.wants(closed, counts{Requests: 1, TotalSuccesses: 1, ConsecutiveSuccesses: 1})
		close(release)
		<-over
	})
}
