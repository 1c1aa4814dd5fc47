//go:build !interleave

package linear

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/bench/lockstep"
)

var rules = []struct {
	name string
	rule rule
}{
	{"window", rule{}},
	{"one probe", rule{1, 1, 1}},
	{"two of three probes", rule{3, 2, 2}},
}

// record makes a history of two workers and a clock on goroutines that give
// way by chance.
func record(impl lockstep.Implementation, r rule, seed uint64) (*recorder, error) {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 2))
	rec, err := newRecorder(impl, r, func() {
		mu.Lock()
		n := rnd.IntN(4)
		mu.Unlock()
		for range n {
			runtime.Gosched()
		}
	})
	if err != nil {
		return nil, err
	}
	draw := func(client uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 3+client)) }
	rec.prepare(draw(0))
	var all sync.WaitGroup
	all.Go(func() { rec.worker(1, 6, draw(1)) })
	all.Go(func() { rec.worker(2, 6, draw(2)) })
	all.Go(func() { rec.worker(3, 4, draw(3)) })
	all.Go(func() { rec.time(4, 3, draw(4)) })
	all.Wait()
	rec.finish(draw(5))
	return rec, nil
}

const (
	histories      = 1500 // of each implementation and rule
	historiesShort = 300
)

// TestHistories checks the lock-free breaker and the one behind a mutex
// against one model.
func TestHistories(t *testing.T) {
	n := uint64(histories)
	if testing.Short() {
		n = historiesShort
	}
	for _, impl := range []lockstep.Implementation{lockstep.Atomic(), lockstep.Mutex()} {
		for _, r := range rules {
			t.Run(impl.Name+"/"+r.name, func(t *testing.T) {
				began, overlaps := time.Now(), 0
				for seed := range n {
					rec, err := record(impl, r.rule, seed)
					if err != nil {
						t.Fatal(err)
					}
					b4 := time.Now()
					if err := rec.check(); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if d := time.Since(b4); d > 500*time.Millisecond {
						t.Logf("seed %d took %v, %d ops, %d overlaps", seed, d, len(rec.ops), rec.overlaps())
					}
					overlaps += rec.overlaps()
				}
				t.Logf("%d histories, %d pairs of calls overlapped, %v", n, overlaps, time.Since(began).Round(time.Millisecond))
				if overlaps == 0 {
					t.Error("no two calls overlapped: nothing was tested")
				}
			})
		}
	}
}
