package failfast

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/latency"
)

// heldUp is the span from which a call was not slow but held up: the scheduler
// or the machine took the processor away in the middle of it. No refusal of a
// breaker without a lock has anything to do for so long.
const heldUp = 10 * time.Microsecond

// hammer makes calls from many goroutines for a short while.
type hammer struct {
	goroutines int
	watch      *latency.Stopwatch
}

// timed measures every call by itself.
func (h hammer) timed(ctx context.Context, v variant, d time.Duration, cutoff int64) (*latency.Record, error) {
	each := make([]*latency.Record, h.goroutines)
	for i := range each {
		each[i] = latency.NewRecord(cutoff)
	}
	now := h.watch.Now
	_, _, err := h.together(ctx, v, d, func(worker int, stop *atomic.Bool) (calls, admitted int64) {
		mine := each[worker]
		for !stop.Load() {
			start := now()
			refused := v.refuse()
			mine.Add(now() - start)
			if !refused {
				admitted++
			}
		}
		return mine.Calls(), admitted
	})
	sum := latency.NewRecord(cutoff)
	for _, l := range each {
		sum.Merge(l)
	}
	return sum, err
}

// throughput counts calls without measuring any. It returns their number and
// the number per second of all goroutines together.
func (h hammer) throughput(ctx context.Context, v variant, d time.Duration) (calls int64, perSecond float64, err error) {
	calls, took, err := h.together(ctx, v, d, func(_ int, stop *atomic.Bool) (calls, admitted int64) {
		for !stop.Load() {
			for range 64 { // so that looking at stop costs next to nothing
				if !v.refuse() {
					admitted++
				}
			}
			calls += 64
		}
		return calls, admitted
	})
	return calls, float64(calls) / took.Seconds(), err
}

// together runs work on every goroutine until d has passed or ctx ends.
func (h hammer) together(ctx context.Context, v variant, d time.Duration, work func(worker int, stop *atomic.Bool) (calls, admitted int64)) (calls int64, took time.Duration, err error) {
	var stop atomic.Bool
	var sum, through atomic.Int64
	var all sync.WaitGroup
	runtime.GC() // now rather than in the middle; the loops allocate nothing
	start := time.Now()
	for worker := range h.goroutines {
		all.Go(func() {
			calls, admitted := work(worker, &stop)
			sum.Add(calls)
			through.Add(admitted)
		})
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	stop.Store(true)
	all.Wait()
	took = time.Since(start)
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	if n := through.Load(); n > 0 {
		return 0, 0, fmt.Errorf("the %s breaker admitted %d calls while it was open", v.name, n)
	}
	return sum.Load(), took, nil
}
