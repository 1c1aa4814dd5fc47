package atomicbreaker

import "sync/atomic"

// tagged is a value that belongs to one generation, in one word, so that a
// reader never takes an older generation's value for this one's:
//
//	 63        48 47                     0
//	+------------+------------------------+
//	| generation |         value          |
//	+------------+------------------------+
//
// The generation's low 16 bits are enough, because a value is written at least
// once in each generation that reads it, or is taken for absent.
type tagged struct{ v atomic.Uint64 }

const (
	taggedBits = 48
	taggedMax  = 1<<taggedBits - 1
)

func tag(generation uint32, value uint64) uint64 {
	return uint64(generation)<<taggedBits | min(value, taggedMax)
}

func sameGeneration(v uint64, generation uint32) bool {
	return uint16(v>>taggedBits) == uint16(generation)
}

// get returns the value of a generation, and whether there is one.
func (t *tagged) get(generation uint32) (uint64, bool) {
	v := t.v.Load()
	return v & taggedMax, sameGeneration(v, generation)
}

// update replaces the value of a generation by f of it; f gets false if there
// is none yet. A generation older than the one noted changes nothing.
func (t *tagged) update(generation uint32, f func(old uint64, ok bool) uint64) {
	for {
		v := t.v.Load()
		ok := sameGeneration(v, generation)
		if !ok && int16(uint16(generation)-uint16(v>>taggedBits)) < 0 {
			return
		}
		if t.v.CompareAndSwap(v, tag(generation, f(v&taggedMax, ok))) {
			return
		}
	}
}

// lower brings v down to at most to.
func lower(v *atomic.Int64, to int64) {
	for {
		old := v.Load()
		if old <= to || v.CompareAndSwap(old, to) {
			return
		}
	}
}

// raise lifts v to at least to. Instants are kept this way: they only grow, so
// that one who slept cannot put an older one in the place of a newer.
func raise(v *atomic.Int64, to int64) {
	for {
		old := v.Load()
		if old >= to || v.CompareAndSwap(old, to) {
			return
		}
	}
}
