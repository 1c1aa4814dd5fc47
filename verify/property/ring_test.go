package property

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/atomicbreaker/breaker/ring"
)

// naive is a rolling window as a list of everything that happened.
type naive struct {
	buckets uint64
	gen     uint32
	number  uint64
	asleep  bool
	slept   uint64
	held    []event
	totals  ring.Counts
}

type event struct {
	number uint64
	kind   ring.Kind
}

func (n *naive) sum(number uint64) (c ring.Counts) {
	if n.asleep && number-n.slept >= n.buckets {
		return c
	}
	for _, e := range n.held {
		if e.number+n.buckets > number && e.number <= number {
			c[e.kind]++
		}
	}
	return c
}

func (n *naive) forget() { n.held = nil }

// TestRingAgainstSlice drives the ring as the breaker does: turnovers of any
// distance, sleep, waking, new generations and emptying.
func TestRingAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buckets := rapid.IntRange(1, 12).Draw(t, "buckets")
		slow := rapid.Bool().Draw(t, "slow")
		r := ring.New(ring.Options{Buckets: buckets, MaxCount: 1 << 30, Slow: slow, Counters: 1, Stripes: 4})
		n := &naive{buckets: uint64(buckets), asleep: true}
		kinds := ring.Slow
		if slow {
			kinds++
		}
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			n.step(t, r, kinds)
			e := r.Epoch()
			if !r.Belongs(e, n.gen) {
				continue // the breaker does not read it: the window is empty
			}
			if got, want := r.SumAt(e, n.number), n.sum(n.number); got != want {
				t.Fatalf("step %d: window %v, want %v", i, got, want)
			}
			later := n.number + rapid.Uint64Range(0, 2*uint64(buckets)).Draw(t, "later")
			if got, want := r.SumAt(e, later), n.sum(later); later-n.number < n.buckets && got != want {
				t.Fatalf("step %d: window in bucket %d %v, want %v", i, later, got, want)
			}
			if got := r.Totals(); got != n.totals {
				t.Fatalf("step %d: totals %v, want %v", i, got, n.totals)
			}
		}
	})
}

// step does one thing to both.
func (n *naive) step(t *rapid.T, r *ring.Ring, kinds ring.Kind) {
	e := r.Epoch()
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0: // a new generation: its window begins with the first outcome
		n.gen += uint32(rapid.IntRange(1, 3).Draw(t, "generations"))
		n.forget()
	case 1: // as the breaker does it, within its generation
		if !r.Belongs(e, n.gen) {
			return
		}
		r.Forget()
		r.Sweep(r.Epoch())
		n.forget()
	case 2, 3: // a turnover, as the timer does it
		n.number += rapid.Uint64Range(1, 3*n.buckets).Draw(t, "turnover")
		if r.Live(e, n.gen) {
			n.turn(r, e)
		}
	case 4:
		r.Grow()
	default:
		k := ring.Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
		if !r.Live(e, n.gen) {
			if n.number-n.slept >= n.buckets {
				n.forget()
			}
			if !r.Wake(e, n.gen, n.number) {
				t.Fatal("nobody else, and the epoch has changed")
			}
			n.asleep = false
			e = r.Epoch()
		}
		if !r.At(e, n.number) { // the timer is late: it counts in the old bucket
			t.Fatalf("the epoch is not of bucket %d", n.number)
		}
		if _, ok := r.Add(e, k); !ok {
			t.Fatal("nobody else, and the epoch has changed")
		}
		n.held = append(n.held, event{n.number, k})
		n.totals[k]++
	}
}

func (n *naive) turn(r *ring.Ring, e ring.Epoch) {
	if r.SumAt(e, n.number).Calls() == 0 {
		r.Sleep(e, n.number)
		r.Sweep(e)
		n.asleep, n.slept = true, n.number
		return
	}
	r.Advance(e, n.number)
	r.Sweep(r.Epoch())
}

// TestRingKeepsCountsThroughTurnoverStorms has goroutines count while another
// turns the buckets over as fast as it can. Each outcome is in the bucket that
// its recorder saw, whatever raced with it.
func TestRingKeepsCountsThroughTurnoverStorms(t *testing.T) {
	const buckets, recorders, turnovers = 64, 4, 3_000
	r := ring.New(ring.Options{Buckets: buckets, MaxCount: 1 << 30, Counters: 1, Stripes: 8})
	if !r.Wake(r.Epoch(), 1, 0) {
		t.Fatal("the ring does not wake")
	}
	var number atomic.Uint64
	var in [recorders][turnovers + 1]uint32 // outcomes by bucket
	var storm atomic.Bool
	storm.Store(true)
	var all sync.WaitGroup
	for g := range recorders {
		all.Go(func() {
			for storm.Load() {
				n := number.Load()
				e := r.Epoch()
				if !r.At(e, n) || number.Load() != n {
					continue // the epoch may be of either bucket
				}
				if _, ok := r.Add(e, ring.Failure); ok {
					in[g][n]++
				}
				if in[g][n]%8 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	last := uint64(0)
	for last < turnovers {
		for range rnd.IntN(20) {
			runtime.Gosched()
		}
		e := r.Epoch()
		last += 1 + rnd.Uint64N(3)
		last = min(last, turnovers)
		number.Store(last)
		r.Advance(e, last)
		if rnd.IntN(2) == 0 {
			r.Sweep(r.Epoch())
		}
		if r.Crowded() {
			r.Grow()
		}
	}
	storm.Store(false)
	all.Wait()
	var total, want uint64
	for g := range recorders {
		for _, n := range in[g] {
			total += uint64(n)
		}
	}
	t.Logf("%d outcomes in %d buckets", total, last)
	if total < turnovers/10 {
		t.Error("too few outcomes to prove anything")
	}
	if got := r.Totals()[ring.Failure]; got != total {
		t.Errorf("%d outcomes in all, want %d", got, total)
	}
	for n := last - min(last, buckets-1); n <= last; n++ {
		for g := range recorders {
			want += uint64(in[g][n])
		}
	}
	if got := r.Sum(r.Epoch())[ring.Failure]; got != want {
		t.Errorf("%d outcomes in the window, want %d", got, want)
	}
}

// TestLastAgainstSlice has goroutines append to a window of calls. Their places
// say in which order, and the window that each is given must be that of its place.
func TestLastAgainstSlice(t *testing.T) {
	type outcome struct {
		place        uint64
		failed, slow bool
		window       ring.Counts
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
					if place, window, ok := l.Add(l.Head(), o.failed, o.slow); ok {
						o.place, o.window = place, window
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
		slices.SortFunc(order, func(a, b outcome) int { return int(a.place) - int(b.place) })
		window := func(end int) (want ring.Counts) {
			for _, o := range order[max(0, end-n):end] {
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
			return want
		}
		for i, o := range order {
			if want := window(i + 1); (o.failed || o.slow) && o.window != want {
				t.Fatalf("last %d at place %d: %v, want %v", n, i, o.window, want)
			}
		}
		if got, want := l.Sum(l.Head()), window(len(order)); got != want {
			t.Errorf("last %d of %d: %v, want %v", n, len(order), got, want)
		}
	}
}
