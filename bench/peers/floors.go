package peers

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/atomicbreaker/breaker/bench/peers/rival"
	"golang.org/x/sys/cpu"
)

// A Floor is the cost of the least that a breaker could do, run through the same
// harness as the breakers.
type Floor struct {
	Name string
	What string

	// New returns what each goroutine calls Local on to get an operation of
	// its own.
	New func() (local func() rival.Call)
}

// Names of the floors that breakers are compared with.
const (
	FloorReject = "reject" // what refusing must cost: see the row refused-open
	FloorClosed = "closed" // what a ticket must cost while closed
	FloorDo     = "do"     // what a wrapper must cost while closed
)

// FloorOf returns the name of the floor that a subject is compared with in a row.
func FloorOf(row rival.Row, s rival.Subject) string {
	switch {
	case row == rival.RefusedOpen || row == rival.RefusedHalfOpen:
		return FloorReject
	case s.Wrapper():
		return FloorDo
	default:
		return FloorClosed
	}
}

// line is one word on cache lines of its own. 128 bytes because processors fetch
// lines in pairs, more where a line is longer.
type line struct {
	_ [falseSharing]byte
	n atomic.Uint64
	_ [falseSharing - unsafe.Sizeof(atomic.Uint64{})]byte
}

const falseSharing = max(128, unsafe.Sizeof(cpu.CacheLinePad{}))

// Floors returns every floor.
func Floors() []Floor {
	shared := func(op func(*line) bool) func() func() rival.Call {
		return func() func() rival.Call {
			l := new(line)
			return func() rival.Call { return func() bool { return op(l) } }
		}
	}
	// Each goroutine writes to a line of its own and reads one that nobody writes.
	own := func(op func(word, own *line) bool) func() func() rival.Call {
		return func() func() rival.Call {
			word := new(line)
			return func() rival.Call {
				mine := new(line)
				return func() bool { return op(word, mine) }
			}
		}
	}
	epoch := time.Now()
	var mu sync.Mutex
	var rw sync.RWMutex
	return []Floor{
		{"empty", "the harness: a call of a function value that returns true",
			shared(func(*line) bool { return true })},
		{"load", "one atomic load and a comparison",
			shared(func(l *line) bool { return l.n.Load() == 0 })},
		{FloorReject, "one atomic load and one add on a line of one's own",
			own(func(word, mine *line) bool { ok := word.n.Load() == 0; mine.n.Add(1); return ok })},
		{FloorDo, "the same as reject: what a counting wrapper must do",
			own(func(word, mine *line) bool { ok := word.n.Load() == 0; mine.n.Add(1); return ok })},
		{FloorClosed, "load, swap on a line of one's own, load, add on it",
			own(func(word, mine *line) bool {
				ok := word.n.Load() == 0
				mine.n.Swap(1)
				ok = ok && word.n.Load() == 0
				mine.n.Add(1)
				return ok
			})},
		{"add-shared", "one atomic add on a line that all goroutines write",
			shared(func(l *line) bool { return l.n.Add(1) != 0 })},
		{"cas-shared", "load and compare-and-swap on such a line",
			shared(func(l *line) bool { n := l.n.Load(); l.n.CompareAndSwap(n, n+1); return true })},
		{"time.Now", "one reading of wall clock and monotonic clock",
			shared(func(*line) bool { return !time.Now().IsZero() })},
		{"time.Since", "one reading of the monotonic clock",
			shared(func(*line) bool { return time.Since(epoch) >= 0 })},
		{"mutex", "lock and unlock of a sync.Mutex",
			shared(func(*line) bool { enter(&mu); return true })},
		{"rwmutex-read", "read lock and unlock of a sync.RWMutex",
			shared(func(*line) bool { enter(rw.RLocker()); return true })},
	}
}

// enter goes through an empty section.
func enter(l sync.Locker) {
	l.Lock()
	//lint:ignore SA2001 the section is empty because the lock is what is measured
	l.Unlock()
}
