package atomicbreaker_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
	"weak"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"golang.org/x/sys/cpu"
)

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one found to finalize
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A breaker has no goroutine, an idle one no running timer, and neither costs
// more than a bounded amount of memory, open or closed.
//
// Field: S100, nodeshift/opossum#809 (2023-08-25), #648, #719; reddit/baseplate.go#478
// (per-breaker ticker).
func TestFieldBreakersCostNoGoroutinesAndLittleMemory(t *testing.T) {
	const n = 10_000
	budget := uint64(1424) // bytes, on a 64-bit machine
	if line := unsafe.Sizeof(cpu.CacheLinePad{}); line > 128 {
		budget += uint64(line) // of which a stripe fills the last one in part
	}
	m := new(clock.Manual)
	goroutines, before := runtime.NumGoroutine(), heap()
	breakers := make([]*ab.Breaker, n)
	for i := range breakers {
		breakers[i] = ab.MustNew(ab.Config{Clock: m})
	}
	if each := (heap() - before) / n; each > budget {
		t.Errorf("an idle breaker takes %d bytes, want at most %d", each, budget)
	}
	if m.Timers() != 0 {
		t.Errorf("%d timers run for %d idle breakers", m.Timers(), n)
	}
	for _, b := range breakers[:n/2] {
		b.Trip()
	}
	m.Advance(0)
	if m.Timers() != n/2 {
		t.Errorf("%d timers run for %d open breakers", m.Timers(), n/2)
	}
	if each := (heap() - before) / n; each > budget+32 { // and the clock's list of timers
		t.Errorf("with half of them open a breaker takes %d bytes, want at most %d", each, budget+32)
	}
	if extra := runtime.NumGoroutine() - goroutines; extra > 0 {
		t.Errorf("%d goroutines for %d breakers", extra, n)
	}
	m.Advance(time.Minute) // half-open, with nobody who calls
	if m.Timers() != 0 {
		t.Errorf("%d timers run for breakers that wait for a call", m.Timers())
	}
	runtime.KeepAlive(breakers)
}

// A breaker that nobody holds is collected in any state, with probes under way
// and listeners set, and its tickets may still be settled. Nothing is left
// behind, however often that happens.
//
// Field: S101, afex/hystrix-go#95 (2018-09-12), #81, #107; twitter/finagle commit 2bfe36883
// (2015-11-12); resilience4j/resilience4j#2243.
func TestFieldDroppedBreakersLeaveNothing(t *testing.T) {
	rounds, n := 100, 1000
	if reduced() {
		rounds, n = 10, 200
	}
	m := new(clock.Manual)
	var told atomic.Int64
	var late []*ab.Ticket
	goroutines := runtime.NumGoroutine()
	var level uint64
	for round := range rounds {
		var held []weak.Pointer[ab.Breaker]
		for i := range n {
			c := streakConfig()
			c.Clock = m
			c.OnTransition = func(ab.Transition) { told.Add(1) }
			b := ab.MustNew(c)
			held = append(held, weak.Make(b))
			switch i % 4 {
			case 1:
				b.Trip() // and is dropped while open
			case 2:
				b.Trip()
				m.Advance(5 * time.Second)
				ticket, err := b.Acquire() // and is dropped with its probe under way
				if err != nil {
					t.Fatal(err)
				}
				if i == 2 {
					late = append(late, &ticket) // which holds it
				}
			case 3:
				ticket, _ := b.Acquire()
				ticket.Report(ab.Failure)
			}
		}
		now := heap()
		alive := 0
		for _, h := range held {
			if h.Value() != nil {
				alive++
			}
		}
		if alive > 1 {
			t.Fatalf("round %d: %d of %d dropped breakers are alive, want the one with a ticket out", round, alive, n)
		}
		m.Advance(time.Minute) // what timers are left find nobody
		if m.Timers() != 0 {
			t.Fatalf("round %d: %d timers are left", round, m.Timers())
		}
		if round == 1 {
			level = now
		}
		if round > 1 && now > level+level/10+uint64(round)*8192 { // one breaker a round is held by its ticket
			t.Fatalf("round %d: %d bytes in use, after the second round %d", round, now, level)
		}
	}
	if extra := runtime.NumGoroutine() - goroutines; extra > 0 {
		t.Errorf("%d goroutines are left", extra)
	}
	for _, ticket := range late {
		if !ticket.Report(ab.Success) {
			t.Error("a ticket of a dropped breaker was settled already")
		}
	}
	if told.Load() == 0 {
		t.Error("nothing was announced")
	}
}

// The number of processors may change while calls are counted: nothing is
// indexed by it.
//
// Field: S104, puzpuzpuz/xsync#74 (2022-10-30).
func TestFieldProcessorsMayChange(t *testing.T) {
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for _, made := range []int{1, was} {
		runtime.GOMAXPROCS(made)
		p := examine(t, countingConfig(10*time.Second, 10))
		const each = 2000
		var running atomic.Int64
		running.Store(64)
		crowd(65, func(i int) {
			if i == 64 {
				for n := 0; running.Load() > 0; n++ {
					runtime.GOMAXPROCS([]int{2, 16, 1, 64, 3}[n%5])
					runtime.Gosched()
				}
				return
			}
			defer running.Add(-1)
			for n := range each {
				p.acquire().Report(ab.Outcome(n % 2))
			}
		})
		p.books(settled{succeeded: 64 * each / 2, failed: 64 * each / 2})
		p.rolling(64*each, 64*each/2)
	}
}
