//go:build interleave

package linear

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/bench/lockstep"
	"github.com/atomicbreaker/breaker/verify/sched"
	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

var histories = flag.Uint64("histories", 400, "scheduled histories of each rule")

// TestScheduledHistories takes its histories from schedules drawn from seeds,
// in which another client may go on at every atomic operation: the same seed
// gives the same history.
func TestScheduledHistories(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			began, overlaps, steps, seen := time.Now(), 0, atomic.Steps, verdicts{}
			for seed := range *histories {
				draw := func(client uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 3+client)) }
				rec, err := newRecorder(lockstep.Atomic(), r.rule, func() {})
				if err != nil {
					t.Fatal(err)
				}
				rec.prepare(draw(0))
				chance := []float64{0.02, 0.1, 0.3}[seed%3]
				_, err = sched.Random(seed, chance, sched.Program{Actors: []func(){
					func() { rec.worker(1, 4, draw(1)) },
					func() { rec.worker(2, 4, draw(2)) },
					func() { rec.worker(3, 3, draw(3)) },
					func() { rec.time(4, 3, draw(4)) },
				}})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				rec.finish(draw(5))
				if err := seen.add(rec.check()); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				overlaps += rec.overlaps()
			}
			if atomic.Steps == steps {
				t.Fatal("no atomic operation passed through the scheduler: this is not an instrumented build")
			}
			t.Logf("%v, %d pairs of calls overlapped, %v", &seen, overlaps, time.Since(began).Round(time.Millisecond))
			if !seen.enough() {
				t.Error("too many without a verdict")
			}
		})
	}
}
