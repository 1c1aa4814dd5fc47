package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/locked"
)

// row is one thing to measure.
type row struct {
	name  string // the keys after the benchmark's name
	start func(testing.TB) work
}

// work is a row on a breaker of its own. body makes n calls as the given
// worker and returns how many of them were admitted. It is written out for
// each breaker, because a call through an interface or a type parameter would
// cost as much as what it calls. books reports how many calls the breaker has
// counted.
type work struct {
	admits bool // all calls, or else none
	body   func(worker, n int) (admitted int)
	books  func() uint64
}

var (
	errBroken  = errors.New("broken")
	background = context.Background()
)

func nothing(context.Context) error { return nil }

// line is a counter on a cache line of its own.
type line struct {
	n atomic.Uint64
	_ [128 - 8]byte
}

// lines are enough for every worker, on pages that hold nothing else.
func lines() []line { return make([]line, 1024) }

func sum(all []line) (n uint64) {
	for i := range all {
		n += all[i].n.Load()
	}
	return n
}

// tripped is the configuration of the breakers that stay open, and steady that of the
// closed ones, which 10 % failures must not trip.
func tripped() atomicbreaker.Config {
	return atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: 24 * time.Hour}}
}

func steady() atomicbreaker.Config { return atomicbreaker.Config{FailureRate: 0.5} }

// probed is the configuration of the breakers whose first probe is under way: it
// may take its time. The mode is how they become half-open without waiting.
func probed() atomicbreaker.Config {
	return atomicbreaker.Config{
		Recovery: atomicbreaker.Recovery{Quiet: 24 * time.Hour, ProbeTimeout: 24 * time.Hour},
		Mode:     atomicbreaker.ForcedOpen,
	}
}

func newAtomic(tb testing.TB, c atomicbreaker.Config) *atomicbreaker.Breaker {
	b, err := atomicbreaker.New(c)
	check(tb, err)
	return b
}

func newMutex(tb testing.TB, c atomicbreaker.Config) *locked.Mutex {
	b, err := locked.NewMutex(c)
	check(tb, err)
	return b
}

func newRWMutex(tb testing.TB, c atomicbreaker.Config) *locked.RWMutex {
	b, err := locked.NewRWMutex(c)
	check(tb, err)
	return b
}

func check(tb testing.TB, err error) {
	if err != nil {
		tb.Fatal(err)
	}
}

func refusedBy(snapshot func() atomicbreaker.Snapshot) func() uint64 {
	return func() uint64 { return snapshot().Refused() }
}

func refusedHalfOpenBy(snapshot func() atomicbreaker.Snapshot) func() uint64 {
	return func() uint64 { return snapshot().RefusedHalfOpen }
}

func settledBy(snapshot func() atomicbreaker.Snapshot) func() uint64 {
	return func() uint64 { s := snapshot(); return s.Succeeded + s.Failed }
}

// refused are the rows of an open breaker: by Acquire and by Do.
var refused = []row{
	{"impl=floor/path=Acquire", refusedFloor},
	{"impl=atomic/path=Acquire", func(tb testing.TB) work {
		b := newAtomic(tb, tripped())
		b.Trip()
		return work{body: acquireAtomic(b), books: refusedBy(b.Snapshot)}
	}},
	{"impl=mutex/path=Acquire", func(tb testing.TB) work {
		b := newMutex(tb, tripped())
		b.Trip()
		return work{body: acquireMutex(b), books: refusedBy(b.Snapshot)}
	}},
	{"impl=rwmutex/path=Acquire", func(tb testing.TB) work {
		b := newRWMutex(tb, tripped())
		b.Trip()
		return work{body: acquireRWMutex(b), books: refusedBy(b.Snapshot)}
	}},
	{"impl=floor/path=Do", refusedFloor},
	{"impl=atomic/path=Do", func(tb testing.TB) work {
		b := newAtomic(tb, tripped())
		b.Trip()
		return work{body: doAtomic(b), books: refusedBy(b.Snapshot)}
	}},
	{"impl=mutex/path=Do", func(tb testing.TB) work {
		b := newMutex(tb, tripped())
		b.Trip()
		return work{body: doMutex(b), books: refusedBy(b.Snapshot)}
	}},
	{"impl=rwmutex/path=Do", func(tb testing.TB) work {
		b := newRWMutex(tb, tripped())
		b.Trip()
		return work{body: doRWMutex(b), books: refusedBy(b.Snapshot)}
	}},
}

// halfOpenRefused are the rows of a half-open breaker whose probe is under way.
var halfOpenRefused = []row{
	{"impl=floor/path=Acquire", refusedFloor},
	{"impl=atomic/path=Acquire", func(tb testing.TB) work {
		b := newAtomic(tb, probed())
		b.SetMode(atomicbreaker.Auto)
		_, err := b.Acquire()
		check(tb, err)
		return work{body: acquireAtomic(b), books: refusedHalfOpenBy(b.Snapshot)}
	}},
	{"impl=mutex/path=Acquire", func(tb testing.TB) work {
		b := newMutex(tb, probed())
		b.SetMode(atomicbreaker.Auto)
		_, err := b.Acquire()
		check(tb, err)
		return work{body: acquireMutex(b), books: refusedHalfOpenBy(b.Snapshot)}
	}},
	{"impl=rwmutex/path=Acquire", func(tb testing.TB) work {
		b := newRWMutex(tb, probed())
		b.SetMode(atomicbreaker.Auto)
		_, err := b.Acquire()
		check(tb, err)
		return work{body: acquireRWMutex(b), books: refusedHalfOpenBy(b.Snapshot)}
	}},
}

// refusedFloor is what an exactly counted refusal cannot do without: to look
// at the state and to count.
func refusedFloor(testing.TB) work {
	state, counts := new(line), lines()
	state.n.Store(1)
	return work{body: func(worker, n int) (admitted int) {
		count := &counts[worker].n
		for range n {
			if state.n.Load() == 0 {
				admitted++
			}
			count.Add(1)
		}
		return admitted
	}, books: func() uint64 { return sum(counts) }}
}

func acquireAtomic(b *atomicbreaker.Breaker) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if _, err := b.Acquire(); err == nil {
				admitted++
			}
		}
		return admitted
	}
}

func acquireMutex(b *locked.Mutex) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if _, err := b.Acquire(); err == nil {
				admitted++
			}
		}
		return admitted
	}
}

func acquireRWMutex(b *locked.RWMutex) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if _, err := b.Acquire(); err == nil {
				admitted++
			}
		}
		return admitted
	}
}

// closed are the rows of a closed breaker by Acquire and Done, without and with
// failures.
func closed(failures int) []row {
	every := 0 // every so many-th call fails, none for 0
	if failures > 0 {
		every = 100 / failures
	}
	keys := func(impl string) string { return fmt.Sprintf("impl=%s/path=Acquire+Done/failures=%d", impl, failures) }
	return []row{
		{keys("floor"), closedFloor},
		{keys("atomic"), func(tb testing.TB) work {
			b := newAtomic(tb, steady())
			return work{admits: true, body: callAtomic(b, every), books: settledBy(b.Snapshot)}
		}},
		{keys("mutex"), func(tb testing.TB) work {
			b := newMutex(tb, steady())
			return work{admits: true, body: callMutex(b, every), books: settledBy(b.Snapshot)}
		}},
		{keys("rwmutex"), func(tb testing.TB) work {
			b := newRWMutex(tb, steady())
			return work{admits: true, body: callRWMutex(b, every), books: settledBy(b.Snapshot)}
		}},
	}
}

// closedFloor is what a call that is settled once and counted cannot do
// without: to look at the state, to mark its ticket, to look at the state
// again, and to count.
func closedFloor(testing.TB) work {
	state, tickets, counts := new(line), lines(), lines()
	return work{admits: true, body: func(worker, n int) (admitted int) {
		ticket, count := &tickets[worker].n, &counts[worker].n
		for range n {
			if state.n.Load() == 0 {
				admitted++
			}
			ticket.Swap(1)
			if state.n.Load() == 0 {
				count.Add(1)
			}
		}
		return admitted
	}, books: func() uint64 { return sum(counts) }}
}

// The callers' failures are spread evenly; workers begin at different places.

func callAtomic(b *atomicbreaker.Breaker, every int) func(worker, n int) int {
	return func(worker, n int) (admitted int) {
		if every == 0 {
			for range n {
				ticket, err := b.Acquire()
				if err == nil {
					admitted++
				}
				ticket.Done(context.Background(), nil)
			}
			return admitted
		}
		next := worker%every + 1
		for range n {
			ticket, err := b.Acquire()
			if err == nil {
				admitted++
			}
			if next--; next == 0 {
				next = every
				ticket.Done(context.Background(), errBroken)
			} else {
				ticket.Done(context.Background(), nil)
			}
		}
		return admitted
	}
}

func callMutex(b *locked.Mutex, every int) func(worker, n int) int {
	return func(worker, n int) (admitted int) {
		if every == 0 {
			for range n {
				ticket, err := b.Acquire()
				if err == nil {
					admitted++
				}
				ticket.Done(context.Background(), nil)
			}
			return admitted
		}
		next := worker%every + 1
		for range n {
			ticket, err := b.Acquire()
			if err == nil {
				admitted++
			}
			if next--; next == 0 {
				next = every
				ticket.Done(context.Background(), errBroken)
			} else {
				ticket.Done(context.Background(), nil)
			}
		}
		return admitted
	}
}

func callRWMutex(b *locked.RWMutex, every int) func(worker, n int) int {
	return func(worker, n int) (admitted int) {
		if every == 0 {
			for range n {
				ticket, err := b.Acquire()
				if err == nil {
					admitted++
				}
				ticket.Done(context.Background(), nil)
			}
			return admitted
		}
		next := worker%every + 1
		for range n {
			ticket, err := b.Acquire()
			if err == nil {
				admitted++
			}
			if next--; next == 0 {
				next = every
				ticket.Done(context.Background(), errBroken)
			} else {
				ticket.Done(context.Background(), nil)
			}
		}
		return admitted
	}
}

// closedDo are the rows of a closed breaker by Do.
var closedDo = []row{
	{"impl=floor/path=Do", func(testing.TB) work {
		state, counts := new(line), lines()
		return work{admits: true, body: func(worker, n int) (admitted int) {
			count := &counts[worker].n
			for range n {
				if state.n.Load() == 0 {
					admitted++
				}
				count.Add(1)
			}
			return admitted
		}, books: func() uint64 { return sum(counts) }}
	}},
	{"impl=atomic/path=Do", func(tb testing.TB) work {
		b := newAtomic(tb, steady())
		return work{admits: true, body: doAtomic(b), books: settledBy(b.Snapshot)}
	}},
	{"impl=mutex/path=Do", func(tb testing.TB) work {
		b := newMutex(tb, steady())
		return work{admits: true, body: doMutex(b), books: settledBy(b.Snapshot)}
	}},
	{"impl=rwmutex/path=Do", func(tb testing.TB) work {
		b := newRWMutex(tb, steady())
		return work{admits: true, body: doRWMutex(b), books: settledBy(b.Snapshot)}
	}},
}

func doAtomic(b *atomicbreaker.Breaker) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if err := b.Do(background, nothing); err == nil {
				admitted++
			}
		}
		return admitted
	}
}

func doMutex(b *locked.Mutex) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if err := b.Do(background, nothing); err == nil {
				admitted++
			}
		}
		return admitted
	}
}

func doRWMutex(b *locked.RWMutex) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if err := b.Do(background, nothing); err == nil {
				admitted++
			}
		}
		return admitted
	}
}

// asked are the rows of the questions, which count nothing.
var asked = []row{
	{"impl=floor/path=closed", func(testing.TB) work {
		state := new(line)
		return work{admits: true, body: func(_, n int) (admitted int) {
			for range n {
				if state.n.Load() == 0 {
					admitted++
				}
			}
			return admitted
		}}
	}},
	{"impl=atomic/path=closed", func(tb testing.TB) work {
		return work{admits: true, body: readyAtomic(newAtomic(tb, steady()))}
	}},
	{"impl=mutex/path=closed", func(tb testing.TB) work {
		return work{admits: true, body: readyMutex(newMutex(tb, steady()))}
	}},
	{"impl=rwmutex/path=closed", func(tb testing.TB) work {
		return work{admits: true, body: readyRWMutex(newRWMutex(tb, steady()))}
	}},
	{"impl=floor/path=open", func(testing.TB) work {
		state := new(line)
		state.n.Store(1)
		return work{body: func(_, n int) (admitted int) {
			for range n {
				if state.n.Load() == 0 {
					admitted++
				}
			}
			return admitted
		}}
	}},
	{"impl=atomic/path=open", func(tb testing.TB) work {
		b := newAtomic(tb, tripped())
		b.Trip()
		return work{body: readyAtomic(b)}
	}},
	{"impl=mutex/path=open", func(tb testing.TB) work {
		b := newMutex(tb, tripped())
		b.Trip()
		return work{body: readyMutex(b)}
	}},
	{"impl=rwmutex/path=open", func(tb testing.TB) work {
		b := newRWMutex(tb, tripped())
		b.Trip()
		return work{body: readyRWMutex(b)}
	}},
}

// Not inlined: the compiler would copy the body into its caller before it has
// inlined Ready, and call it from there.
//
//go:noinline
func readyAtomic(b *atomicbreaker.Breaker) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if b.Ready() {
				admitted++
			}
		}
		return admitted
	}
}

//go:noinline
func readyMutex(b *locked.Mutex) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if b.Ready() {
				admitted++
			}
		}
		return admitted
	}
}

//go:noinline
func readyRWMutex(b *locked.RWMutex) func(_, n int) int {
	return func(_, n int) (admitted int) {
		for range n {
			if b.Ready() {
				admitted++
			}
		}
		return admitted
	}
}
