package ring

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// See atomicbreaker/litmus_test.go for what a litmus test is.
type litmus struct {
	allowed []string
	prepare func(stop func()) (first, second func(), outcome func() string)
}

var litmusRounds = int(500 + seeds(2500))

func (l litmus) run(t *testing.T) {
	t.Helper()
	seen := make(map[string]int)
	for round := range litmusRounds {
		first, second, outcome := l.prepare(nil)
		race(round, first, second)
		o := outcome()
		if seen[o]++; !slices.Contains(l.allowed, o) {
			t.Fatalf("forbidden: %s", o)
		}
	}
	for _, outcome := range l.allowed {
		if seen[outcome] == 0 {
			t.Logf("allowed and never seen in %d rounds: %s", litmusRounds, outcome)
		}
	}

	var once sync.Once
	reached, done := make(chan struct{}), make(chan struct{})
	first, second, outcome := l.prepare(func() {
		once.Do(func() { close(reached); <-done })
	})
	var both sync.WaitGroup
	both.Go(second)
	<-reached
	first()
	close(done)
	both.Wait()
	require.NotContains(t, l.allowed, outcome(), "the wrong order shows nothing forbidden: the test is blind")
}

func race(round int, goroutines ...func()) {
	var start atomic.Int64
	var done sync.WaitGroup
	for i, f := range goroutines {
		done.Go(func() {
			start.Add(1)
			for start.Load() < int64(len(goroutines)) {
				runtime.Gosched()
			}
			if delay := round % 64; round/64%len(goroutines) == i {
				for range delay * 8 {
					start.Load()
				}
			}
			f()
		})
	}
	done.Wait()
}

// E6: stripes are published before the mask that reaches them, and who picks
// one reads the mask first.
func TestLitmusE6Stripes(t *testing.T) {
	litmus{
		allowed: []string{"a stripe of before", "a new stripe"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, MaxCount: 1 << 30, Stripes: 256})
			r.Grow()
			before := r.all()
			var got Stripe
			var failed any
			first = func() {
				defer func() { failed = recover() }()
				for range 20 {
					got = r.Pick()
				}
				for depth := range 20 { // whichever index it is
					atDepth(depth, func() { r.Pick() })
				}
			}
			second = r.Grow
			if stop != nil {
				second = func() {
					r.mask.Store(255)
					stop()
					r.Grow()
				}
			}
			return first, second, func() string {
				switch {
				case failed != nil:
					return "no such stripe"
				case slices.ContainsFunc(before, func(s Stripe) bool { return &s[0] == &got[0] }):
					return "a stripe of before"
				}
				return "a new stripe"
			}
		},
	}.run(t)
}

// E8: a stamp is written only after the epoch has shown it. So an unknown stamp
// is an old one if the epoch has not moved after the cell was read.
func TestLitmusE8Stamps(t *testing.T) {
	litmus{
		allowed: []string{"counted before", "must start again"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, MaxCount: 1 << 30, Stripes: 1})
			r.Wake(r.Epoch(), 0, 1)
			r.Add(r.Epoch(), Failure)
			r.Advance(r.Epoch(), 2)
			e := r.Epoch() // its cell carries the stamp of bucket 1
			first = func() {
				r.Advance(e, 3)
				r.Add(r.Epoch(), Failure)
			}
			var ok bool
			second = func() { _, ok = r.Add(e, Failure) }
			if stop != nil {
				second = func() {
					moved := r.Epoch() != e // and only then the cell
					stop()
					cell := &r.first[0][e.index()+int(Failure)]
					c := cell.Load()
					if ok = !moved && cell.CompareAndSwap(c, r.stamp(e)|1); ok {
						r.first[0][foldedWord+int(Failure)].Add(c & r.countMask)
					}
				}
			}
			return first, second, func() string {
				switch {
				case r.Totals()[Failure] != 2 && !ok, r.Totals()[Failure] != 3 && ok:
					return "lost or doubled"
				case r.Sum(r.Epoch()) != Counts{Failure: 1}:
					return "the later bucket is not its own"
				case ok:
					return "counted before"
				}
				return "must start again"
			}
		},
	}.run(t)
}

// The tempting way to count: look at the stamp, then add.
func TestLitmusCounting(t *testing.T) {
	litmus{
		allowed: []string{"counted before", "must start again"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, MaxCount: 1 << 30, Stripes: 1})
			r.Wake(r.Epoch(), 0, 1)
			e := r.Epoch()
			r.Add(e, Failure)
			first = func() {
				r.Advance(e, 2)
				r.Add(r.Epoch(), Failure)
			}
			var ok bool
			second = func() { _, ok = r.Add(e, Failure) }
			if stop != nil {
				second = func() {
					cell := &r.first[0][e.index()+int(Failure)]
					if cell.Load()&^r.countMask == r.stamp(e) {
						stop()
						cell.Add(1)
						ok = true
					}
				}
			}
			return first, second, func() string {
				switch {
				case r.Sum(r.Epoch()) != Counts{Failure: 1}:
					return "an outcome in a bucket that is not its own"
				case ok:
					return "counted before"
				}
				return "must start again"
			}
		},
	}.run(t)
}

// Totals may miss what is being folded, and never count it twice.
func TestLitmusTotals(t *testing.T) {
	litmus{
		allowed: []string{"5", "0 to 4"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, MaxCount: 1 << 30, Stripes: 1})
			r.Wake(r.Epoch(), 0, 1)
			for range 5 {
				r.Add(r.Epoch(), Failure)
			}
			r.Advance(r.Epoch(), 2)
			var total uint64
			fold := func() { r.Sweep(r.Epoch()) }
			second = func() { total = r.Totals()[Failure] }
			if stop != nil {
				second = func() { // the cells first, then what is folded
					s := r.first[0]
					total = s[r.Epoch().index()+int(Failure)].Load() & r.countMask
					stop()
					total += s[foldedWord+int(Failure)].Load()
				}
			}
			return fold, second, func() string {
				switch {
				case total > 5:
					return "more than there are"
				case total < 5:
					return "0 to 4"
				}
				return "5"
			}
		},
	}.run(t)
}
