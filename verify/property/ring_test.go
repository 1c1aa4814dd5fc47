package property

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/atomicbreaker/breaker/ring"
	"github.com/atomicbreaker/breaker/verify/internal/storm"
)

// naive is a rolling window as a list of everything that happened.
type naive struct {
	buckets uint64
	gen     uint32
	number  uint64
	held    []event
	totals  ring.Counts
}

type event struct {
	number uint64
	kind   ring.Kind
}

func (n *naive) sum(number uint64) (c ring.Counts) {
	for _, e := range n.held {
		if e.number+n.buckets > number && e.number <= number {
			c[e.kind]++
		}
	}
	return c
}

func always() bool { return true }

// TestRingAgainstSlice drives the ring as the breaker does: turnovers of any
// distance, sleep, waking, new generations and emptying.
func TestRingAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buckets := rapid.IntRange(1, 12).Draw(t, "buckets")
		slow := rapid.Bool().Draw(t, "slow")
		r := ring.New(ring.Options{Buckets: buckets, Slow: slow, Counters: 1, Stripes: 4})
		n := &naive{buckets: uint64(buckets)}
		kinds := ring.Slow
		if slow {
			kinds++
		}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			n.step(t, r, kinds)
			later := n.number + rapid.Uint64Range(0, 2*uint64(buckets)).Draw(t, "later")
			for _, number := range []uint64{n.number, later} {
				if got, want := r.SumAt(n.gen, number), n.sum(number); got != want {
					t.Fatalf("step %d: window in bucket %d %v, want %v", i, number, got, want)
				}
			}
			if got := r.Totals(); got != n.totals {
				t.Fatalf("step %d: totals %v, want %v", i, got, n.totals)
			}
		}
	})
}

// step does one thing to both.
func (n *naive) step(t *rapid.T, r *ring.Ring, kinds ring.Kind) {
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0: // a new generation: its window begins with the first outcome
		for range rapid.SampledFrom([]int{1, 2, 3, 1 << 15}).Draw(t, "generations") {
			if n.gen++; n.gen%ring.RenewEvery == 0 {
				r.Renew(n.gen-1, always)
			}
		}
		n.held = nil
	case 1: // as the breaker does it, within its generation
		r.Forget(n.gen, always)
		n.held = nil
	case 2, 3: // a turnover, as the timer does it
		n.number += rapid.Uint64Range(1, 3*n.buckets).Draw(t, "turnover")
		n.turn(r)
	case 4:
		r.Grow()
	default:
		k := ring.Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
		s := r.Pick()
		e, c := r.Edge(), s.Peek(k)
		if !e.Awake(n.gen) && !r.Begin(e, n.gen, n.number) {
			t.Fatal("nobody else, and the edge has changed")
		}
		if ring.Live(c, n.gen) && !s.Hit(k, c) || !ring.Live(c, n.gen) && !s.Take(k, c, n.gen) {
			t.Fatal("nobody else, and the cell has changed")
		}
		n.held = append(n.held, event{n.number, k})
		n.totals[k]++
	}
}

func (n *naive) turn(r *ring.Ring) {
	for {
		e := r.Edge()
		behind := e.Behind(n.number)
		if !e.Awake(n.gen) || behind == 0 {
			if r.Sum(n.gen).Calls() == 0 {
				r.Sleep(e, n.gen)
			}
			return
		}
		r.Note(e, n.gen)
		r.Turn(e, n.gen, r.Steps(behind))
	}
}

// TestWindowIsExactThroughTurnoverStorms keeps the books of the window.
func TestWindowIsExactThroughTurnoverStorms(t *testing.T) {
	for n := range 60 {
		if _, err := storm.Round(n); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLastAgainstSlice has goroutines append to a window of calls; the heads
// that they get say in which order.
func TestLastAgainstSlice(t *testing.T) {
	type outcome struct {
		position     uint64
		failed, slow bool
	}
	for _, n := range []int{1, 2, 15, 16, 17, 63, 64, 65, 100, 1024} {
		const recorders, each = 4, 800
		l := ring.NewLast(n)
		var lists [recorders][]outcome
		var all sync.WaitGroup
		for g := range recorders {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(n), uint64(g)))
				for len(lists[g]) < each {
					o := outcome{failed: rnd.IntN(2) == 0, slow: rnd.IntN(3) == 0}
					if h, ok := l.Add(l.Head(), o.failed, o.slow); ok {
						o.position = uint64(h) & (1<<29 - 1)
						lists[g] = append(lists[g], o)
					}
					if rnd.IntN(4) == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		all.Wait()
		order := slices.Concat(lists[:]...)
		slices.SortFunc(order, func(a, b outcome) int { return int(a.position) - int(b.position) })
		var want ring.Counts
		for _, o := range order[max(0, len(order)-n):] {
			switch {
			case o.failed:
				want[ring.Failure]++
			default:
				want[ring.Success]++
			}
			if o.slow {
				want[ring.Slow]++
			}
		}
		if got := l.Sum(l.Head()); got != want {
			t.Errorf("last %d of %d: %v, want %v", n, len(order), got, want)
		}
	}
}
