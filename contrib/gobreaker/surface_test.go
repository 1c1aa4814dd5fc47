package gobreaker_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

func TestStatesHaveTheNumbersAndTextsOfTheOriginal(t *testing.T) {
	for i, text := range []string{"closed", "half-open", "open", "unknown state: 3"} {
		if got := gobreaker.State(i).String(); got != text {
			t.Errorf("state %d is %q, want %q", i, got, text)
		}
	}
	if closed != 0 || halfOpen != 1 || open != 2 {
		t.Error("states are numbered otherwise")
	}
}

func TestErrorsHaveTheTextsOfTheOriginal(t *testing.T) {
	if got := gobreaker.ErrOpenState.Error(); got != "circuit breaker is open" {
		t.Error(got)
	}
	if got := gobreaker.ErrTooManyRequests.Error(); got != "too many requests" {
		t.Error(got)
	}
}

func TestDefaults(t *testing.T) {
	for _, st := range []gobreaker.Settings{{}, {Interval: -1, BucketPeriod: -1, Timeout: -1}} {
		inBubble(t, st, func(r rig) {
			if r.Name() != "" {
				t.Errorf("name %q", r.Name())
			}
			r.wants(closed, counts{})
			r.succeed(1000)
			time.Sleep(365 * 24 * time.Hour) // counts are never cleared
			r.fail(5)
			r.wants(closed, counts{Requests: 1005, TotalSuccesses: 1000, TotalFailures: 5, ConsecutiveFailures: 5})
			r.succeed(1)
			r.fail(5)
			r.wants(closed, counts{Requests: 1011, TotalSuccesses: 1001, TotalFailures: 10, ConsecutiveFailures: 5})
			r.fail(1)
			r.wants(open, counts{})
			r.refused(gobreaker.ErrOpenState)
			time.Sleep(60 * time.Second)
			r.wants(open, counts{})
			time.Sleep(time.Nanosecond)
			r.wants(halfOpen, counts{})
			r.succeed(1)
			r.wants(closed, counts{})
		})
	}
}

func TestExecuteReturnsWhatTheRequestReturns(t *testing.T) {
	cb := gobreaker.NewCircuitBreaker[string](gobreaker.Settings{Name: "db", ReadyToTrip: onFirst})
	if cb.Name() != "db" {
		t.Errorf("name %q", cb.Name())
	}
	if v, err := cb.Execute(func() (string, error) { return "row", nil }); v != "row" || err != nil {
		t.Errorf("got %q, %v", v, err)
	}
	wrapped := fmt.Errorf("partly: %w", errFailed)
	if v, err := cb.Execute(func() (string, error) { return "half", wrapped }); v != "half" || err != wrapped {
		t.Errorf("got %q, %v; want the value beside the error", v, err)
	}
	if v, err := cb.Execute(func() (string, error) { return "row", nil }); v != "" || err != gobreaker.ErrOpenState {
		t.Errorf("got %q, %v; want the zero value and the bare error", v, err)
	}
}

// The open state ends when more than Timeout has passed, and not a nanosecond
// sooner, whether asked by State or by a request.
func TestOpenUntilMoreThanTimeoutHasPassed(t *testing.T) {
	for _, timeout := range []time.Duration{time.Millisecond, 3*time.Second + 7, 24*time.Hour - 1} {
		st := gobreaker.Settings{Timeout: timeout, ReadyToTrip: onFirst}
		inBubble(t, st, func(r rig) {
			r.fail(1)
			time.Sleep(timeout)
			r.wants(open, counts{})
			r.refused(gobreaker.ErrOpenState)
			time.Sleep(time.Nanosecond)
			r.wants(halfOpen, counts{})
			r.fail(1) // and again from here
			time.Sleep(timeout)
			r.refused(gobreaker.ErrOpenState)
			time.Sleep(time.Nanosecond)
			r.succeed(1)
			r.wants(closed, counts{})
		})
	}
}

func TestTimeoutIsKeptWithinItsLimits(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		1: time.Millisecond, 24 * time.Hour: 24*time.Hour - 1, 1<<63 - 1: 24*time.Hour - 1,
	} {
		inBubble(t, gobreaker.Settings{Timeout: given, ReadyToTrip: onFirst}, func(r rig) {
			r.fail(1)
			time.Sleep(want)
			r.wants(open, counts{})
			time.Sleep(time.Nanosecond)
			r.wants(halfOpen, counts{})
		})
	}
}

func TestHalfOpenAdmitsMaxRequestsInAllAndClosesWhenTheySucceed(t *testing.T) {
	for _, max := range []uint32{0, 1, 2, 7} {
		st := gobreaker.Settings{MaxRequests: max, Timeout: time.Second, ReadyToTrip: onFirst}
		inBubble(t, st, func(r rig) {
			n := max
			if n == 0 {
				n = 1
			}
			r.halfOpen(time.Second)
			r.succeed(int(n) - 1)
			end := r.begin()
			r.refused(gobreaker.ErrTooManyRequests) // ended requests take their places still
			r.wants(halfOpen, counts{Requests: n, TotalSuccesses: n - 1, ConsecutiveSuccesses: n - 1})
			end(nil)
			r.wants(closed, counts{})
		})
	}
}

func TestMoreThan1024MaxRequestsAre1024(t *testing.T) {
	inBubble(t, gobreaker.Settings{MaxRequests: 1 << 31, ReadyToTrip: onFirst}, func(r rig) {
		r.halfOpen(time.Minute)
		r.succeed(1023)
		r.wants(halfOpen, counts{Requests: 1023, TotalSuccesses: 1023, ConsecutiveSuccesses: 1023})
		r.succeed(1)
		r.wants(closed, counts{})
	})
}

func TestFirstFailureInHalfOpenOpensAndTheOthersAreTooLate(t *testing.T) {
	inBubble(t, gobreaker.Settings{MaxRequests: 3, ReadyToTrip: onFirst}, func(r rig) {
		r.halfOpen(time.Minute)
		a, b, c := r.begin(), r.begin(), r.begin()
		a(nil)
		b(errFailed)
		r.wants(open, counts{})
		c(nil)
		r.wants(open, counts{})
		time.Sleep(time.Minute + 1)
		r.succeed(2) // of the three that it takes anew
		r.wants(halfOpen, counts{Requests: 2, TotalSuccesses: 2, ConsecutiveSuccesses: 2})
	})
}

func TestExcludedRequestsGiveTheirPlaceBack(t *testing.T) {
	inBubble(t, excluding(gobreaker.Settings{MaxRequests: 2, ReadyToTrip: onFirst}), func(r rig) {
		r.exclude(3)
		r.wants(closed, counts{Requests: 3, TotalExclusions: 3})
		r.halfOpen(time.Minute)
		a, b := r.begin(), r.begin()
		r.refused(gobreaker.ErrTooManyRequests)
		a(errExcluded)
		b(errExcluded)
		r.wants(halfOpen, counts{Requests: 2, TotalExclusions: 2})
		r.exclude(5)
		r.succeed(1)
		r.wants(halfOpen, counts{Requests: 8, TotalExclusions: 7, TotalSuccesses: 1, ConsecutiveSuccesses: 1})
		r.succeed(1)
		r.wants(closed, counts{})
	})
}

// IsExcluded is asked first, IsSuccessful about what is left, both about every
// result, nil too.
func TestClassifiers(t *testing.T) {
	var asked []string
	benign := errors.New("benign")
	st := gobreaker.Settings{
		IsExcluded: func(err error) bool {
			asked = append(asked, fmt.Sprint("excluded? ", err))
			return err == errExcluded
		},
		IsSuccessful: func(err error) bool {
			asked = append(asked, fmt.Sprint("successful? ", err))
			return err == nil || err == benign
		},
	}
	inBubble(t, st, func(r rig) {
		r.admitted(1, nil)
		r.admitted(1, benign)
		r.exclude(1)
		r.fail(1)
		r.wants(closed, counts{Requests: 4, TotalSuccesses: 2, TotalExclusions: 1, TotalFailures: 1, ConsecutiveFailures: 1})
	})
	want := "excluded? <nil>, successful? <nil>, excluded? benign, successful? benign, " +
		"excluded? excluded, excluded? failed, successful? failed"
	if got := strings.Join(asked, ", "); got != want {
		t.Errorf("asked\n%s, want\n%s", got, want)
	}
}

func TestASuccessfulErrorEndsAStreakAndCloses(t *testing.T) {
	st := gobreaker.Settings{IsSuccessful: func(err error) bool { return err != errFailed }}
	inBubble(t, st, func(r rig) {
		r.fail(5)
		r.admitted(1, errExcluded)
		r.fail(5)
		r.wants(closed, counts{Requests: 11, TotalSuccesses: 1, TotalFailures: 10, ConsecutiveFailures: 5})
		r.halfOpen(time.Minute)
		r.admitted(1, errExcluded)
		r.wants(closed, counts{})
	})
}

// ReadyToTrip is asked about failures of the closed state only, with counts
// that include the failure.
func TestReadyToTripIsAskedAfterFailuresOfTheClosedState(t *testing.T) {
	var asked []counts
	trip := false
	st := excluding(gobreaker.Settings{ReadyToTrip: func(c gobreaker.Counts) bool {
		asked = append(asked, c)
		return trip
	}})
	inBubble(t, st, func(r rig) {
		r.succeed(2)
		r.exclude(1)
		r.fail(2)
		trip = true
		r.fail(1)
		r.wants(open, counts{})
		time.Sleep(time.Minute + 1)
		r.fail(1) // in half-open
	})
	want := []counts{
		{Requests: 4, TotalSuccesses: 2, TotalExclusions: 1, TotalFailures: 1, ConsecutiveFailures: 1},
		{Requests: 5, TotalSuccesses: 2, TotalExclusions: 1, TotalFailures: 2, ConsecutiveFailures: 2},
		{Requests: 6, TotalSuccesses: 2, TotalExclusions: 1, TotalFailures: 3, ConsecutiveFailures: 3},
	}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked about\n%+v, want\n%+v", asked, want)
	}
}

func TestPanicIsCountedAndGoesOn(t *testing.T) {
	var seen []string
	st := gobreaker.Settings{IsSuccessful: func(err error) bool {
		seen = append(seen, fmt.Sprint(err))
		return err == nil
	}}
	inBubble(t, st, func(r rig) {
		oops := func(v any) (got any) {
			defer func() { got = recover() }()
			r.Execute(func() (int, error) { panic(v) })
			return nil
		}
		if got := oops("oops"); got != "oops" {
			t.Errorf("panicked with %v, want the request's own value", got)
		}
		if got := oops(errFailed); got != errFailed {
			t.Errorf("panicked with %v, want the request's own value", got)
		}
		if _, ok := oops(nil).(*runtime.PanicNilError); !ok {
			t.Error("panic(nil) did not go on")
		}
		r.wants(closed, counts{Requests: 3, TotalFailures: 3, ConsecutiveFailures: 3})
	})
	if len(seen) != 3 || seen[0] != "oops" || seen[1] != "failed" {
		t.Errorf("IsSuccessful was asked about %q", seen)
	}
}

func TestTwoStepBreakerIsToldAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		cb := gobreaker.NewTwoStepCircuitBreaker[bool](excluding(gobreaker.Settings{
			Name: "queue", MaxRequests: 2, Timeout: time.Second,
			OnStateChange: func(name string, from, to gobreaker.State) {
				told = append(told, fmt.Sprintf("%s %v-%v", name, from, to))
			},
		}))
		if cb.Name() != "queue" {
			t.Errorf("name %q", cb.Name())
		}
		allow := func() func(error) {
			t.Helper()
			done, err := cb.Allow()
			if err != nil || done == nil {
				t.Fatalf("not admitted: %v", err)
			}
			return done
		}
		refused := func(want error) {
			t.Helper()
			if done, err := cb.Allow(); done != nil || err != want {
				t.Fatalf("got %v, want nothing and %v", err, want)
			}
		}
		late := allow()
		for range 6 {
			allow()(errFailed)
		}
		refused(gobreaker.ErrOpenState)
		late(nil)
		if cb.State() != open || cb.Counts() != (counts{}) {
			t.Errorf("%v with %+v", cb.State(), cb.Counts())
		}
		time.Sleep(time.Second + 1)
		a, b := allow(), allow()
		refused(gobreaker.ErrTooManyRequests)
		a(errExcluded)
		c := allow()
		refused(gobreaker.ErrTooManyRequests)
		over := make(chan struct{})
		go func() { b(nil); close(over) }() // from any goroutine
		<-over
		if want := (counts{Requests: 3, TotalSuccesses: 1, TotalExclusions: 1, ConsecutiveSuccesses: 1}); cb.Counts() != want {
			t.Errorf("counts %+v, want %+v", cb.Counts(), want)
		}
		c(nil)
		if cb.State() != closed {
			t.Errorf("state %v, want closed", cb.State())
		}
		if got := strings.Join(told, ", "); got != "queue closed-open, queue open-half-open, queue half-open-closed" {
			t.Errorf("told of %s", got)
		}
	})
}
