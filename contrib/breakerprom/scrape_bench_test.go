//go:build linux

package breakerprom

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	process = syscall.RUSAGE_SELF // on all processors
	thread  = 1                   // RUSAGE_THREAD: the calling one
)

// processorTime is what has been used so far.
func processorTime(of int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(of, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd returns a registry with n breakers that have each been called.
func crowd(b *testing.B, n int) (*prometheus.Registry, []*atomicbreaker.Breaker) {
	var watch breakerwatch.Watch
	breakers := make([]*atomicbreaker.Breaker, n)
	for i := range breakers {
		breakers[i] = atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: fmt.Sprint("breaker ", i)}))
		if err := breakers[i].Do(b.Context(), func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	if err := watch.Add(breakers...); err != nil {
		b.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(New(&watch))
	return registry, breakers
}

// BenchmarkScrape reports the processor time of a scrape, which is more than
// the wall time of one goroutine and steadier on a busy machine.
func BenchmarkScrape(b *testing.B) {
	const n = 10_000
	run := func(name string, scrape func(*prometheus.Registry)) {
		b.Run(fmt.Sprintf("%s/breakers=%d", name, n), func(b *testing.B) {
			registry, _ := crowd(b, n)
			scrape(registry)
			b.ReportAllocs()
			b.ResetTimer()
			before := processorTime(process)
			for range b.N {
				scrape(registry)
			}
			b.ReportMetric(float64((processorTime(process)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
	run("gather", func(r *prometheus.Registry) {
		if _, err := r.Gather(); err != nil {
			b.Fatal(err)
		}
	})
	run("http", func(r *prometheus.Registry) {
		req := httptest.NewRequest("GET", "/metrics", nil)
		req.Header.Set("Accept-Encoding", "gzip")
		rec := httptest.NewRecorder()
		rec.Body = nil
		promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(discard{rec}, req)
	})
}

// BenchmarkCallsBesideScrapes measures how much a goroutine that calls one of
// the breakers without pause is slowed down while they are scraped: periods
// with a scrape take turns with periods without. slowdown-% is what it loses
// meanwhile, every15s-% what that comes to with a scrape every 15 seconds. It
// is measured in processor time of the goroutine's thread, since on a busy
// machine the wall tells of others; wall-% and wall15s-% need a machine of one's own.
func BenchmarkCallsBesideScrapes(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const period = 250 * time.Millisecond
	registry, breakers := crowd(b, 10_000)
	hot := breakers[5000]
	var wall float64
	calls := func(until func() bool) (perSecond float64) {
		start, used, n := time.Now(), processorTime(thread), 0
		for ; !until(); n += 1000 {
			for range 1000 {
				ticket, _ := hot.Acquire()
				ticket.Done(context.Background(), nil)
			}
		}
		wall = float64(n) / time.Since(start).Seconds()
		return float64(n) / (processorTime(thread) - used).Seconds()
	}
	var quiet, beside, quietWall, besideWall, took []float64
	for b.Loop() {
		start := time.Now()
		quiet = append(quiet, calls(func() bool { return time.Since(start) > period }))
		quietWall = append(quietWall, wall)
		var scraped atomic.Bool
		go func() {
			start := time.Now()
			if _, err := registry.Gather(); err != nil {
				b.Error(err)
			}
			took = append(took, time.Since(start).Seconds())
			scraped.Store(true)
		}()
		beside = append(beside, calls(scraped.Load))
		besideWall = append(besideWall, wall)
	}
	slowdown := 1 - median(beside)/median(quiet)
	b.ReportMetric(100*slowdown, "slowdown-%")
	b.ReportMetric(100*slowdown*median(took)/15, "every15s-%")
	wallLoss := 1 - median(besideWall)/median(quietWall)
	b.ReportMetric(100*wallLoss, "wall-%")
	b.ReportMetric(100*wallLoss*median(took)/15, "wall15s-%")
	b.ReportMetric(1000*median(took), "scrape-ms")
	b.ReportMetric(1e9/median(quiet), "ns/call")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// discard is a response that nobody keeps.
type discard struct{ *httptest.ResponseRecorder }

func (discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
