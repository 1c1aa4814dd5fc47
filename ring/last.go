package ring

import (
	"math/bits"
	"sync/atomic"
)

// Last keeps the last n outcomes, for windows counted in calls. It is one
// shared structure, not striped: the order of outcomes is what it is about.
//
// The head counts positions. A recorder claims the next position with a
// compare-and-swap of the head it read, and then sets its bits in the word
// that the position falls into; each word holds sixteen outcomes and the
// number of its lap. A claimed position that is not yet written reads as a
// success, never as a failure.
type Last struct {
	head  atomic.Uint64
	n     uint64
	words []atomic.Uint64
}

// A Head is a point in the sequence of outcomes, and the window that it closes:
//
//	 63        40 39      29 28        0
//	+------------+----------+-----------+
//	| generation |  count   | position  |
//	+------------+----------+-----------+
//
//	position    29  of the next outcome; wraps, as the words' laps do
//	count       11  outcomes of this window, at most 1024
//	generation  24  low bits; a window is of one generation
type Head uint64

const (
	positionBits  = 29
	positionMask  = 1<<positionBits - 1
	countShift    = positionBits
	countMask     = 1<<11 - 1
	headGenShift  = 40
	perWord       = 16 // outcomes in a word: failure bits 0 to 15, slow bits 16 to 31
	lapShift      = 32 // the word's number in the sequence, from there up
	wordBitsShift = 4  // log2 of perWord
)

// NewLast returns a window of the last n outcomes, n from 1 to 1024.
func NewLast(n int) *Last {
	// One word more than n outcomes fill, since the oldest lies in mid-word; a
	// power of two, so that positions may wrap.
	words := 1 << bits.Len(uint((n+2*perWord-2)/perWord-1))
	return &Last{n: uint64(n), words: make([]atomic.Uint64, max(words, 2))}
}

// Head returns the head. Like a cell it is read before the generation.
func (l *Last) Head() Head { return Head(l.head.Load()) }

// Live reports whether an outcome of generation gen may be added at h.
func (l *Last) Live(h Head, gen uint32) bool { return uint32(h>>headGenShift)^gen&(1<<24-1) == 0 }

// Begin empties the window in place of h, for generation gen.
func (l *Last) Begin(h Head, gen uint32) bool {
	next := uint64(gen)<<headGenShift | uint64(h)&positionMask
	return l.head.CompareAndSwap(uint64(h), next)
}

// Forget empties the window of the present generation.
func (l *Last) Forget() {
	for {
		h := l.head.Load()
		if l.head.CompareAndSwap(h, h&^(countMask<<countShift)) {
			return
		}
	}
}

// Add appends an outcome at h and returns the head after it. It fails if the
// head has moved on; the caller then starts again from the head.
func (l *Last) Add(h Head, failed, slow bool) (Head, bool) {
	position := uint64(h) & positionMask
	count := min(h.count()+1, l.n)
	next := uint64(h)>>headGenShift<<headGenShift | count<<countShift | (position+1)&positionMask
	if !l.head.CompareAndSwap(uint64(h), next) {
		return h, false
	}
	bit := uint64(1) << (position % perWord)
	var set uint64
	if failed {
		set |= bit
	}
	if slow {
		set |= bit << perWord
	}
	lap := position >> wordBitsShift
	word := &l.words[lap%uint64(len(l.words))]
	for {
		c := word.Load()
		next := c | set
		if c>>lapShift != lap {
			if laterLap(c>>lapShift, lap) {
				break // overtaken by a whole lap: this outcome has left the window
			}
			next = lap<<lapShift | set
		}
		if c == next || word.CompareAndSwap(c, next) {
			break
		}
	}
	return Head(next), true
}

// laterLap reports whether word number a comes after b in the wrapping sequence.
func laterLap(a, b uint64) bool {
	const lapBits = positionBits - wordBitsShift
	return (a-b)&(1<<lapBits-1) < 1<<(lapBits-1)
}

func (h Head) count() uint64 { return uint64(h) >> countShift & countMask }

// Sum returns what the window that ends at h holds.
func (l *Last) Sum(h Head) Counts {
	var failed, slow int
	end := uint64(h) & positionMask
	for left := h.count(); left > 0; {
		last := (end - 1) & positionMask
		lap := last >> wordBitsShift
		inWord := min(last%perWord+1, left)
		mask := (uint64(1)<<inWord - 1) << (last%perWord + 1 - inWord)
		if c := l.words[lap%uint64(len(l.words))].Load(); c>>lapShift == lap {
			failed += bits.OnesCount64(c & mask)
			slow += bits.OnesCount64(c & (mask << perWord))
		}
		left -= inWord
		end -= inWord
	}
	return Counts{Success: h.count() - uint64(failed), Failure: uint64(failed), Slow: uint64(slow)}
}
