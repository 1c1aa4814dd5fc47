// Soak uses breakers of every kind, from many goroutines, through faults, hung
// calls, panics, changes of mode, commands and jumps of the clock, and checks
// every guarantee that can be seen at rest, again and again, for a given number
// of operations. It ends with an error at the first broken guarantee, and when
// memory or goroutines grow.
//
//	go run ./soak [-ops 1000000000] [-time 30m] [-seed 1] [-storm 15s]
//
// Before that it turns the buckets of windows over under many recorders for
// the time that -storm says, and compares windows and totals exactly.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/atomicbreaker/breaker/verify/internal/storm"
)

func main() {
	var o options
	flag.Float64Var(&o.operations, "ops", 1e9, "calls of the breakers in all")
	flag.DurationVar(&o.atMost, "time", 30*time.Minute, "stop after this time even so")
	flag.Uint64Var(&o.seed, "seed", 1, "of everything that is drawn")
	flag.DurationVar(&o.storm, "storm", 15*time.Second, "turn buckets over for so long")
	flag.Parse()
	if o.operations <= 0 || o.atMost <= 0 || o.storm < 0 {
		fmt.Fprintln(os.Stderr, "soak: -ops and -time want to be above 0, -storm 0 or more")
		os.Exit(2)
	}
	o.log = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	if err := soak(o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	fmt.Printf("1 passed, 0 failed\n")
}

type options struct {
	operations float64
	atMost     time.Duration
	seed       uint64
	storm      time.Duration
	perRound   int // operations of one worker between two rests; 0 is 100,000
	log        func(format string, args ...any)
}

// soak runs rounds until the operations or the time are used up.
func soak(o options) error {
	if o.perRound == 0 {
		o.perRound = 100_000
	}
	subjects, err := newSubjects(o.seed)
	if err != nil {
		return err
	}
	if err := turnOver(o); err != nil {
		return err
	}
	began, done, rounds := time.Now(), 0.0, 0
	var memory, goroutines high
	shown := began
	for done < o.operations && time.Since(began) < o.atMost {
		s := subjects[rounds%len(subjects)]
		n, err := s.round(o.perRound)
		if err != nil {
			return fmt.Errorf("%s, round %d: %w", s.name, rounds, err)
		}
		done += float64(n)
		rounds++
		if rounds%len(subjects) != 0 {
			continue
		}
		// The first rounds grow stripes and warm up.
		if err := memory.see("bytes of heap", heap(), rounds > 3*len(subjects), 1<<20); err != nil {
			return err
		}
		if err := goroutines.see("goroutines", uint64(runtime.NumGoroutine()), rounds > len(subjects), 1); err != nil {
			return err
		}
		if time.Since(shown) > 10*time.Second {
			shown = time.Now()
			o.log("%.3g operations, %d rounds, %v, heap %d KiB", done, rounds, time.Since(began).Round(time.Second), memory.last>>10)
		}
	}
	o.log("%.3g operations in %d rounds, %v; heap %d KiB at most, %d goroutines", done, rounds,
		time.Since(began).Round(time.Millisecond), memory.most>>10, goroutines.most)
	for _, s := range subjects {
		o.log("%s", s.summary())
	}
	if done < o.operations {
		o.log("stopped by -time at %.1f %% of the operations", 100*done/o.operations)
	}
	return nil
}

// turnOver runs storms for the time that o says.
func turnOver(o options) error {
	began, outcomes := time.Now(), uint64(0)
	n := 0
	for ; time.Since(began) < o.storm; n++ {
		some, err := storm.Round(n)
		if err != nil {
			return fmt.Errorf("turnover storm, %w", err)
		}
		outcomes += some
	}
	o.log("%.3g outcomes in %d storms of turnovers, none lost", float64(outcomes), n)
	return nil
}

// high watches a number that must not grow.
type high struct{ first, last, most uint64 }

// see notes a value. Once settled it fails on a value above twice the first
// and more than slack above it.
func (h *high) see(what string, v uint64, settled bool, slack uint64) error {
	h.last = v
	h.most = max(h.most, v)
	if !settled {
		h.first = max(h.first, v)
		return nil
	}
	if v > 2*h.first && v > h.first+slack {
		return fmt.Errorf("%d %s at rest, %d at the beginning: something is kept", v, what, h.first)
	}
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
