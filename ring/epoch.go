package ring

import "math/bits"

// An Epoch names the bucket that is being filled and the window it belongs
// to. It has the shape of a cell: the upper part is the stamp that the
// bucket's cells carry, and in the place of a cell's count it says where in a
// stripe the bucket lies.
//
//	 63                                   countBits              10      1   0
//	+------------+-------+----------------+----------------------+-------+---+
//	| generation | fresh | bucket number  |          0           | index |zzz|
//	+------------+-------+----------------+----------------------+-------+---+
//
//	index       10  the word in a stripe where the bucket's cells begin
//	asleep       1  the window has seen no outcome for its whole length
//	number       n  low bits of the absolute bucket number: what count, fresh and
//	                20 bits of generation leave, and at least enough to tell apart
//	                twice the buckets of a window
//	fresh        3  how often the window was emptied within this generation
//	generation      low bits of the breaker's generation, all that are left
//
// The count is as wide as the greatest count asked for, 20 to 47 bits; the
// generation keeps at least 12 bits. A stale cell would have to survive until
// all three fields come round again. It does not: a cell is emptied when the
// window reaches its slot again, and all are emptied when the window sleeps
// or begins. What remains, at 12 bits, is 4096 generations in a row without one
// outcome between two with one, and one recorder that sleeps for as long between two
// adjacent instructions and finds the very count it left. A timer would have to
// be late by the very time that the number takes to come round: half an hour
// with buckets of 1 ms, four days with one of 24 h.
type Epoch uint64

const (
	asleepBit  = 1
	indexShift = 1
	indexBits  = 10
	freshBits  = 3
	genBits    = 20
	lowBits    = indexShift + indexBits
)

// layout is the widths that depend on a ring's options.
type layout struct {
	countMask   uint64 // the count of a cell; index and asleep of an epoch
	numberMask  uint64 // in place
	genMask     uint64 // after shifting
	numberShift uint8
	freshShift  uint8
	genShift    uint8
	buckets     uint64
	head        uint64 // words of a stripe before its cells
	cells       uint64 // of a bucket: one for each kind that is kept
}

func newLayout(buckets int, maxCount uint64, head, cells int) layout {
	countBits := max(bits.Len64(maxCount), lowBits)
	numberBits := max(bits.Len(uint(2*buckets)), 64-countBits-freshBits-genBits)
	l := layout{
		countMask:   1<<countBits - 1,
		numberShift: uint8(countBits),
		freshShift:  uint8(countBits + numberBits),
		genShift:    uint8(countBits + numberBits + freshBits),
		buckets:     uint64(buckets),
		head:        uint64(head),
		cells:       uint64(cells),
	}
	l.numberMask = (1<<numberBits - 1) << l.numberShift
	l.genMask = 1<<(64-l.genShift) - 1
	return l
}

// at returns the epoch of an absolute bucket number in the window that tag,
// the generation and fresh fields, names.
func (l *layout) at(tag, number uint64) Epoch {
	index := l.head + number%l.buckets*l.cells
	return Epoch(tag | number<<l.numberShift&l.numberMask | index<<indexShift)
}

func (l *layout) tag(e Epoch) uint64       { return uint64(e) >> l.freshShift << l.freshShift }
func (l *layout) stamp(e Epoch) uint64     { return uint64(e) &^ l.countMask }
func (l *layout) genTag(gen uint32) uint64 { return uint64(gen) << l.genShift }

func (l *layout) nextFresh(tag uint64) uint64 {
	const mask = 1<<freshBits - 1
	fresh := tag >> l.freshShift & mask
	return tag&^(mask<<l.freshShift) | (fresh+1)&mask<<l.freshShift
}

// Belongs reports whether e is of generation gen, live or asleep.
func (l *layout) Belongs(e Epoch, gen uint32) bool {
	return uint64(e)>>(l.genShift&63) == uint64(gen)&l.genMask
}

func (e Epoch) asleep() bool { return e&asleepBit != 0 }
func (e Epoch) index() int   { return int(e >> indexShift & (1<<indexBits - 1)) }

// before returns the epoch of the bucket before e's.
func (l *layout) before(e Epoch) Epoch {
	number := (uint64(e) - 1<<(l.numberShift&63)) & l.numberMask
	index := uint64(e.index())
	if index == l.head {
		index += l.buckets * l.cells
	}
	return Epoch(uint64(e)&^(l.numberMask|l.countMask) | number | (index-l.cells)<<indexShift)
}
