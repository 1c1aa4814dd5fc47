package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
)

// What a call costs must not depend on how much there is: buckets, stripes,
// breakers, failures. Each row is measured with one goroutine on one
// processor, and with one on each of several.

func BenchmarkBuckets(b *testing.B)  { grow(b, buckets()) }
func BenchmarkStripes(b *testing.B)  { grow(b, stripes()) }
func BenchmarkFailures(b *testing.B) { grow(b, shares()) }

// BenchmarkLayout is what the padding is worth: the cells and counters that the
// goroutines write, on lines of their own or side by side.
func BenchmarkLayout(b *testing.B) { grow(b, layouts) }

// grow runs rows with one goroutine for each processor.
func grow(b *testing.B, rows []row) {
	for _, r := range rows {
		b.Run(r.name+"/load=1", func(b *testing.B) { measure(b, r.start(b), runtime.GOMAXPROCS(0)) })
	}
}

// buckets are rows of rolling windows of the shortest to the longest row of
// buckets. With failures the window is summed from time to time.
func buckets() (rows []row) {
	for _, n := range []int{1, 5, 10, 60, 128} {
		c := steady()
		c.Buckets = n
		c.Window = time.Duration(n) * time.Second
		rows = append(rows, closedRow(fmt.Sprintf("buckets=%d", n), c, 0), closedRow(fmt.Sprintf("buckets=%d", n), c, 10))
	}
	return rows
}

// stripes are rows of the most stripes that a breaker may use.
func stripes() (rows []row) {
	for _, n := range []int{1, 2, 8, 64, 256} {
		key := fmt.Sprintf("stripes=%d", n)
		c := steady()
		c.Stripes = n
		rows = append(rows, row{key + "/path=refused", func(tb testing.TB) work {
			c := tripped()
			c.Stripes = n
			b := newAtomic(tb, c)
			b.Trip()
			return work{body: acquireAtomic(b), books: refusedBy(b.Snapshot)}
		}}, closedRow(key, c, 0))
	}
	return rows
}

// shares are rows of the share of calls that fail, none of which trips.
func shares() (rows []row) {
	c := atomicbreaker.Config{FailureRate: 0.9, ConsecutiveFailures: 1_000_000}
	for _, failures := range []int{0, 1, 10, 50} {
		rows = append(rows, closedRow("", c, failures))
	}
	return rows
}

// closedRow is a row of a closed breaker of which so many calls in a hundred fail.
func closedRow(key string, c atomicbreaker.Config, failures int) row {
	every := 0
	if failures > 0 {
		every = 100 / failures
	}
	if key != "" {
		key += "/"
	}
	return row{fmt.Sprintf("%spath=closed/failures=%d", key, failures), func(tb testing.TB) work {
		b := newAtomic(tb, c)
		return work{admits: true, body: callAtomic(b, every), books: settledBy(b.Snapshot)}
	}}
}

// BenchmarkBreakers makes calls through many breakers in turn. Their clock is a
// manual one: timers are not what is measured, and those of 100,000 breakers would
// disturb the next row.
func BenchmarkBreakers(b *testing.B) {
	for _, n := range []int{1, 10, 1000, 100_000} {
		for _, path := range []string{"refused", "closed"} {
			all := inUse(b, n, path)
			grow(b, []row{{fmt.Sprintf("breakers=%d/path=%s", n, path), func(testing.TB) work {
				return work{admits: path == "closed", body: callEach(all)}
			}}})
		}
	}
	runtime.GC()
}

func inUse(tb testing.TB, n int, path string) []*atomicbreaker.Breaker {
	all := make([]*atomicbreaker.Breaker, n)
	for i := range all {
		c := steady()
		if path == "refused" {
			c = tripped()
		}
		c.Clock = new(clock.Manual)
		all[i] = newAtomic(tb, c)
		if path == "refused" {
			all[i].Trip()
		}
	}
	callEach(all)(0, 2*n)
	return all
}

// callEach calls the breakers in turn, each worker from another place on.
func callEach(all []*atomicbreaker.Breaker) func(worker, n int) int {
	return func(worker, n int) (admitted int) {
		i := worker * 7919 % len(all)
		for range n {
			if ticket, err := all[i].Acquire(); err == nil {
				admitted++
				ticket.Done(context.Background(), nil)
			}
			if i++; i == len(all) {
				i = 0
			}
		}
		return admitted
	}
}

// The words between two goroutines' cells: as many as a stripe has at the
// default buckets, or none.
const (
	padded = 32
	packed = 1
)

var layouts = []row{
	{"layout=padded/path=refused", func(testing.TB) work { return refusedIn(padded) }},
	{"layout=packed/path=refused", func(testing.TB) work { return refusedIn(packed) }},
	{"layout=padded/path=closed", func(testing.TB) work { return closedIn(padded) }},
	{"layout=packed/path=closed", func(testing.TB) work { return closedIn(packed) }},
}

// laidOut returns stripes for so many workers whose words are apart by stride.
// Side by side they overlap, which does no harm as long as each worker
// writes to the same one word of its own.
func laidOut(workers, stride int) []ring.Stripe {
	const words = 64
	memory := make(ring.Stripe, workers*stride+words+16)
	all := make([]ring.Stripe, workers)
	for i := range all {
		all[i] = memory[i*stride:][:words]
	}
	return all
}

// refusedIn is what a refusal does, with the ring's own code, on a stripe that each
// worker has for itself.
func refusedIn(stride int) work {
	state, stripes := new(line), laidOut(1024, stride)
	state.n.Store(1)
	return work{body: func(worker, n int) (admitted int) {
		s := stripes[worker]
		for range n {
			if state.n.Load() == 0 {
				admitted++
			}
			s.Bump(0)
		}
		return admitted
	}, books: func() (n uint64) {
		for _, s := range stripes {
			n += counter(s)
		}
		return n
	}}
}

// counter is the first plain counter of a stripe: it lies behind the head.
func counter(s ring.Stripe) uint64 {
	const headWords = 8
	return s[headWords].Load()
}

// closedIn is what a closed call does between its admission and its outcome.
func closedIn(stride int) work {
	state, stripes := new(line), laidOut(1024, stride)
	begun := make([]uint64, len(stripes))
	for i, s := range stripes {
		s.Take(ring.Success, s.Peek(ring.Success), 0)
		begun[i] = s.Peek(ring.Success)
	}
	return work{admits: true, body: func(worker, n int) (admitted int) {
		s := stripes[worker]
		for range n {
			if state.n.Load() == 0 {
				admitted++
			}
			if n := s.Peek(ring.Success); ring.Live(n, 0) {
				s.Hit(ring.Success, n)
			}
		}
		return admitted
	}, books: func() (n uint64) {
		for i, s := range stripes {
			n += s.Peek(ring.Success) - begun[i]
		}
		return n
	}}
}

func TestGrowthRows(t *testing.T) {
	for _, rows := range [][]row{buckets(), stripes(), shares(), layouts} {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				w := r.start(t)
				w.verify(t, w.share(2, 1000, func() {}), 1000)
			})
		}
	}
	for _, path := range []string{"refused", "closed"} {
		all := inUse(t, 10, path)
		w := work{admits: path == "closed", body: callEach(all)}
		w.verify(t, w.share(3, 100, func() {}), 100)
		for i, b := range all {
			if s := b.Snapshot(); s.Succeeded+s.Refused() < 2+9 {
				t.Errorf("%s: breaker %d was called %d times of 120", path, i, s.Succeeded+s.Refused())
			}
		}
	}
}
