// Package ring keeps a rolling window of outcomes, and totals, for many
// goroutines at once.
//
// Outcomes are counted in stripes. A stripe lies in cache lines of its own, so
// that a recorder writes to lines that, at best, no other processor writes to.
// It has one cell for each kind of outcome. A cell holds the count and the
// breaker's generation in one word, and counting is a compare-and-swap of the
// whole word. So a recorder that was asleep cannot put its outcome into a later
// generation:
//
//	tempting                          and wrong
//	if generationOf(cell) == mine {   the goroutine sleeps here; the cell goes to
//		count.Add(1)                  a later generation, and gets the old outcome
//	}
//
// Cells only grow. The window comes from rows: at each edge between two buckets
// one goroutine, the worker, writes down what the cells show. What the cells
// show now, less the row at the window's beginning, is the window.
//
// The ring knows no clock and no generation of its own. The caller says which
// bucket is the current one, and which generation is.
package ring

import (
	"math/bits"
	"sync/atomic"
)

// Kind is what a cell counts.
type Kind uint

const (
	Success Kind = iota
	Failure
	Slow // besides Success or Failure, not instead
	kinds
)

// Counts holds a count for every [Kind].
type Counts [kinds]uint64

// Calls returns the number of outcomes.
func (c Counts) Calls() uint64 { return c[Success] + c[Failure] }

// Options describes a ring.
type Options struct {
	Buckets  int    // of a window, 1 to 128
	Slow     bool   // keep cells for Slow
	Counters int    // plain counters beside the window
	Stripes  int    // the most stripes, a power of two
	OnCrowd  func() // told when Grow is wanted; may be nil
}

// Ring is a rolling window of outcomes. Make it with [New].
type Ring struct {
	// Read by every recorder, written when stripes change.
	mask    atomic.Uint32 // stripes in use, less one
	crowded atomic.Bool
	cells   uint8 // of a stripe: one for each kind that is kept
	buckets uint8
	salt    atomic.Uint64
	grown   atomic.Pointer[[]Stripe] // all stripes, the first included; nil while it is the only one
	first   [1]Stripe

	edge    atomic.Uint64 // written when a bucket ends
	forgets atomic.Uint32 // how often the window was emptied within a generation
	deals   atomic.Int32  // over the same stripes, since the last Grow
	floor   int16         // the place in a stripe of its floors and rows
	words   int16
	limit   int16
	onCrowd func()
}

// New makes a ring whose window is asleep.
func New(o Options) *Ring {
	r := new(Ring)
	r.Init(o)
	return r
}

// Init makes a zero Ring what New returns, for a Ring that is part of
// something larger.
func (r *Ring) Init(o Options) {
	cells := Slow
	if o.Slow {
		cells = kinds
	}
	r.cells, r.buckets = uint8(cells), uint8(o.Buckets)
	r.floor = int16(headWords + o.Counters)
	r.words = r.floor + int16(int(cells)*(1+o.Buckets+1)) // the floors, and a row more than buckets
	r.limit = int16(o.Stripes)
	r.onCrowd = o.OnCrowd
	r.first[0] = newStripe(r.words)
	r.salt.Store(firstSalt)
	r.edge.Store(uint64(edgeOf(0, 0, 0) | asleepBit))
}

// Count adds one to a plain counter of the caller's stripe.
func (r *Ring) Count(counter int) {
	if !r.Pick().Bump(counter) {
		r.Shared()
	}
}

// lookEvery is how many counts of a plain counter there are to one look at
// whether the stripe is shared: rare enough to cost nothing, often enough to
// find out within microseconds of two processors at work.
const lookEvery = 32

// Bump adds one to a plain counter. It reports false if somebody else was seen
// to do so at the same time; then call [Ring.Shared]. An atomic add cannot see
// that, and a compare-and-swap instead of it has to read first, which takes
// half as long again. So one in lookEvery is followed by a compare-and-swap
// that changes nothing.
func (s Stripe) Bump(counter int) (alone bool) {
	c := &s[headWords+counter]
	n := c.Add(1)
	return n%lookEvery != 0 || c.CompareAndSwap(n, n)
}

// AddTotal counts an outcome in the totals alone, outside any window, and
// returns the caller's stripe.
func (r *Ring) AddTotal(k Kind) Stripe {
	s := r.Pick()
	s[foldedWord+int(k)].Add(1)
	return s
}

// MaxStripes returns the default limit of stripes for a number of processors:
// four each, so that two goroutines seldom share one, rounded up to a power of two.
func MaxStripes(processors int) int {
	return min(256, 1<<bits.Len(uint(4*processors-1)))
}
