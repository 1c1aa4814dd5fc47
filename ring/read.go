package ring

// Sum returns what the window of e holds, in all stripes.
func (r *Ring) Sum(e Epoch) Counts {
	var sum Counts
	for _, s := range r.all() {
		r.addWindow(&sum, s, e)
	}
	return sum
}

// SumStripe returns what the window of e holds in one stripe.
func (r *Ring) SumStripe(s Stripe, e Epoch) Counts {
	var sum Counts
	r.addWindow(&sum, s, e)
	return sum
}

// SumBucket returns what e's bucket holds, in all stripes.
func (r *Ring) SumBucket(e Epoch) Counts {
	var sum Counts
	for _, s := range r.all() {
		r.addBucket(&sum, s, e)
	}
	return sum
}

// SumAt returns what the window of e, live or asleep, holds if bucket number is the
// current one: what has aged out in the meantime is left out.
func (r *Ring) SumAt(e Epoch, number uint64) Counts {
	if e.asleep() && number-r.slept.Load() >= r.buckets {
		return Counts{}
	}
	return r.Sum(r.at(r.tag(e), number))
}

func (r *Ring) addWindow(sum *Counts, s Stripe, e Epoch) {
	for range r.buckets {
		r.addBucket(sum, s, e)
		e = r.before(e)
	}
}

func (r *Ring) addBucket(sum *Counts, s Stripe, b Epoch) {
	cells := s[b.index() : b.index()+int(r.cells)]
	for kind := range cells {
		if c := cells[kind].Load(); c^uint64(b) <= r.countMask {
			sum[kind] += c & r.countMask
		}
	}
}

// Sweep folds what has left the window of a live epoch e, or of one that has
// just been put to sleep, into the totals and so leaves no old stamp behind that
// could come round again. Nobody waits for it. [E8] As in addSlow, a cell is
// taken only if the epoch has not moved after the cell was read: a stamp that
// is none of e's is then an old one and not that of a later window.
func (r *Ring) Sweep(e Epoch) {
	for _, s := range r.all() {
		b := e
		for range r.buckets {
			cells := s[b.index() : b.index()+int(r.cells)]
			for kind := range cells {
				c := cells[kind].Load()
				if c&r.countMask == 0 || c^uint64(b) <= r.countMask {
					continue
				}
				if r.Epoch()&^asleepBit != e {
					return
				}
				if cells[kind].CompareAndSwap(c, r.stamp(b)) {
					s[foldedWord+kind].Add(c & r.countMask)
				}
			}
			b = r.before(b)
		}
	}
}

// Totals returns all outcomes ever counted. While a fold is under way it may
// miss what is being folded; a caller that shows totals keeps them from
// falling.
func (r *Ring) Totals() Counts {
	var sum Counts
	for _, s := range r.all() {
		for k := range sum {
			sum[k] += s[foldedWord+k].Load()
		}
		for b := range r.buckets {
			i := r.head + b*r.cells
			cells := s[i : i+r.cells]
			for k := range cells {
				sum[k] += cells[k].Load() & r.countMask
			}
		}
	}
	return sum
}

// Counter returns a plain counter's total.
func (r *Ring) Counter(counter int) uint64 {
	var sum uint64
	for _, s := range r.all() {
		sum += s[headWords+counter].Load()
	}
	return sum
}
