package gobreaker_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// coherent checks what must hold of any copy of the counts.
func coherent(t *testing.T, c counts, rolling bool) {
	if c.Requests < c.TotalSuccesses+c.TotalFailures+c.TotalExclusions {
		t.Errorf("outcomes without requests: %+v", c)
	}
	if rolling {
		return // a streak may outlive the buckets it began in
	}
	if c.ConsecutiveFailures > c.TotalFailures || c.ConsecutiveSuccesses > c.TotalSuccesses {
		t.Errorf("a streak without outcomes: %+v", c)
	}
	if c.ConsecutiveFailures > 0 && c.ConsecutiveSuccesses > 0 {
		t.Errorf("two streaks at once: %+v", c)
	}
}

// With many callers no outcome is lost or counted twice.
func TestNothingIsLostBetweenCallers(t *testing.T) {
	const callers, each = 8, 3000
	for _, period := range []time.Duration{0, time.Minute} {
		st := excluding(gobreaker.Settings{Interval: time.Hour, BucketPeriod: period})
		st.ReadyToTrip = func(c gobreaker.Counts) bool { coherent(t, c, period > 0); return false }
		cb := gobreaker.NewCircuitBreaker[int](st)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for i := range each {
					err := []error{nil, errFailed, errExcluded}[i%3]
					if _, got := cb.Execute(func() (int, error) { return 1, err }); got != err {
						t.Errorf("got %v, want %v", got, err)
						return
					}
					coherent(t, cb.Counts(), period > 0)
				}
			})
		}
		wg.Wait()
		got := cb.Counts()
		got.ConsecutiveFailures, got.ConsecutiveSuccesses = 0, 0
		const n = callers * each
		if want := (counts{Requests: n, TotalSuccesses: n / 3, TotalFailures: n / 3, TotalExclusions: n / 3}); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
	}
}

// A streak that nothing ends is as long as there were requests.
func TestStreaksOfManyCallersAreWhole(t *testing.T) {
	const callers, each = 8, 3000
	for _, err := range []error{nil, errFailed} {
		cb := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
			Interval: time.Hour, BucketPeriod: time.Minute,
			ReadyToTrip: func(gobreaker.Counts) bool { return false },
		})
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					cb.Execute(func() (int, error) { return 1, err })
				}
			})
		}
		wg.Wait()
		if c := cb.Counts(); c.ConsecutiveSuccesses+c.ConsecutiveFailures != callers*each {
			t.Errorf("%+v after %d requests that all returned %v", c, callers*each, err)
		}
	}
}

// However many callers come through however many changes of state, these are
// told one at a time and each from where the last one led, and the breaker still
// works afterwards.
func TestManyCallersThroughManyChanges(t *testing.T) {
	const callers, rounds = 8, 300
	synctest.Test(t, func(t *testing.T) {
		var telling atomic.Int32
		last, told := closed, 0
		st := excluding(gobreaker.Settings{
			MaxRequests: 3, Interval: 50 * time.Millisecond, BucketPeriod: 10 * time.Millisecond, Timeout: 5 * time.Millisecond,
			ReadyToTrip: func(c gobreaker.Counts) bool {
				coherent(t, c, true)
				if c.Requests == 0 {
					t.Error("asked about no requests")
				}
				return c.TotalFailures >= 5
			},
			OnStateChange: func(_ string, from, to gobreaker.State) {
				if telling.Add(1) != 1 {
					t.Error("told twice at once")
				}
				if from != last {
					t.Errorf("told of %v to %v after %v", from, to, last)
				}
				last = to
				told++
				telling.Add(-1)
			},
		})
		cb := gobreaker.NewTwoStepCircuitBreaker[int](st)
		var wg sync.WaitGroup
		for id := range callers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(id)))
				for range rounds {
					call(cb, r)
					coherent(t, cb.Counts(), true)
				}
			})
		}
		wg.Wait()
		if told < 20 {
			t.Errorf("only %d changes of state", told)
		}
		for cb.State() != closed { // and it still works
			if done, err := cb.Allow(); err == nil {
				done(nil)
			} else {
				time.Sleep(6 * time.Millisecond)
			}
		}
	})
}

// call makes one request that takes some time or none and ends somehow.
func call(cb *gobreaker.TwoStepCircuitBreaker[int], r *rand.Rand) {
	done, err := cb.Allow()
	if err != nil {
		time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
		return
	}
	switch r.IntN(4) {
	case 0:
		time.Sleep(time.Duration(r.IntN(12)) * time.Millisecond)
	case 1:
		runtime.Gosched()
	}
	done([]error{nil, nil, nil, nil, errFailed, errExcluded}[r.IntN(6)])
}

// Of a herd of callers exactly the limit gets through.
func TestLimitHoldsAgainstAHerd(t *testing.T) {
	const limit = 5
	for range 50 {
		st := gobreaker.Settings{MaxRequests: limit, Timeout: time.Second, ReadyToTrip: onFirst}
		inBubble(t, st, func(r rig) {
			r.halfOpen(time.Second)
			var admitted, refused atomic.Int32
			release := make(chan struct{})
			var wg sync.WaitGroup
			for range 40 {
				wg.Go(func() {
					_, err := r.Execute(func() (int, error) { admitted.Add(1); <-release; return 1, nil })
					if err == gobreaker.ErrTooManyRequests {
						refused.Add(1)
					}
				})
			}
			synctest.Wait()
			if admitted.Load() != limit || refused.Load() != 35 {
				t.Errorf("%d admitted and %d refused, want %d and 35", admitted.Load(), refused.Load(), limit)
			}
			r.counted(counts{Requests: limit})
			close(release)
			wg.Wait()
			r.wants(closed, counts{})
		})
	}
}
