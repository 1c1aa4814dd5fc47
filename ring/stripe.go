package ring

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// lineSize keeps two stripes apart. 128 rather than 64 because processors
// fetch lines in pairs; more where a line is longer still.
const lineSize = max(128, unsafe.Sizeof(cpu.CacheLinePad{}))

const lineWords = int(lineSize / 8)

type line [lineWords]atomic.Uint64

// A Stripe is the part of a ring that one processor, at best, writes to, in
// lines of its own. What calls write comes first, what the worker writes last:
//
//	cells    one for each kind
//	folded   totals of generations that are over, one for each kind
//	failing  whether the last outcome was a failure
//	due      see Look
//	counters
//	floors   what the cells showed when the window was emptied last
//	rows     what they showed at the edges of buckets, one row more than buckets
type Stripe []atomic.Uint64

const (
	cellWord    = 0
	foldedWord  = cellWord + int(kinds)
	failingWord = foldedWord + int(kinds)
	dueWord     = failingWord + 1
	headWords   = dueWord + 1
)

// newStripe allocates a stripe. Its lines hold no pointer, so that the
// allocator puts no header before them and each starts on a line of the
// machine.
func newStripe(words int16) Stripe {
	lines := make([]line, (int(words)+lineWords-1)/lineWords)
	return unsafe.Slice(&lines[0][0], len(lines)*lineWords)
}

// all returns every stripe that holds counts.
func (r *Ring) all() []Stripe {
	if grown := r.grown.Load(); grown != nil {
		return *grown
	}
	return r.first[:]
}

// Failing reports whether the stripe's last outcome was a failure.
func (s Stripe) Failing() bool { return s[failingWord].Load() != 0 }

// SetFailing notes whether the stripe's last outcome was a failure.
func (s Stripe) SetFailing(failing bool) {
	var v uint64
	if failing {
		v = 1
	}
	s[failingWord].Store(v)
}

// Pick returns the caller's stripe. A goroutine keeps the stripe that the
// page of its stack falls on, for as long as neither the salt nor the number
// of stripes changes: the only cheap thing that tells goroutines apart and
// that Go lets one see (2 to 3 ns; a sync.Pool token takes 15).
func (r *Ring) Pick() Stripe {
	mask := r.mask.Load() // [E6 observe] before the stripes
	if mask == 0 {
		return r.first[0]
	}
	var here byte
	page := uint64(uintptr(unsafe.Pointer(&here))) >> 11 // the smallest stack is 2 KiB
	stripes := *r.grown.Load()
	i := page * r.salt.Load() >> 33 & uint64(mask)
	return stripes[i]
}

// Shared notes that somebody else was seen to write to the caller's stripe, and
// deals the goroutines again: over twice the stripes or, if all are in use, over
// the same ones, because two that collide without end would cost more than a
// stripe. If the stripes have to be made first, it asks for [Ring.Grow].
func (r *Ring) Shared() {
	if r.crowded.Load() || !r.crowded.CompareAndSwap(false, true) {
		return // somebody is at it
	}
	if !r.deal() && r.onCrowd != nil {
		r.onCrowd()
	}
}

// Crowded reports whether a stripe was seen to be shared, and nobody has
// done anything about it.
func (r *Ring) Crowded() bool { return r.crowded.Load() }

// Grow makes more stripes for a crowded ring, up to the limit, and deals the
// goroutines again, also if that was done too often since the last Grow. It must
// not run concurrently with itself.
func (r *Ring) Grow() {
	r.deals.Store(0)
	all := r.all()
	if want := 2 * r.InUse(); want <= int(r.limit) && len(all) < want {
		stripes := append(make([]Stripe, 0, want), all...)
		for len(stripes) < want {
			stripes = append(stripes, newStripe(r.words))
		}
		r.grown.Store(&stripes) // [E6 publish] before the mask: every index under it exists
	}
	r.deal()
}

// deal spreads the goroutines over twice the stripes, as far as they exist, or
// else anew over the same ones. It reports false if there should be more. Two
// at a time do no harm: one of them changes the mask, and any odd salt is good.
func (r *Ring) deal() bool {
	mask := r.mask.Load()
	switch inUse := int(mask) + 1; {
	case inUse < int(r.limit):
		if len(r.all()) < 2*inUse {
			return false
		}
		r.mask.CompareAndSwap(mask, uint32(2*inUse-1)) // or it was narrowed in the meantime
		r.deals.Store(0)
	case r.deals.Add(1) > maxDeals:
		return true // crowded stays set: enough of it until the next Grow
	}
	r.salt.Store(r.salt.Load()*saltStep + 2)
	r.crowded.Store(false)
	return true
}

// Narrow goes back to one stripe, so that a single goroutine's outcomes lie
// in one place and trip rules are exact for it. Stripes are kept, and counts
// on them are kept.
func (r *Ring) Narrow() {
	r.mask.Store(0)
	r.crowded.Store(false)
}

// InUse returns the number of stripes that outcomes are spread over.
func (r *Ring) InUse() int { return int(r.mask.Load()) + 1 }

// Stripes returns the number of stripes that hold counts.
func (r *Ring) Stripes() int { return len(r.all()) }

const (
	// maxDeals bounds how often a crowded ring at its limit is dealt anew before
	// the next Grow. With twice as many stripes as goroutines at work a deal without a
	// collision comes after a few tries; with more goroutines none is better.
	maxDeals = 16

	// firstSalt is 2^64 divided by the golden ratio (Knuth, The Art of Computer
	// Programming, vol. 3, section 6.4); saltStep is the multiplier of
	// Knuth's MMIX generator. Odd times odd plus an even number stays odd.
	firstSalt = 0x9e3779b97f4a7c15
	saltStep  = 6364136223846793005
)
