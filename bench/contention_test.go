package bench

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestFieldNoSlowerWithoutContention: what is gained under contention is not
// paid for by a single goroutine. With one, and with one for each processor, a call
// takes less than a third of the time that it takes behind a lock, and both figures are shown.
//
// Rounds of both breakers alternate and the quickest of each counts, so that
// other work on the machine slows both or neither.
//
// Field: S191, prometheus/client_golang changelog (revert of the compare-and-swap change #1661, 2025).
func TestFieldNoSlowerWithoutContention(t *testing.T) {
	if testing.Short() {
		t.Skip("times")
	}
	const rounds, calls = 25, 20_000
	for _, rows := range [][]row{refused, halfOpenRefused, closed(0), closed(10)} {
		for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
			ours, others := quickest(t, rows, workers, rounds, calls)
			t.Logf("%s, %d goroutines: %v with atomics, %v behind a mutex, %d calls", rows[1].name, workers, ours, others, calls)
			if 3*ours > others {
				t.Errorf("%s, %d goroutines: %v for %d calls, and %v behind a mutex: want a third at most", rows[1].name, workers, ours, calls, others)
			}
		}
	}
}

// quickest returns the quickest of some rounds of the lock-free breaker and of
// the one behind a mutex, by the first row of each.
func quickest(t *testing.T, rows []row, workers, rounds, calls int) (ours, others time.Duration) {
	t.Helper()
	first := func(impl string) (work, *time.Duration) {
		for _, r := range rows {
			if strings.HasPrefix(r.name, "impl="+impl+"/") {
				best := time.Hour
				return r.start(t).warm(workers), &best
			}
		}
		t.Fatalf("no row of impl=%s", impl)
		return work{}, nil
	}
	a, x := first("atomic")
	b, y := first("mutex")
	admitted := [2]int{}
	for range rounds {
		for i, w := range []work{a, b} {
			var began time.Time
			admitted[i] += w.share(workers, calls, func() { began = time.Now() })
			best := []*time.Duration{x, y}[i]
			*best = min(*best, time.Since(began))
		}
	}
	a.verify(t, admitted[0], rounds*calls)
	b.verify(t, admitted[1], rounds*calls)
	return *x, *y
}
