//go:build !interleave

package linear

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/bench/lockstep"
	"github.com/atomicbreaker/breaker/verify/internal/mutation"
	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

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

var histories = flag.Uint64("histories", 400, "histories of each implementation and rule")

// TestHistories checks the lock-free breaker and the one behind a mutex
// against one model.
func TestHistories(t *testing.T) {
	n := *histories
	for _, impl := range []lockstep.Implementation{lockstep.Atomic(), lockstep.Mutex()} {
		for _, r := range rules {
			t.Run(impl.Name+"/"+r.name, func(t *testing.T) {
				began, overlaps, seen := time.Now(), 0, verdicts{}
				for seed := range n {
					rec, err := record(impl, r.rule, seed)
					if err != nil {
						t.Fatal(err)
					}
					if err := seen.add(rec.check()); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					overlaps += rec.overlaps()
				}
				t.Logf("%v, %d pairs of calls overlapped, %v", &seen, overlaps, time.Since(began).Round(time.Millisecond))
				if !seen.enough() {
					t.Error("too many without a verdict")
				}
				if overlaps == 0 {
					t.Error("no two calls overlapped: nothing was tested")
				}
			})
		}
	}
}

// scheduled runs n scheduled histories of every rule on an instrumented build.
func scheduled(t *testing.T, n uint64, edits ...overlay.Edit) overlay.Result {
	t.Helper()
	b, err := overlay.New(edits...)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Instrument(); err != nil {
		t.Fatal(err)
	}
	r, err := b.Test(context.Background(), "verify", nil, "-v", "-count=1", "./linear", "-histories", strconv.FormatUint(n, 10))
	if err != nil {
		t.Fatal(err)
	}
	if !r.Built {
		t.Fatalf("the instrumented build does not compile:\n%s", r.Output)
	}
	return r
}

func TestScheduledHistories(t *testing.T) {
	r := scheduled(t, *histories)
	for line := range strings.Lines(r.Output) {
		if strings.Contains(line, "histories,") || !r.Passed {
			t.Log(strings.TrimRight(line, "\n"))
		}
	}
	if !r.Passed {
		t.Fail()
	}
}

// TestBrokenBreakersAreCaught sees that the histories of three broken breakers
// have no explanation.
func TestBrokenBreakersAreCaught(t *testing.T) {
	for _, name := range []string{
		"the loser of the half-open race is admitted",
		"a late outcome closes",
		"an expired probe's place is freed twice",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := mutation.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			// The first history without an explanation ends the run, so a
			// bound far above what is needed costs nothing.
			r := scheduled(t, 20_000, m.Edits...)
			if r.Passed {
				t.Fatal("not caught")
			}
			if !strings.Contains(r.Output, "no order of these calls explains") {
				t.Fatalf("failed in another way:\n%s", r.Output)
			}
		})
	}
}
