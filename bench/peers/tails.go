package peers

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/atomicbreaker/breaker/bench/peers/rival"
	"github.com/loov/hrtime"
)

// ErrNoTSC says that this processor has no invariant time stamp counter, without
// which a call of a few nanoseconds cannot be timed by itself.
var ErrNoTSC = errors.New("peers: this processor has no invariant time stamp counter")

// Tail is the distribution of the times of single calls. Each includes one
// reading of the time stamp counter, which the bare loop shows.
type Tail struct {
	Calls                      int64
	P50, P99, P999, P9999, Max time.Duration
	OverMicrosecondPerMillion  float64
}

// Tails times every call of op, or of nothing if op is nil, on perCore
// goroutines for each processor. The distribution is exact to 1 %.
func Tails(op rival.Call, perCore int, runFor time.Duration) (Tail, error) {
	if !hrtime.TSCSupported() {
		return Tail{}, ErrNoTSC
	}
	if op == nil {
		op = func() bool { return true }
	}
	perSecond := tscPerSecond()
	var stop atomic.Bool
	var mu sync.Mutex
	var all sync.WaitGroup
	total := newTicks()
	for range perCore * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			own := newTicks()
			var batch [256]hrtime.Count // recorded together, so that recording does not come between two calls
			for !stop.Load() {
				for i := range batch {
					start := hrtime.TSC()
					op()
					batch[i] = hrtime.TSC() - start
				}
				for _, ticks := range batch {
					_ = own.RecordValue(min(max(int64(ticks), 1), ticksHighest)) // within range, so it cannot fail
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.Merge(own)
		})
	}
	time.Sleep(runFor)
	stop.Store(true)
	all.Wait()
	return tailOf(total, perSecond), nil
}

// ticksHighest is the longest call that is told from longer ones: over ten
// seconds at any frequency.
const ticksHighest = 1 << 36

func newTicks() *hdrhistogram.Histogram { return hdrhistogram.New(1, ticksHighest, 2) }

// tscPerSecond measures the counter's frequency against the monotonic clock,
// over long enough for an error of less than a thousandth.
var tscPerSecond = sync.OnceValue(func() float64 {
	start, ticks := time.Now(), hrtime.TSC()
	time.Sleep(50 * time.Millisecond)
	took := time.Since(start)
	return float64(hrtime.TSC()-ticks) / took.Seconds()
})

// CounterStep returns the smallest difference that the time stamp counter shows.
func CounterStep() (time.Duration, error) {
	if !hrtime.TSCSupported() {
		return 0, ErrNoTSC
	}
	least, last := hrtime.Count(math.MaxInt64), hrtime.TSC()
	for range 100_000 {
		now := hrtime.TSC()
		if now > last {
			least = min(least, now-last)
		}
		last = now
	}
	return time.Duration(math.Round(float64(least) / tscPerSecond() * 1e9)), nil
}

func tailOf(h *hdrhistogram.Histogram, perSecond float64) Tail {
	at := func(quantile float64) time.Duration {
		return time.Duration(math.Round(float64(h.ValueAtQuantile(quantile)) / perSecond * 1e9))
	}
	limit, over := int64(perSecond/1e6), int64(0)
	for _, bar := range h.Distribution() {
		if bar.From > limit {
			over += bar.Count
		}
	}
	return Tail{
		Calls: h.TotalCount(), P50: at(50), P99: at(99), P999: at(99.9), P9999: at(99.99), Max: at(100),
		OverMicrosecondPerMillion: 1e6 * float64(over) / float64(h.TotalCount()),
	}
}
