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
			r := New(Options{Buckets: 1, Stripes: 256})
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

// E8: who makes a cell live looks afterwards whether the window sleeps; who puts
// it to sleep says so before looking at the cells. So no live cell is left in a
// window that nobody moves.
func TestLitmusE8Sleep(t *testing.T) {
	litmus{
		allowed: []string{"awake"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, Stripes: 1})
			r.begin(0, 1)
			e := r.Edge()
			first = func() { r.Sleep(e, 0) }
			count := func(between func()) {
				s := r.Pick()
				n := s.Peek(Failure)
				s.Take(Failure, n, 0)
				between()
				if !r.Edge().Awake(0) {
					r.begin(0, 2)
				}
			}
			second = func() { count(func() {}) }
			if stop != nil {
				second = func() {
					awake := r.Edge().Awake(0) // and only then the cell
					stop()
					s := r.Pick()
					s.Take(Failure, s.Peek(Failure), 0)
					if !awake {
						r.begin(0, 2)
					}
				}
			}
			return first, second, func() string {
				if r.Edge().Awake(0) {
					return "awake"
				}
				return "a live cell in a window that sleeps"
			}
		},
	}.run(t)
}

// The tempting way to count: look at the generation, then add.
func TestLitmusCounting(t *testing.T) {
	litmus{
		allowed: []string{"counted before", "must start again"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, Stripes: 1})
			r.add(0, Failure, func() { r.begin(0, 1) })
			first = func() { r.add(1, Failure, func() { r.begin(1, 2) }) }
			s := r.Pick()
			var ok bool
			second = func() {
				n := s.Peek(Failure)
				ok = Live(n, 0) && s.Hit(Failure, n)
			}
			if stop != nil {
				second = func() {
					if Live(s.Peek(Failure), 0) {
						stop()
						s[cellWord+int(Failure)].Add(1)
						ok = true
					}
				}
			}
			return first, second, func() string {
				switch {
				case r.Sum(1) != Counts{Failure: 1}:
					return "an outcome in a generation that is not its own"
				case ok:
					return "counted before"
				}
				return "must start again"
			}
		},
	}.run(t)
}

// The tempting way to count in a cell of another generation: to go on with what
// the cell shows after a compare-and-swap has failed, without looking whose it
// is by now.
func TestLitmusTaking(t *testing.T) {
	litmus{
		allowed: []string{"both"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, Stripes: 1})
			r.add(0, Failure, func() { r.begin(0, 1) })
			r.begin(1, 2)
			fail := func() { r.add(1, Failure, func() {}) }
			first, second = fail, fail
			if stop != nil {
				second = func() {
					s := r.Pick()
					stop()
					if n := s.Peek(Failure); !s.Take(Failure, n&^liveBit, 1) {
						s[cellWord+int(Failure)].CompareAndSwap(n, tagOf(1)|liveBit|1)
					}
				}
			}
			return first, second, func() string {
				if r.Sum(1) != (Counts{Failure: 2}) {
					return "an outcome is lost"
				}
				return "both"
			}
		},
	}.run(t)
}

// Totals may miss what goes to a new generation, and never count it twice.
func TestLitmusTotals(t *testing.T) {
	litmus{
		allowed: []string{"6", "0 to 5"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			r := New(Options{Buckets: 1, Stripes: 1})
			for range 5 {
				r.add(0, Failure, func() { r.begin(0, 1) })
			}
			var total uint64
			first = func() { r.add(1, Failure, func() { r.begin(1, 2) }) }
			second = func() { total = r.Totals()[Failure] }
			if stop != nil {
				second = func() { // the cells first, then what is folded
					s := r.first[0]
					total = s.Peek(Failure) & cellMask
					stop()
					total += s[foldedWord+int(Failure)].Load()
				}
			}
			return first, second, func() string {
				switch {
				case total > 6:
					return "more than there are"
				case total < 6:
					return "0 to 5"
				}
				return "6"
			}
		},
	}.run(t)
}
