package atomicbreaker

// A claim is what the admission was worth:
//
//	 63           32 31     18 17      4     3      2     1      0
//	+---------------+---------+----------+--------+------+------+-----+
//	|  generation   |   cut   |  others  |answered|shadow|timed |probe|
//	+---------------+---------+----------+--------+------+------+-----+
//
//	others  of a probe: how many were in flight when it was admitted;
//	        of another call: its slot among the samples, plus one, 0 if it has none
//	cut     of a probe: how often the window had been cut, the low bits of it
type claim uint64

const (
	claimProbe    claim = 1 << iota // admitted in half-open
	claimTimed                      // start is set
	claimShadow                     // would have been refused; counts in the totals only
	claimAnswered                   // Answered was called; set by who settles
	claimFlags    = claimProbe | claimTimed | claimShadow | claimAnswered

	othersShift = 4
	othersMask  = maxInFlight
	cutShift    = othersShift + inFlightBits
	cutMask     = 1<<(32-cutShift) - 1
)

// claimOfProbe is the claim of a probe that w has yet to admit.
func claimOfProbe(w word, cut uint16) claim {
	return claimOf(w) | claimProbe | claimTimed | claim(w.inFlight())<<othersShift | claim(cut&cutMask)<<cutShift
}

func claimOf(w word) claim           { return claim(w >> generationShift << generationShift) }
func (c claim) generation() uint32   { return uint32(c >> generationShift) }
func (c claim) cut() uint16          { return uint16(c >> cutShift & cutMask) }
func (c claim) others() int          { return int(c >> othersShift & othersMask) }
func (c claim) has(flags claim) bool { return c&flags != 0 }
