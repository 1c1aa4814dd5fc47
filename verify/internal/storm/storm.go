// Package storm turns the buckets of a breaker's rolling window over while many
// goroutines settle calls, and keeps the books of the window, not only of the
// totals.
package storm

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// buckets of the window. A round turns over one less, so that none leaves it.
const buckets = 128

// Round has twice as many goroutines as processors, and one more, settle some
// calls at the beginning of each bucket, all at once. In the end the window must
// hold every outcome, once. It returns how many there were. Rounds differ by
// their number in the stripes that may be used and in who lags behind.
func Round(n int) (outcomes uint64, err error) {
	const each = 3
	recorders := 2*runtime.GOMAXPROCS(0) + 1
	m := new(clock.Manual)
	b, err := atomicbreaker.New(atomicbreaker.Config{
		Window: buckets * time.Millisecond, Buckets: buckets, Clock: m, Stripes: 1 << (n % 5 * 2),
		ConsecutiveFailures: atomicbreaker.Off, FailureRate: 1, MinimumCalls: 1e9,
	})
	if err != nil {
		return 0, err
	}
	var turn, settled atomic.Int64
	var all sync.WaitGroup
	for g := range recorders {
		all.Go(func() {
			for n := range int64(buckets - 1) {
				for turn.Load() < n {
					runtime.Gosched()
				}
				for i := range each {
					if t, err := b.Acquire(); err == nil {
						t.Report(atomicbreaker.Outcome((i + g) % 2))
					}
				}
				settled.Add(1)
			}
		})
	}
	for i := range int64(buckets - 1) {
		m.Advance(time.Millisecond)
		turn.Store(i)
		for settled.Load() < (i+1)*int64(recorders)-int64(n%3) { // some settle later, across the edge
			runtime.Gosched()
		}
	}
	all.Wait()
	s, want := b.Snapshot(), uint64(recorders*(buckets-1)*each)
	if s.Succeeded+s.Failed != want || s.Rolling.Calls != want || s.Rolling.Failures != s.Failed {
		return 0, fmt.Errorf("round %d: the window holds %d calls and %d failures, the totals %d and %d; %d calls were settled",
			n, s.Rolling.Calls, s.Rolling.Failures, s.Succeeded+s.Failed, s.Failed, want)
	}
	return want, nil
}
