package dropin_test

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	ours "github.com/atomicbreaker/breaker/contrib/gobreaker"
	theirs "github.com/sony/gobreaker/v2"
)

// What the package comment of contrib/gobreaker says of the original is so. If a
// test fails after an upgrade, the original has changed for the better and the
// comment is to be changed.

var trips = func(theirs.Counts) bool { return true }

// halfOpen returns a breaker of the original that is half-open.
func halfOpen(st theirs.Settings) *theirs.TwoStepCircuitBreaker[int] {
	st.Timeout, st.ReadyToTrip = time.Second, trips
	cb := theirs.NewTwoStepCircuitBreaker[int](st)
	done, _ := cb.Allow()
	done(errTest)
	time.Sleep(time.Second + time.Nanosecond)
	return cb
}

var errTest = errors.New("failed")

func TestOriginalCountsASecondDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := halfOpen(theirs.Settings{MaxRequests: 2})
		done, err := cb.Allow()
		if err != nil {
			t.Fatal(err)
		}
		done(nil)
		done(nil)
		if cb.State() != theirs.StateClosed {
			t.Errorf("state %v: one request, reported twice, has not closed it", cb.State())
		}
	})
}

func TestOriginalWaitsForEverForAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := halfOpen(theirs.Settings{})
		if _, err := cb.Allow(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(365 * 24 * time.Hour)
		if _, err := cb.Allow(); err != theirs.ErrTooManyRequests {
			t.Errorf("got %v after a year", err)
		}
	})
}

func TestOriginalLosesAProbeThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := theirs.NewCircuitBreaker[int](theirs.Settings{Timeout: time.Second, ReadyToTrip: trips})
		cb.Execute(func() (int, error) { return 0, errTest })
		time.Sleep(time.Second + time.Nanosecond)
		over := make(chan struct{})
		go func() {
			defer close(over)
			cb.Execute(func() (int, error) { runtime.Goexit(); return 0, nil })
		}()
		<-over
		time.Sleep(time.Hour)
		if _, err := cb.Execute(func() (int, error) { return 1, nil }); err != theirs.ErrTooManyRequests {
			t.Errorf("got %v an hour later", err)
		}
	})
}

func TestOriginalAsksAPanickingRuleTwice(t *testing.T) {
	failing := func(cb *theirs.CircuitBreaker[int]) {
		defer func() {
			if recover() != "rule" {
				t.Error("the rule's panic did not go on")
			}
		}()
		cb.Execute(func() (int, error) { return 0, errTest })
	}
	cb := theirs.NewCircuitBreaker[int](theirs.Settings{ReadyToTrip: func(theirs.Counts) bool { panic("rule") }})
	failing(cb)
	if c := cb.Counts(); c.Requests != 1 || c.TotalFailures != 2 {
		t.Errorf("ReadyToTrip: %+v, want two failures of one request", c)
	}
	cb = theirs.NewCircuitBreaker[int](theirs.Settings{IsSuccessful: func(error) bool { panic("rule") }})
	failing(cb)
	if c := cb.Counts(); c.Requests != 1 || c.TotalFailures != 0 {
		t.Errorf("IsSuccessful: %+v, want no outcome", c)
	}
}

// A failure whose bucket has left the window.
func TestOriginalAsksAboutNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		cb := theirs.NewTwoStepCircuitBreaker[int](theirs.Settings{
			Interval: 2 * time.Second, BucketPeriod: time.Second,
			ReadyToTrip: func(c theirs.Counts) bool {
				if c.Requests == 0 {
					asked++
				}
				return false
			},
		})
		done, _ := cb.Allow()
		time.Sleep(3 * time.Second)
		done(errTest)
		if asked != 1 {
			t.Errorf("asked %d times about a window without requests", asked)
		}
	})
}

func TestTwoStepAllocations(t *testing.T) {
	one := theirs.NewTwoStepCircuitBreaker[int](theirs.Settings{})
	two := ours.NewTwoStepCircuitBreaker[int](ours.Settings{})
	if n := testing.AllocsPerRun(100, func() { done, _ := one.Allow(); done(nil) }); n != 1 {
		t.Errorf("the original allocates %v objects, want 1", n)
	}
	if n := testing.AllocsPerRun(100, func() { done, _ := two.Allow(); done(nil) }); n != 2 {
		t.Errorf("ours allocates %v objects, want 2", n)
	}
}
