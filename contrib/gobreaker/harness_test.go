package gobreaker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// What a program that moves from sony/gobreaker goes by is tested here as its
// documentation says it and as it was seen to do. bench/peers/dropin holds the
// two side by side.

var (
	errFailed   = errors.New("failed")
	errExcluded = errors.New("excluded")
)

type counts = gobreaker.Counts

// rig is a breaker in a bubble of fake time.
type rig struct {
	*gobreaker.CircuitBreaker[int]
	t *testing.T
}

// inBubble runs a test with a breaker in fake time.
func inBubble(t *testing.T, st gobreaker.Settings, test func(rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(rig{gobreaker.NewCircuitBreaker[int](st), t})
	})
}

func (r rig) end(err error) error {
	_, got := r.Execute(func() (int, error) { return 1, err })
	return got
}

// succeed, fail and exclude make requests that must be admitted.
func (r rig) succeed(times int) { r.t.Helper(); r.admitted(times, nil) }
func (r rig) fail(times int)    { r.t.Helper(); r.admitted(times, errFailed) }
func (r rig) exclude(times int) { r.t.Helper(); r.admitted(times, errExcluded) }

func (r rig) admitted(times int, err error) {
	r.t.Helper()
	for i := range times {
		if got := r.end(err); got != err {
			r.t.Fatalf("request %d of %d returned %v, want its own %v", i+1, times, got, err)
		}
	}
}

// refused makes a request that must be refused.
func (r rig) refused(want error) {
	r.t.Helper()
	v, err := r.Execute(func() (int, error) {
		r.t.Error("a refused request was run")
		return 1, nil
	})
	if v != 0 || err != want {
		r.t.Fatalf("got %d, %v; want a refusal with 0, %v", v, err, want)
	}
}

func (r rig) wants(state gobreaker.State, c counts) {
	r.t.Helper()
	if got := r.State(); got != state {
		r.t.Fatalf("state %v, want %v", got, state)
	}
	r.counted(c)
}

// counted looks at the counts without asking for the state first.
func (r rig) counted(c counts) {
	r.t.Helper()
	if got := r.Counts(); got != c {
		r.t.Fatalf("counts\n%+v, want\n%+v", got, c)
	}
}

// halfOpen trips a breaker and lets its timeout pass.
func (r rig) halfOpen(timeout time.Duration) {
	r.t.Helper()
	for r.State() == gobreaker.StateClosed {
		r.fail(1)
	}
	time.Sleep(timeout + 1)
	if got := r.State(); got != gobreaker.StateHalfOpen {
		r.t.Fatalf("state %v after the timeout, want half-open", got)
	}
}

// begin starts a request that ends when it is told how.
func (r rig) begin() (end func(error)) {
	how, over := make(chan error), make(chan struct{})
	go func() {
		defer close(over)
		r.Execute(func() (int, error) { return 1, <-how })
	}()
	synctest.Wait()
	return func(err error) {
		how <- err
		<-over
	}
}

// excluding are settings that leave errExcluded out.
func excluding(st gobreaker.Settings) gobreaker.Settings {
	st.IsExcluded = func(err error) bool { return err == errExcluded }
	return st
}

// onFirst trips on the first failure.
func onFirst(gobreaker.Counts) bool { return true }

const (
	closed   = gobreaker.StateClosed
	open     = gobreaker.StateOpen
	halfOpen = gobreaker.StateHalfOpen
)
