package peers

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

// Footprint is what n breakers of a subject cost, per breaker.
type Footprint struct {
	Bytes      float64 // of live heap and of goroutine stacks
	Objects    float64 // on the heap
	Goroutines float64
	GC         time.Duration // what they add to one full collection, all n together
}

// Use says what a breaker has gone through when its memory is measured.
type Use string

const (
	Idle      Use = "idle"      // made, never used
	Called    Use = "called"    // 20 calls by one goroutine
	Contended Use = "contended" // used by 16 goroutines per core at once for 5 ms
)

// most bounds the heap of one measurement.
const most = 1 << 30

// ErrTooLarge is wrapped by the error of a measurement that would not fit.
var ErrTooLarge = errors.New("too large")

// Memory makes n breakers of the subject, uses them, and measures them. It wants
// a process of its own: several libraries never free a breaker.
func Memory(s rival.Subject, n int, use Use) (Footprint, error) {
	if s.New == nil {
		return Footprint{}, fmt.Errorf("%w: measured through another api", rival.ErrLacks)
	}
	if each := footprint(s, 100, Idle).Bytes; n > 100 && each*float64(n) > most {
		return Footprint{}, fmt.Errorf("%w: %d breakers would take %.1f GiB", ErrTooLarge, n, each*float64(n)/(1<<30))
	}
	if n > 1 {
		return footprint(s, n, use), nil
	}
	// A single breaker is lost among what the runtime itself allocates now
	// and then, so take the median of several.
	var all []Footprint
	for range 5 {
		all = append(all, footprint(s, n, use))
	}
	slices.SortFunc(all, func(a, b Footprint) int { return cmp.Compare(a.Bytes, b.Bytes) })
	return all[len(all)/2], nil
}

func footprint(s rival.Subject, n int, use Use) Footprint {
	// What the first breaker and the first goroutines of a program make is not
	// the breakers' own.
	first := s.New()
	s.Use(first)
	if use == Contended {
		contend(s, first, contention)
	}
	breakers := make([]any, n)
	before, gcBefore := settled()
	for i := range breakers {
		breakers[i] = s.New()
	}
	for _, b := range breakers {
		switch use {
		case Called:
			for range 20 {
				s.Use(b)
			}
		case Contended:
			contend(s, b, contention)
		}
	}
	after, gcAfter := settled()
	runtime.KeepAlive(breakers)
	runtime.KeepAlive(first)
	per := func(now, then uint64) float64 { return max(0, float64(int64(now)-int64(then))/float64(n)) }
	f := Footprint{
		Bytes:      per(after.HeapAlloc, before.HeapAlloc),
		Objects:    per(after.HeapObjects, before.HeapObjects),
		Goroutines: per(uint64(after.goroutines), uint64(before.goroutines)),
		GC:         max(0, gcAfter-gcBefore),
	}
	if f.Goroutines > 0 { // otherwise the difference is in stacks that the runtime keeps for reuse
		f.Bytes += per(after.StackInuse, before.StackInuse)
	}
	return f
}

// contention is how long a contended breaker is used.
const contention = 5 * time.Millisecond

func contend(s rival.Subject, breaker any, runFor time.Duration) {
	var all sync.WaitGroup
	until := time.Now().Add(runFor)
	for range 16 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for time.Now().Before(until) {
				for range 100 {
					s.Use(breaker)
				}
			}
		})
	}
	all.Wait()
}

type memory struct {
	runtime.MemStats
	goroutines int
}

// settled measures the live heap, garbage and finalized objects gone, and the
// median time of a full collection.
func settled() (m memory, gc time.Duration) {
	var took []time.Duration
	for range 5 {
		start := time.Now()
		runtime.GC()
		took = append(took, time.Since(start))
	}
	runtime.ReadMemStats(&m.MemStats)
	m.goroutines = runtime.NumGoroutine()
	slices.Sort(took)
	return m, took[len(took)/2]
}
