package ring

// Sum returns what the window of gen holds, in all stripes.
//
// Slow calls and failures are read before successes, over all stripes. So there
// was a moment, between the two, at which the window held at least these
// failures and at most these successes: a share that reaches a rate did reach it.
func (r *Ring) Sum(gen uint32) Counts {
	return r.sum(r.all(), gen, Edge.number)
}

// SumAt is Sum if bucket number is the current one: what has aged since the
// window was moved last is left out.
func (r *Ring) SumAt(gen uint32, number uint64) Counts {
	return r.sum(r.all(), gen, func(Edge) uint64 { return number })
}

// SumStripe is Sum of one stripe.
func (r *Ring) SumStripe(s Stripe, gen uint32) Counts {
	return r.sum([]Stripe{s}, gen, Edge.number)
}

func (r *Ring) sum(stripes []Stripe, gen uint32, number func(Edge) uint64) Counts {
	for {
		e := r.Edge()
		row, empty := r.base(e, gen, e.Behind(number(e)))
		var sum Counts
		for k := int(r.cells) - 1; k >= 0 && !empty; k-- {
			for _, s := range stripes {
				sum[k] += r.from(s, k, row, gen)
			}
		}
		if r.Edge() == e {
			return sum // no row that was read has been written anew
		}
	}
}

// noRow stands for the beginning of a generation, where each cell showed zero.
const noRow = -1

// base returns the row at which the window of gen begins, behind buckets after
// e's began, and whether all that was counted has left it.
func (r *Ring) base(e Edge, gen uint32, behind uint64) (row int, empty bool) {
	if !of(uint64(e), gen) {
		return noRow, false // it begins
	}
	if behind >= uint64(r.buckets) {
		return noRow, true
	}
	first := e.edges() + behind // of the buckets in the window, plus all of them less one
	if first < uint64(r.buckets) {
		return noRow, false
	}
	return r.row(first - uint64(r.buckets) + 1), false
}

// floors returns the place in a stripe of its floors.
func (r *Ring) floors() int { return int(r.floor) }

// row returns the place in a stripe of the row of an edge.
func (r *Ring) row(edge uint64) int { return r.floors() + int(r.cells)*(1+int(edge%r.rows())) }

// rows is one more than the buckets: the row that is being written is in no window.
func (r *Ring) rows() uint64 { return uint64(r.buckets) + 1 }

// from returns what one cell has counted since a row, and since the window was emptied.
func (r *Ring) from(s Stripe, k, row int, gen uint32) uint64 {
	floor := s[r.floors()+k].Load() // row and floor before the cell, which is not below them then
	var from uint64
	if row != noRow {
		from = s[row+k].Load()
	}
	c := s[cellWord+k].Load()
	if !of(c, gen) {
		return 0
	}
	return r.above(c, from, floor, gen)
}

func (r *Ring) above(c, from, floor uint64, gen uint32) uint64 {
	n := since(c, from)
	if of(floor, gen) {
		n = min(n, since(c, floor))
	}
	return n
}

// held returns what the window of e holds of a cell that shows c.
func (r *Ring) held(s Stripe, k int, c uint64, e Edge, gen uint32) uint64 {
	row, _ := r.base(e, gen, 0)
	var from uint64
	if row != noRow {
		from = s[row+k].Load()
	}
	return r.above(c, from, s[r.floors()+k].Load(), gen)
}

// Noted returns, from the rows alone, what the window holds behind buckets
// after e's began, and what e's bucket holds. The row after e is noted. Only
// the worker calls it.
func (r *Ring) Noted(e Edge, gen uint32, behind uint64) (window, ended Counts) {
	last, begin := r.row(e.edges()+1), noRow
	if e.edges() > 0 {
		begin = r.row(e.edges())
	}
	base, empty := r.base(e, gen, behind)
	for _, s := range r.all() {
		for k := range int(r.cells) {
			value := func(row int) uint64 {
				if row == noRow {
					return 0
				}
				return s[row+k].Load()
			}
			c, floor := value(last), s[r.floors()+k].Load()
			if !empty {
				window[k] += r.above(c, value(base), floor, gen)
			}
			ended[k] += r.above(c, value(begin), floor, gen)
		}
	}
	return window, ended
}

// Newest returns the number of the last bucket in which gen counted an outcome,
// if bucket number is the current one. Where that is no longer known it
// returns the last one that it can have been. It reports false for a window
// that has never counted any.
func (r *Ring) Newest(gen uint32, number uint64) (uint64, bool) {
	e := r.Edge()
	if !of(uint64(e), gen) {
		return 0, false
	}
	filling, buckets := number-e.Behind(number), uint64(r.buckets)
	if e&asleepBit == 0 {
		for k := range min(buckets, e.edges()+1) {
			row := noRow
			if e.edges() > k {
				row = r.row(e.edges() - k)
			}
			for _, s := range r.all() {
				if r.from(s, int(Success), row, gen)+r.from(s, int(Failure), row, gen) > 0 {
					return filling - k, true
				}
			}
		}
	}
	return filling - buckets, filling >= buckets
}

// Totals returns all outcomes ever counted. While a cell goes to a new
// generation it may miss what that cell counted; a caller that shows totals
// keeps them from falling.
func (r *Ring) Totals() Counts {
	var sum Counts
	for _, s := range r.all() {
		for k := range sum {
			sum[k] += s[foldedWord+k].Load()
		}
		for k := range int(r.cells) {
			sum[k] += total(s[cellWord+k].Load())
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
