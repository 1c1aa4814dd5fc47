package ring

// A cell counts the outcomes of one kind on one stripe, for one generation of
// the breaker. It only grows while that generation lasts:
//
//	 63        49  48    47  46           0
//	+------------+------+-----+------------+
//	| generation | live |carry|   count    |
//	+------------+------+-----+------------+
//
//	count       47  of outcomes, modulo 2^47
//	carry        1  the count has wrapped; the worker moves it into the totals
//	live         1  the worker moves the window on. A cell that is not live is
//	                made so by its next outcome, which wakes the worker if it sleeps
//	generation  15  low bits; see [Ring.Renew] why they are enough
//
// No bucket has a cell of its own. When a bucket ends, the worker writes down
// what each cell shows (a row); a window is what the cells show now, less the
// row at its beginning. So the end of a bucket writes no word that a recorder
// writes, and no outcome can be lost there.
const (
	cellBits = 47
	cellMask = 1<<cellBits - 1
	carryBit = 1 << cellBits
	liveBit  = 1 << (cellBits + 1)
	genShift = cellBits + 2
)

func tagOf(gen uint32) uint64 { return uint64(gen) << genShift }

// Live reports whether a cell that shows value counts for gen, and the worker
// knows that it does.
func Live(value uint64, gen uint32) bool { return value^(tagOf(gen)|liveBit) < liveBit }

// of reports whether a word's tag is that of gen.
func of(value uint64, gen uint32) bool { return (value^tagOf(gen))>>genShift == 0 }

// since returns how many outcomes of gen came between two values of a cell.
// from may be the younger one, if both were read in a race; then it is none.
func since(value, from uint64) uint64 {
	if n := (value - from) & cellMask; n <= cellMask/2 {
		return n
	}
	return 0
}

// total is what a cell counts, of whichever generation.
func total(value uint64) uint64 { return value & (carryBit | cellMask) }

// Peek returns what the stripe's cell of a kind shows. Read it before reading
// which generation is current. [E1 observe] Then a cell that is of an older
// generation than the one read, and has not changed, may be taken for that one.
func (s Stripe) Peek(k Kind) uint64 { return s[cellWord+int(k)].Load() }

// Hit counts one outcome in a live cell that showed value. It fails if the cell
// has changed since: then call [Ring.Missed], and begin again with Peek and the
// generation.
func (s Stripe) Hit(k Kind, value uint64) bool {
	return s[cellWord+int(k)].CompareAndSwap(value, value+1)
}

// Take is Hit for a cell that is not live. [E8 publish] It makes the cell live;
// look afterwards whether the window is awake. What the cell counted for an
// earlier generation goes to the totals.
func (s Stripe) Take(k Kind, value uint64, gen uint32) bool {
	cell := &s[cellWord+int(k)]
	if of(value, gen) {
		return cell.CompareAndSwap(value, (value+1)|liveBit)
	}
	if !cell.CompareAndSwap(value, tagOf(gen)|liveBit|1) {
		return false
	}
	s[foldedWord+int(k)].Add(total(value))
	return true
}

// Missed notes why a Hit failed: if another recorder has counted in the cell,
// the stripe is shared.
func (r *Ring) Missed(s Stripe, k Kind, value uint64) {
	now := s.Peek(k)
	if now>>(cellBits+1) == value>>(cellBits+1) && now&cellMask != value&cellMask {
		r.Shared()
	}
}

// Held returns the outcomes of gen that a stripe has counted.
func (s Stripe) Held(gen uint32) (n uint64) {
	for _, k := range []Kind{Failure, Success} {
		if c := s.Peek(k); of(c, gen) {
			n += c & cellMask
		}
	}
	return n
}
