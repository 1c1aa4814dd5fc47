package gobreaker_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gobreaker "github.com/atomicbreaker/breaker/contrib/gobreaker/v1"
	"github.com/stretchr/testify/require"
)

var (
	errFailed = errors.New("failed")
	errBenign = errors.New("benign")
)

func onFirst(gobreaker.Counts) bool { return true }

func run(cb *gobreaker.CircuitBreaker, err error) error {
	_, got := cb.Execute(func() (interface{}, error) { return nil, err })
	return got
}

func TestExecuteGivesWhatTheRequestGives(t *testing.T) {
	for name, rule := range map[string]func(error) bool{"default": nil, "own": func(err error) bool { return err == nil }} {
		t.Run(name, func(t *testing.T) {
			cb := gobreaker.NewCircuitBreaker(gobreaker.Settings{Name: "db", ReadyToTrip: onFirst, IsSuccessful: rule})
			require.Equal(t, "db", cb.Name())
			v, err := cb.Execute(func() (interface{}, error) { return "row", nil })
			require.Equal(t, []any{"row", nil}, []any{v, err})
			wrapped := fmt.Errorf("partly: %w", errFailed)
			v, err = cb.Execute(func() (interface{}, error) { return "half", wrapped })
			require.Equal(t, []any{"half", wrapped}, []any{v, err})
			v, err = cb.Execute(func() (interface{}, error) { return "row", nil })
			require.Nil(t, v)
			require.True(t, err == gobreaker.ErrOpenState, "the bare error, got %v", err)
			require.Equal(t, gobreaker.StateOpen, cb.State())
		})
	}
}

func TestLifeOfABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		cb := gobreaker.NewCircuitBreaker(gobreaker.Settings{
			Name: "cb", MaxRequests: 3, Interval: 30 * time.Second, Timeout: 90 * time.Second,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.Requests >= 3 && 5*c.TotalFailures >= 3*c.Requests },
			OnStateChange: func(name string, from, to gobreaker.State) {
				told = append(told, fmt.Sprintf("%s: %v to %v", name, from, to))
			},
		})
		for range 10 {
			require.NoError(t, run(cb, nil))
		}
		require.Equal(t, gobreaker.Counts{Requests: 10, TotalSuccesses: 10, ConsecutiveSuccesses: 10}, cb.Counts())
		time.Sleep(30*time.Second + time.Nanosecond)
		require.NoError(t, run(cb, nil)) // the interval is over: counted anew
		require.Equal(t, gobreaker.Counts{Requests: 1, TotalSuccesses: 1, ConsecutiveSuccesses: 1}, cb.Counts())
		require.Equal(t, errFailed, run(cb, errFailed))
		require.Equal(t, gobreaker.StateClosed, cb.State())
		require.Equal(t, errFailed, run(cb, errFailed))
		require.Equal(t, gobreaker.StateOpen, cb.State())
		require.Equal(t, gobreaker.ErrOpenState, run(cb, nil))
		time.Sleep(90 * time.Second)
		require.Equal(t, gobreaker.ErrOpenState, run(cb, nil))
		time.Sleep(time.Nanosecond)
		require.Equal(t, gobreaker.StateHalfOpen, cb.State())

		var over sync.WaitGroup
		hold := make(chan struct{})
		for range 3 {
			over.Go(func() {
				_, _ = cb.Execute(func() (interface{}, error) { <-hold; return nil, nil })
			})
		}
		synctest.Wait()
		require.Equal(t, gobreaker.ErrTooManyRequests, run(cb, nil))
		require.Equal(t, gobreaker.Counts{Requests: 3}, cb.Counts())
		close(hold)
		over.Wait()
		require.Equal(t, gobreaker.StateClosed, cb.State())
		require.Equal(t, []string{"cb: closed to open", "cb: open to half-open", "cb: half-open to closed"}, told)
	})
}

func TestDoneTakesABool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		cb := gobreaker.NewTwoStepCircuitBreaker(gobreaker.Settings{
			Name: "two", Timeout: time.Second, IsSuccessful: func(error) bool { asked++; return true },
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures == 2 },
		})
		require.Equal(t, "two", cb.Name())
		for _, success := range []bool{true, false, false} {
			done, err := cb.Allow()
			require.NoError(t, err)
			done(success)
			done(true) // counts no second time
		}
		require.Equal(t, gobreaker.StateOpen, cb.State())
		done, err := cb.Allow()
		require.Nil(t, done)
		require.True(t, err == gobreaker.ErrOpenState)
		time.Sleep(time.Second + time.Nanosecond)
		done, err = cb.Allow()
		require.NoError(t, err)
		require.Equal(t, gobreaker.Counts{Requests: 1}, cb.Counts())
		_, err = cb.Allow()
		require.True(t, err == gobreaker.ErrTooManyRequests)
		done(true)
		require.Equal(t, gobreaker.StateClosed, cb.State())
		require.Zero(t, asked, "what done says needs no rule")
	})
}

func TestIsSuccessful(t *testing.T) {
	var asked []error
	cb := gobreaker.NewCircuitBreaker(gobreaker.Settings{
		IsSuccessful: func(err error) bool { asked = append(asked, err); return err == nil || err == errBenign },
		ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 2 },
	})
	require.Equal(t, errBenign, run(cb, errBenign))
	require.NoError(t, run(cb, nil))
	require.Equal(t, errFailed, run(cb, errFailed))
	require.Equal(t, gobreaker.Counts{Requests: 3, TotalSuccesses: 2, TotalFailures: 1, ConsecutiveFailures: 1}, cb.Counts())
	require.Equal(t, []error{errBenign, nil, errFailed}, asked)

	// It is asked about a result that comes too late, too.
	_, err := cb.Execute(func() (interface{}, error) {
		require.Equal(t, errFailed, run(cb, errFailed)) // opens it
		return nil, errBenign
	})
	require.Equal(t, errBenign, err)
	require.Equal(t, []error{errFailed, errBenign}, asked[3:])
	require.Equal(t, gobreaker.Counts{}, cb.Counts())
}

func TestARequestThatDoesNotReturnIsOneFailure(t *testing.T) {
	for name, rule := range map[string]func(error) bool{
		"default": nil, "forgives all": func(error) bool { return true },
	} {
		cb := gobreaker.NewCircuitBreaker(gobreaker.Settings{IsSuccessful: rule})
		require.PanicsWithValue(t, "oops", func() { _, _ = cb.Execute(func() (interface{}, error) { panic("oops") }) }, name)
		require.Equal(t, gobreaker.Counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1}, cb.Counts(), name)
		var over sync.WaitGroup
		over.Go(func() {
			_, _ = cb.Execute(func() (interface{}, error) { runtime.Goexit(); return nil, nil })
		})
		over.Wait()
		require.Equal(t, gobreaker.Counts{Requests: 2, TotalFailures: 2, ConsecutiveFailures: 2}, cb.Counts(), name)
	}
	cb := gobreaker.NewCircuitBreaker(gobreaker.Settings{IsSuccessful: func(error) bool { panic("rule") }})
	require.PanicsWithValue(t, "rule", func() { _ = run(cb, nil) })
	require.Equal(t, gobreaker.Counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1}, cb.Counts())
}

func TestAllocations(t *testing.T) {
	req := func() (interface{}, error) { return nil, nil }
	plain := gobreaker.NewCircuitBreaker(gobreaker.Settings{})
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = plain.Execute(req) }))
	two := gobreaker.NewTwoStepCircuitBreaker(gobreaker.Settings{})
	require.EqualValues(t, 3, testing.AllocsPerRun(100, func() { done, _ := two.Allow(); done(true) }))
	ruled := gobreaker.NewCircuitBreaker(gobreaker.Settings{IsSuccessful: func(err error) bool { return err == nil }})
	t.Logf("with IsSuccessful: %v", testing.AllocsPerRun(100, func() { _, _ = ruled.Execute(req) }))
}
