// Package ring keeps a rolling window of outcomes, and totals, for many
// goroutines at once.
//
// Outcomes are counted in buckets, and buckets in stripes: each stripe holds
// all buckets and lies in cache lines of its own, so that a recorder writes to
// lines that, at best, no other processor writes to. A bucket's cell is one
// word that holds the stamp of the bucket and the count together. Counting is
// a compare-and-swap of the whole word, so that a recorder that was asleep
// cannot put its outcome into a bucket that has been given away:
//
//	tempting                         and wrong
//	if stampOf(cell) == now {        the goroutine sleeps here; the cell is
//		count.Add(1)                 stamped for a later bucket, and gets the
//	}                                old outcome
//
// The ring knows no clock. Which bucket is filled is told by the caller, who
// moves the [Epoch]; a new generation makes a new window without touching a
// cell, because stamps carry the generation.
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
	MaxCount uint64 // the most that one bucket can ever count, below 2^47
	Slow     bool   // keep cells for Slow
	Counters int    // plain counters beside the window
	Stripes  int    // the most stripes, a power of two
	OnCrowd  func() // told when Grow is wanted; may be nil
}

// Ring is a rolling window of outcomes. Make it with [New].
type Ring struct {
	// Read by every recorder, written when a bucket ends or stripes change.
	epoch   atomic.Uint64
	mask    atomic.Uint32 // stripes in use, less one
	crowded atomic.Bool
	salt    atomic.Uint64
	grown   atomic.Pointer[[]Stripe] // all stripes, the first included; nil while it is the only one
	first   [1]Stripe

	layout
	words   int16
	limit   int16
	deals   atomic.Int32 // over the same stripes, since the last Grow
	onCrowd func()
	slept   atomic.Uint64 // absolute bucket number at which the window fell asleep
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
	head := headWords + o.Counters
	r.layout = newLayout(o.Buckets, o.MaxCount, head, int(cells))
	r.words = int16(head + o.Buckets*int(cells))
	r.limit = int16(o.Stripes)
	r.onCrowd = o.OnCrowd
	r.first[0] = newStripe(r.words)
	r.salt.Store(firstSalt)
	r.epoch.Store(uint64(r.at(0, 0)) | asleepBit)
}

// Epoch returns the epoch. Read it before reading which generation is current:
// then an epoch that [Ring.Live] says belongs to that generation is not older
// than it.
func (r *Ring) Epoch() Epoch { return Epoch(r.epoch.Load()) }

// Live reports whether outcomes of generation gen may be counted under e.
// Otherwise somebody has to [Ring.Wake] the ring first.
func (r *Ring) Live(e Epoch, gen uint32) bool {
	return r.Belongs(e, gen) && !e.asleep()
}

// Add counts one outcome in e's bucket, in the caller's stripe, which it
// returns. It fails if the epoch has moved on in the meantime; the caller then
// starts again from the epoch.
func (r *Ring) Add(e Epoch, k Kind) (Stripe, bool) {
	s := r.Pick()
	i := uint(e.index()) + uint(k)
	if i >= uint(len(s)) {
		panic("ring: foreign epoch")
	}
	cell := &s[i]
	for {
		c := cell.Load()
		if c^uint64(e) > r.countMask {
			return s, r.addSlow(s, cell, c, e, k)
		}
		if cell.CompareAndSwap(c, c+1) {
			return s, true
		}
		r.Shared()
	}
}

// addSlow counts in a cell that carries another bucket's stamp. [E8] A stamp is
// only ever written after the epoch has shown it. So if the epoch is still e
// after the cell was read, the cell's stamp is an older one: its count is
// folded into the stripe's totals and the cell is taken over.
func (r *Ring) addSlow(s Stripe, cell *atomic.Uint64, c uint64, e Epoch, k Kind) bool {
	for {
		if r.Epoch() != e {
			return false
		}
		if cell.CompareAndSwap(c, r.stamp(e)|1) {
			s[foldedWord+int(k)].Add(c & r.countMask)
			return true
		}
		r.Shared()
		c = cell.Load()
		if c^uint64(e) <= r.countMask {
			if cell.CompareAndSwap(c, c+1) {
				return true
			}
			c = cell.Load()
		}
	}
}

// Peek is the first half of the fast path of [Ring.Add], small enough to be
// inlined: it finds the cell of e's bucket in the caller's stripe s, and its
// value. It reports false if the cell is still another bucket's; then call Add.
// The second half is [Hit]. In halves, so that a caller who has another atomic
// write to do can do it in between: reads wait for the atomic write before them.
func (r *Ring) Peek(s Stripe, e Epoch, k Kind) (cell *atomic.Uint64, value uint64, ok bool) {
	i := uint(e.index()) + uint(k)
	if i >= uint(len(s)) {
		return nil, 0, false
	}
	cell = &s[i]
	value = cell.Load()
	return cell, value, value^uint64(e) <= r.countMask
}

// Hit counts in a cell that Peek has found, unless somebody else has written to
// it in the meantime; then call [Ring.Missed] and Add.
func Hit(cell *atomic.Uint64, value uint64) bool { return cell.CompareAndSwap(value, value+1) }

// Missed notes why a Hit failed: if the cell is e's, somebody else wrote to it.
func (r *Ring) Missed(s Stripe, e Epoch, k Kind) {
	if s[e.index()+int(k)].Load()^uint64(e) <= r.countMask {
		r.Shared()
	}
}

// Count adds one to a plain counter of the caller's stripe.
func (r *Ring) Count(counter int) {
	if s := r.Pick(); !s.Bump(counter) {
		r.Look(s, counter)
	}
}

// lookEvery is how many counts of a plain counter there are to one look at
// whether the stripe is shared: rare enough to cost nothing, often enough to
// find out within microseconds of two processors at work.
const lookEvery = 32

// Bump adds one to a plain counter. It reports false once in lookEvery counts:
// then call [Ring.Look], and do whatever else is worth doing as seldom.
func (s Stripe) Bump(counter int) bool { return s[headWords+counter].Add(1)%lookEvery != 0 }

// Look finds out whether somebody else counts in the caller's stripe. An atomic
// add cannot see that, and a compare-and-swap instead of it has to read first,
// which takes half as long again. So it is a compare-and-swap that changes
// nothing, seldom.
func (r *Ring) Look(s Stripe, counter int) {
	c := &s[headWords+counter]
	if n := c.Load(); !c.CompareAndSwap(n, n) {
		r.Shared()
	}
}

// AddTotal counts an outcome in the totals alone, outside any window, and
// returns the caller's stripe.
func (r *Ring) AddTotal(k Kind) Stripe {
	s := r.Pick()
	s[foldedWord+int(k)].Add(1)
	return s
}

// Wake begins a window in bucket number, for generation gen, in place of e,
// which is not Live. It fails if the epoch is no longer e. A window that has
// slept for less than its length wakes with what it holds.
func (r *Ring) Wake(e Epoch, gen uint32, number uint64) bool {
	tag := r.genTag(gen)
	if r.Belongs(e, gen) {
		tag = r.tag(e)
		if number-r.slept.Load() >= r.buckets {
			tag = r.nextFresh(tag)
		}
	}
	r.Narrow()
	return r.epoch.CompareAndSwap(uint64(e), uint64(r.at(tag, number)))
}

// At reports whether e is the epoch of bucket number.
func (r *Ring) At(e Epoch, number uint64) bool { return r.at(r.tag(e), number) == e }

// Advance moves a live epoch e on to bucket number. It reports whether the
// epoch was e. Call [Ring.Sweep] afterwards.
func (r *Ring) Advance(e Epoch, number uint64) bool {
	return r.epoch.CompareAndSwap(uint64(e), uint64(r.at(r.tag(e), number)))
}

// Sleep puts a live epoch e, whose absolute bucket number is number, to sleep.
// It must not run concurrently with itself.
func (r *Ring) Sleep(e Epoch, number uint64) bool {
	r.slept.Store(number)
	return r.epoch.CompareAndSwap(uint64(e), uint64(e)|asleepBit)
}

// Forget empties the window of the present generation.
func (r *Ring) Forget() {
	for {
		e := r.Epoch()
		next := uint64(e)&^r.tag(e) | r.nextFresh(r.tag(e))
		if r.epoch.CompareAndSwap(uint64(e), next) {
			return
		}
	}
}

// MaxStripes returns the default limit of stripes for a number of processors:
// four each, so that two goroutines seldom share one, rounded up to a power of two.
func MaxStripes(processors int) int {
	return min(256, 1<<bits.Len(uint(4*processors-1)))
}
