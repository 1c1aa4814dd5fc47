package gobreaker_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

func TestAllocations(t *testing.T) {
	succeed := func() (int, error) { return 1, nil }
	fail := func() (int, error) { return 1, errFailed }
	st := gobreaker.Settings{Interval: time.Hour, BucketPeriod: time.Minute, Timeout: time.Hour}
	st.ReadyToTrip = func(gobreaker.Counts) bool { return false }
	cb := gobreaker.NewCircuitBreaker[int](st)
	two := gobreaker.NewTwoStepCircuitBreaker[int](st)
	st.ReadyToTrip = onFirst
	openOne := gobreaker.NewCircuitBreaker[int](st)
	openOne.Execute(fail)
	openTwo := gobreaker.NewTwoStepCircuitBreaker[int](st)
	done, _ := openTwo.Allow()
	done(errFailed)
	for name, test := range map[string]struct {
		f    func()
		want float64
	}{
		"success":             {func() { cb.Execute(succeed) }, 0},
		"failure":             {func() { cb.Execute(fail) }, 0},
		"state":               {func() { cb.State() }, 0},
		"counts":              {func() { cb.Counts() }, 0},
		"refusal":             {func() { openOne.Execute(succeed) }, 0},
		"refusal in two-step": {func() { openTwo.Allow() }, 0},
		"two-step":            {func() { done, _ := two.Allow(); done(nil) }, 2},
	} {
		if got := testing.AllocsPerRun(1000, test.f); got != test.want {
			t.Errorf("%s allocates %v times, want %v", name, got, test.want)
		}
	}
}

// Nobody has to close a breaker: it is collected in any state, with an alarm set
// or not, and had no goroutine.
func TestDroppedBreakersAreCollected(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	st := gobreaker.Settings{Interval: time.Hour, Timeout: time.Hour, ReadyToTrip: onFirst}
	var dropped []weak.Pointer[gobreaker.CircuitBreaker[int]]
	for trip := range 2 {
		cb := gobreaker.NewCircuitBreaker[int](st)
		cb.Execute(func() (int, error) { return 1, []error{nil, errFailed}[trip] })
		cb.State()
		dropped = append(dropped, weak.Make(cb))
	}
	if extra := runtime.NumGoroutine() - goroutines; extra > 0 {
		t.Errorf("%d goroutines for two breakers", extra)
	}
	for range 5 {
		runtime.GC()
	}
	for i, p := range dropped {
		if p.Value() != nil {
			t.Errorf("breaker %d is still there", i)
		}
	}
}
