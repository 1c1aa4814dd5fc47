package breakerhttp_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func TestRetryStorm(t *testing.T) {
	// Breakers that never open leave all to the budget.
	for _, mode := range []atomicbreaker.Mode{atomicbreaker.Auto, atomicbreaker.ForcedClosed} {
		for _, rate := range []int{10, 60, 600} {
			synctest.Test(t, func(t *testing.T) {
				sick := false
				s := &site{answer: func(*http.Request) (int, error) {
					if sick {
						return 503, nil
					}
					return 200, nil
				}}
				pool := newPool(t, s, breakerhttp.PoolConfig{Breaker: atomicbreaker.Config{Mode: mode}}, "a", "b", "c")
				run := func(d time.Duration) (requests, got int) {
					before := s.total()
					for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second / time.Duration(rate)) {
						requests++
						status(pool, "GET")
					}
					return requests, s.total() - before
				}
				run(20 * time.Second)
				sick = true
				for i, most := range []float64{1.05, 1.01, 1.01, 1.01, 1.01, 1.01} {
					requests, got := run(10 * time.Second)
					if float64(got) > most*float64(requests) {
						t.Errorf("%v, %d/s, %d s into the outage: %d for %d requests, want at most %v times", mode, rate, 10*i, got, requests, most)
					}
				}
				sick = false
				run(10 * time.Second)
				first := true
				s.answer = func(*http.Request) (int, error) {
					if first {
						first = false
						return 503, nil
					}
					return 200, nil
				}
				if got := status(pool, "GET"); got != 200 {
					t.Errorf("%v, %d/s: got %d after the outage, want the budget back", mode, rate, got)
				}
			})
		}
	}
}

func TestBudgetIsRefilledByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: func(*http.Request) (int, error) { return 503, nil }}
		pool := newPool(t, s, breakerhttp.PoolConfig{Breaker: atomicbreaker.Config{Mode: atomicbreaker.ForcedClosed}}, "a", "b")
		for range 20 {
			status(pool, "GET")
		}
		if n := s.total(); n != 23 {
			t.Fatalf("%d for 20 requests, want 3 repetitions and no more", n)
		}
		time.Sleep(time.Minute)
		status(pool, "GET")
		if n := s.total(); n != 25 {
			t.Errorf("a minute later %d, want a repetition", n-23)
		}
	})
}

func TestRetriesBoundedByShare(t *testing.T) {
	for _, share := range []float64{0.1, 0.5, atomicbreaker.Off} {
		synctest.Test(t, func(t *testing.T) {
			s := &site{answer: func(r *http.Request) (int, error) {
				if r.URL.Host == "a" {
					return 503, nil
				}
				return 200, nil
			}}
			pool := newPool(t, s, breakerhttp.PoolConfig{
				Choice: breakerhttp.RoundRobin, RetryShare: share, Outlier: atomicbreaker.Off,
				Breaker: atomicbreaker.Config{Mode: atomicbreaker.ForcedClosed},
			}, "a", "b")
			served := 0
			for range 1000 {
				if status(pool, "GET") == 200 {
					served++
				}
				time.Sleep(10 * time.Millisecond)
			}
			want := 500 + int(1000*max(share, 0))
			if served < want-60 || served > want+60 {
				t.Errorf("RetryShare %v: %d of 1000 served, want about %d", share, served, want)
			}
		})
	}
}

func TestAMendedBackendGetsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sick := false
		s := &site{answer: func(r *http.Request) (int, error) {
			time.Sleep(time.Millisecond)
			if sick && r.URL.Host == "a" {
				return 503, nil
			}
			return 200, nil
		}}
		pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
		run := func(d time.Duration) (failed, a int) {
			before := s.asked["a"]
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second / 60) {
				if status(pool, "GET") != 200 {
					failed++
				}
			}
			return failed, s.asked["a"] - before
		}
		run(5 * time.Second)
		sick = true
		failed, _ := run(10 * time.Second)
		sick = false
		again, _ := run(3 * time.Second)
		_, a := run(4 * time.Second)
		if failed+again != 0 {
			t.Errorf("%d requests failed that another backend could have served", failed+again)
		}
		if a < 80 || a > 160 || pool.Backends()[0].Share() != 1 {
			t.Errorf("3 s after it is well it gets %d of 240, and %v of its share", a, pool.Backends()[0].Share())
		}
	})
}
