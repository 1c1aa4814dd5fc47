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
//	number       n  low bits of the absolute bucket number, enough to tell apart
//	                four times the buckets of a window
//	fresh        3  how often the window was emptied within this generation
//	generation      low bits of the breaker's generation, all that are left
//
// The count is as wide as the greatest count asked for, 20 to 47 bits; the
// generation keeps at least 12 bits. A stale cell would have to survive until
// all three fields come round again. It does not: a cell is emptied when the
// window reaches its slot again, and all are emptied when the window sleeps
// or begins. What remains is one recorder that sleeps between two adjacent
// instructions for as long as 4096 generations last, and finds the very
// count it left.
type Epoch uint64

const (
	asleepBit  = 1
	indexShift = 1
	indexBits  = 10
	freshBits  = 3
	lowBits    = indexShift + indexBits
)

// layout is the widths that depend on a ring's options.
type layout struct {
	countMask   uint64 // the count of a cell; index and asleep of an epoch
	numberShift uint
	numberMask  uint64 // in place
	freshOne    uint64
	freshMask   uint64 // in place
	genShift    uint
	buckets     uint64
	head        uint64 // words of a stripe before its cells
	cells       uint64 // of a bucket: one for each kind that is kept
}

func newLayout(buckets int, maxCount uint64, head, cells int) layout {
	countBits := max(bits.Len64(maxCount), lowBits)
	numberBits := bits.Len(uint(2 * buckets))
	l := layout{
		countMask:   1<<countBits - 1,
		numberShift: uint(countBits),
		buckets:     uint64(buckets),
		head:        uint64(head),
		cells:       uint64(cells),
	}
	l.numberMask = (1<<numberBits - 1) << l.numberShift
	l.freshOne = 1 << (countBits + numberBits)
	l.freshMask = (1<<freshBits - 1) * l.freshOne
	l.genShift = uint(countBits + numberBits + freshBits)
	return l
}

// at returns the epoch of an absolute bucket number in the window that tag,
// the generation and fresh fields, names.
func (l *layout) at(tag, number uint64) Epoch {
	index := l.head + number%l.buckets*l.cells
	return Epoch(tag | number<<l.numberShift&l.numberMask | index<<indexShift)
}

func (l *layout) tag(e Epoch) uint64 {
	return uint64(e) >> (l.genShift - freshBits) << (l.genShift - freshBits)
}
func (l *layout) stamp(e Epoch) uint64      { return uint64(e) &^ l.countMask }
func (l *layout) genTag(gen uint32) uint64  { return uint64(gen) << l.genShift }
func (l *layout) nextFresh(t uint64) uint64 { return t&^l.freshMask | (t+l.freshOne)&l.freshMask }

// Belongs reports whether e is of generation gen, live or asleep.
func (l *layout) Belongs(e Epoch, gen uint32) bool {
	return (uint64(e)^l.genTag(gen))>>l.genShift == 0
}

func (e Epoch) asleep() bool { return e&asleepBit != 0 }
func (e Epoch) index() int   { return int(e >> indexShift & (1<<indexBits - 1)) }

// before returns the epoch of the bucket that came k buckets before e.
func (l *layout) before(e Epoch, k uint64) Epoch {
	number := (uint64(e) - k<<l.numberShift) & l.numberMask
	slot := (uint64(e.index())-l.head)/l.cells + l.buckets - k
	index := l.head + slot%l.buckets*l.cells
	return Epoch(l.tag(e) | number | index<<indexShift)
}
