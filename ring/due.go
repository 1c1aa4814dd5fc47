package ring

// A Look is what a recorder saw of its stripe before it summed: when it says
// how many more calls to wait for, that is said of what it saw.
type Look struct {
	stripe Stripe
	held   uint64
	stamp  uint64
}

// A stripe keeps, in one word, until how many calls nobody need sum:
//
//	 63     40 39        0
//	+---------+-----------+
//	|  stamp  |   calls   |
//	+---------+-----------+
//
// The stamp is a hash of where the window was and how often it had been emptied.
// If another one has the same (one in 16 million), a rate may trip late, by at
// most one bucket.
const (
	dueBits = 40
	dueMask = 1<<dueBits - 1
)

// Look looks at a stripe in which an outcome of gen has just been counted.
func (r *Ring) Look(s Stripe, gen uint32) Look {
	// The window's place before its counts: what is said of counts that are then
	// emptied, or aged, is said of an edge that has passed.
	where := uint64(r.forgets.Load())<<numberBits ^ uint64(r.Edge()&^asleepBit)
	return Look{s, s.Held(gen), where * saltStep >> dueBits << dueBits}
}

// Due reports whether the stripe must be summed.
func (l Look) Due() bool {
	due := l.stripe[dueWord].Load()
	return due&^dueMask != l.stamp || (l.held-due)&dueMask <= dueMask/2
}

// Wait says that the stripe need not be summed before more calls have come.
func (l Look) Wait(more uint64) {
	l.stripe[dueWord].Store(l.stamp | (l.held+min(more, dueMask/4))&dueMask)
}
