package breakerhttp_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

func TestAllSickServesWhatIsPossible(t *testing.T) {
	run := func(maxOpen float64) (served, asked int) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			dice := rand.New(rand.NewPCG(1, 2))
			s := &site{answer: func(*http.Request) (int, error) {
				time.Sleep(20 * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				if dice.Float64() < 0.6 {
					return 500, nil
				}
				return 200, nil
			}}
			pool := newPool(t, s, breakerhttp.PoolConfig{MaxOpen: maxOpen}, "a", "b", "c", "d")
			var clients sync.WaitGroup
			for range 9000 { // 300 a second
				asked++
				clients.Go(func() {
					if status(pool, "POST") == 200 {
						mu.Lock()
						served++
						mu.Unlock()
					}
				})
				time.Sleep(time.Second / 300)
			}
			clients.Wait()
		})
		return served, asked
	}
	served, asked := run(0)
	if possible := 0.4 * float64(asked); float64(served) < 0.9*possible {
		t.Errorf("served %d of %d, want at least 0.9 of the %.0f that are possible", served, asked, possible)
	}
	if without, _ := run(1); without > served*4/5 {
		t.Errorf("with MaxOpen 1 it serves %d too: the test tests nothing", without)
	}
}

func TestAllDeadIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{answer: func(*http.Request) (int, error) { return 500, nil }}
		pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b", "c", "d")
		for range 600 {
			status(pool, "GET")
			time.Sleep(time.Second / 60)
		}
		before := s.total()
		for range 3600 {
			status(pool, "GET")
			time.Sleep(time.Second / 60)
		}
		if got := s.total() - before; got > 360 {
			t.Errorf("in a minute 3600 requests came through %d times, want at most a tenth", got)
		}
	})
}

func TestHeldOpenStaysOpen(t *testing.T) {
	s := &site{answer: func(*http.Request) (int, error) { return 200, nil }}
	pool := newPool(t, s, breakerhttp.PoolConfig{}, "a", "b")
	for _, b := range pool.Backends() {
		b.Breaker().SetMode(atomicbreaker.ForcedOpen)
	}
	if got := status(pool, "GET"); got != 0 || s.total() != 0 {
		t.Errorf("got %d, %d were asked; want a refusal", got, s.total())
	}
}

func TestBehindItsPeers(t *testing.T) {
	for name, row := range map[string]struct {
		answer    func(host string, dice float64) (time.Duration, int)
		low, high int // requests of 3000 that a gets
	}{
		"alike":    {func(_ string, d float64) (time.Duration, int) { return time.Duration(d * 2e7), 200 }, 850, 1150},
		"all slow": {func(_ string, d float64) (time.Duration, int) { return time.Second, 200 }, 850, 1150},
		"all fail": {func(_ string, d float64) (time.Duration, int) { return 0, map[bool]int{true: 500, false: 200}[d < 0.3] }, 700, 1300},
		"one slow": {func(h string, _ float64) (time.Duration, int) {
			return map[bool]time.Duration{true: 100e6, false: 5e6}[h == "a"], 200
		}, 50, 500},
		"one fails": {func(h string, d float64) (time.Duration, int) {
			return 5e6, map[bool]int{true: 500, false: 200}[h == "a" && d < 0.4]
		}, 50, 500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dice := rand.New(rand.NewPCG(3, 4))
				s := &site{answer: func(r *http.Request) (int, error) {
					took, status := row.answer(r.URL.Host, dice.Float64())
					time.Sleep(took)
					return status, nil
				}}
				pool := newPool(t, s, breakerhttp.PoolConfig{Choice: breakerhttp.RoundRobin, Breaker: atomicbreaker.Config{Mode: atomicbreaker.ForcedClosed}}, "a", "b", "c")
				for range 3000 {
					status(pool, "POST")
					time.Sleep(5 * time.Millisecond)
				}
				if n := s.asked["a"]; n < row.low || n > row.high {
					t.Errorf("a got %d of 3000 (%v), want %d to %d", n, s.asked, row.low, row.high)
				}
			})
		})
	}
}
