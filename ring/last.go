package ring

import (
	"math/bits"
	"sync/atomic"
)

// Last keeps the last n outcomes, for windows counted in calls. It is one
// shared structure, not striped: the order of outcomes is what it is about.
//
// Outcomes lie in words of sixteen. An outcome is appended by one
// compare-and-swap of the word that is being filled, which sets its place and
// its value at once: no place is ever taken and not yet written. The head names
// that word, and moves to the next one only when this one is full or sealed;
// from then on the word does not change until its slot is used again, which is
// after all words of a window have been passed.
//
// So a recorder that reads the word being filled, then the words before it, and
// then succeeds in its compare-and-swap, has read exactly the window that its
// outcome ends.
//
// A window begins with a word of its own. One who empties the window seals the
// word that is being filled, so that nothing can be appended to it any more,
// and moves the head on; a recorder that finds a sealed word does so for him.
type Last struct {
	head  atomic.Uint64
	n     uint64
	words []atomic.Uint64
}

// A Head names the word that is being filled and the window it belongs to:
//
//	 63        40 39    33 32    26 25        0
//	+------------+--------+--------+-----------+
//	| generation | window |  full  |  number   |
//	+------------+--------+--------+-----------+
//
//	number      26  of the word in the sequence of words; wraps
//	full         7  words of this window before it, at most 127: more than a window needs
//	window       7  low bits of how many windows there were before this one
//	generation  24  low bits; a window is of one generation
type Head uint64

// A lastWord holds up to sixteen outcomes:
//
//	 63      38   37   36  32 31  16 15     0
//	+----------+------+------+------+--------+
//	|  number  |sealed| fill | slow | failed |
//	+----------+------+------+------+--------+
//
//	failed      16  one bit for each outcome, the first in bit 0
//	slow        16  the same
//	fill         5  outcomes in the word, 0 to 16
//	sealed       1  nothing may be appended: the window is over
//	number      26  of the word in the sequence of words
//
// Numbers come round after 2^26 words, a thousand million outcomes: a recorder
// would have to sleep for exactly as many between two adjacent instructions, and find
// the word as it was.
type lastWord uint64

const (
	numberBits   = 26
	numberMask   = 1<<numberBits - 1
	fullShift    = numberBits
	fullMask     = 127
	windowShift  = 33
	headGenShift = 40

	perWord     = 16
	fillShift   = 32
	fillMask    = 31
	sealedBit   = 1 << 37
	numberShift = 38
)

// NewLast returns a window of the last n outcomes, n from 1 to 1024.
func NewLast(n int) *Last {
	// The word being filled, those before it that a window may reach into, and
	// at least one more; a power of two, so that numbers may wrap.
	reach := 1 + (n-1+perWord-1)/perWord
	return &Last{n: uint64(n), words: make([]atomic.Uint64, 1<<bits.Len(uint(reach)))}
}

// Head returns the head. Like a cell it is read before the generation.
func (l *Last) Head() Head { return Head(l.head.Load()) }

// Live reports whether an outcome of generation gen may be added at h.
func (l *Last) Live(h Head, gen uint32) bool { return uint32(h>>headGenShift)^gen&(1<<24-1) == 0 }

// Same reports whether the window of h is still the one that is being filled.
func (l *Last) Same(h Head) bool { return l.Head()>>windowShift == h>>windowShift }

// Begin begins a window of generation gen in place of that of h. It fails if
// the head has moved on.
func (l *Last) Begin(h Head, gen uint32) bool {
	l.seal(h)
	return l.head.CompareAndSwap(uint64(h), uint64(h.begun(gen)))
}

// Forget empties the window of the present generation.
func (l *Last) Forget() {
	for {
		h := l.Head()
		sealed := l.seal(h)
		if l.Begin(h, uint32(h>>headGenShift)) || sealed {
			return
		}
	}
}

// seal keeps everybody from appending to the word of h. It reports whether the
// word is sealed: it need not be if it is full.
func (l *Last) seal(h Head) bool {
	for {
		old, w, ok := l.word(h)
		switch {
		case !ok || w.fill() == perWord:
			return false
		case w.sealed() || l.slot(h.number()).CompareAndSwap(old, uint64(w|sealedBit)):
			return true
		}
	}
}

// Add appends an outcome to the word of h. After a failure or a slow call it
// returns what the window that ends with it holds. place is where the outcome lies in
// the sequence: within a window it rises by one with each. Add fails if the
// head has moved on; the caller then starts again from the head.
func (l *Last) Add(h Head, failed, slow bool) (place uint64, window Counts, ok bool) {
	old, w, ok := l.word(h)
	switch {
	case !ok:
		return 0, Counts{}, false
	case w.sealed():
		l.head.CompareAndSwap(uint64(h), uint64(h.begun(uint32(h>>headGenShift))))
		return 0, Counts{}, false
	case w.fill() == perWord:
		l.head.CompareAndSwap(uint64(h), uint64(h.next()))
		return 0, Counts{}, false
	}
	w = w.with(failed, slow)
	if failed || slow {
		window, _ = l.sum(h, w) // whole, if the next line succeeds
	}
	if !l.slot(h.number()).CompareAndSwap(old, uint64(w)) {
		return 0, Counts{}, false
	}
	if w.fill() == perWord {
		l.head.CompareAndSwap(uint64(h), uint64(h.next()))
	}
	return h.number()*perWord + w.fill() - 1, window, true
}

// Sum returns what the window of h holds, now or, if it is over, at its end:
// nothing. It reads again only while others append words faster than it reads.
func (l *Last) Sum(h Head) Counts {
	for {
		if _, w, ok := l.word(h); ok {
			if w.sealed() {
				return Counts{}
			}
			if c, whole := l.sum(h, w); whole {
				return c
			}
		}
		now := l.Head()
		if now>>windowShift != h>>windowShift {
			return Counts{}
		}
		h = now
	}
}

// Stamp differs after every outcome and with every window.
func (l *Last) Stamp() uint64 {
	for {
		h := l.Head()
		_, w, _ := l.word(h)
		if l.Head() == h {
			return uint64(h)<<5 | w.fill()
		}
	}
}

func (l *Last) slot(number uint64) *atomic.Uint64 { return &l.words[number%uint64(len(l.words))] }

// word returns the word of h as it is in its slot and as it is to be read: empty
// if the slot still holds an earlier one. It fails if the slot holds a later
// one.
func (l *Last) word(h Head) (old uint64, w lastWord, ok bool) {
	old = l.slot(h.number()).Load()
	w = lastWord(old)
	switch {
	case w.number() == h.number():
		return old, w, true
	case laterNumber(w.number(), h.number()):
		return old, w, false
	}
	return old, lastWord(h.number() << numberShift), true
}

// sum returns what the window that ends with w, the word of h, holds, and
// whether the words before it were still there.
func (l *Last) sum(h Head, w lastWord) (c Counts, whole bool) {
	var total, failed, slow uint64
	number, left := h.number(), l.n
	for before := h.full(); ; before-- {
		n := min(w.fill(), left)
		newest := (uint64(1)<<n - 1) << (w.fill() - n)
		total += n
		failed += uint64(bits.OnesCount64(uint64(w) & newest))
		slow += uint64(bits.OnesCount64(uint64(w) & (newest << perWord)))
		if left -= n; left == 0 || before == 0 {
			return Counts{Success: total - failed, Failure: failed, Slow: slow}, true
		}
		number = (number - 1) & numberMask
		if w = lastWord(l.slot(number).Load()); w.number() != number {
			return Counts{}, false
		}
	}
}

// laterNumber reports whether word number a comes after b in the wrapping
// sequence.
func laterNumber(a, b uint64) bool {
	ahead := (a - b) & numberMask
	return ahead != 0 && ahead < 1<<(numberBits-1)
}

func (h Head) number() uint64 { return uint64(h) & numberMask }
func (h Head) full() uint64   { return uint64(h) >> fullShift & fullMask }

// next is the head after h in the same window.
func (h Head) next() Head {
	full := min(h.full()+1, fullMask)
	return h>>windowShift<<windowShift | Head(full<<fullShift|(h.number()+1)&numberMask)
}

// begun is the head after h in a window that begins.
func (h Head) begun(gen uint32) Head {
	const windows = 1<<(headGenShift-windowShift) - 1
	window := (uint64(h)>>windowShift + 1) & windows
	return Head(uint64(gen)<<headGenShift | window<<windowShift | (h.number()+1)&numberMask)
}

func (w lastWord) number() uint64 { return uint64(w) >> numberShift }
func (w lastWord) fill() uint64   { return uint64(w) >> fillShift & fillMask }
func (w lastWord) sealed() bool   { return w&sealedBit != 0 }

// with is w with one outcome more.
func (w lastWord) with(failed, slow bool) lastWord {
	bit := lastWord(1) << w.fill()
	if failed {
		w |= bit
	}
	if slow {
		w |= bit << perWord
	}
	return w + 1<<fillShift
}
