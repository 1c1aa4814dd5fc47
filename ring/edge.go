package ring

// An Edge says where the window is: which generation it belongs to, which
// bucket is being filled, and which row was written when that bucket began.
//
//	 63        49 48             11 10     1    0
//	+------------+-----------------+--------+------+
//	| generation |  bucket number  | edges  |asleep|
//	+------------+-----------------+--------+------+
//
//	asleep      1  the window is empty and the worker does not move it
//	edges      10  how many buckets of this generation have ended. The row of an
//	               edge is written before the edge is shown. From twice the rows on it
//	               goes on from once the rows: then every row is written
//	number     38  of the bucket that is being filled, counted by the caller since
//	               the breaker was made: with buckets of 1 ms it comes round after 8 years
//	generation 15  low bits, as in a cell
type Edge uint64

const (
	asleepBit   = 1
	edgesShift  = 1
	edgesBits   = 10
	bucketShift = edgesShift + edgesBits
	bucketBits  = genShift - bucketShift
	bucketMask  = 1<<bucketBits - 1
)

func edgeOf(gen uint32, number, edges uint64) Edge {
	return Edge(tagOf(gen) | number&bucketMask<<bucketShift | edges<<edgesShift)
}

func (e Edge) number() uint64 { return uint64(e) >> bucketShift & bucketMask }
func (e Edge) edges() uint64  { return uint64(e) >> edgesShift & (1<<edgesBits - 1) }

// Awake reports whether the window is of generation gen and the worker moves it.
func (e Edge) Awake(gen uint32) bool { return of(uint64(e), gen) && e&asleepBit == 0 }

// Behind returns how many buckets have ended since e's began, if bucket number
// is the current one; 0 if it is not younger.
func (e Edge) Behind(number uint64) uint64 {
	if n := (number - e.number()) & bucketMask; n <= bucketMask/2 {
		return n
	}
	return 0
}

// Edge returns where the window is.
func (r *Ring) Edge() Edge { return Edge(r.edge.Load()) }

// Begin wakes the window in bucket number, for generation gen, in place of e,
// which is not Awake for gen. It fails if the edge is no longer e.
//
// A window that sleeps is empty, so that it may wake in any bucket. If a cell is
// live the worker has not yet put it to sleep: then it goes on in e's bucket,
// because what the cell holds may be as old as that.
//
// [E1 publish] Call it only if gen was read after e and is current.
func (r *Ring) Begin(e Edge, gen uint32, number uint64) bool {
	next := edgeOf(gen, number, 0)
	switch {
	case of(uint64(e), gen) && r.anyLive(gen):
		next = e &^ asleepBit
	case of(uint64(e), gen):
		next = edgeOf(gen, number, e.edges())
	}
	if !r.edge.CompareAndSwap(uint64(e), uint64(next)) {
		return false
	}
	r.Narrow()
	return true
}

func (r *Ring) anyLive(gen uint32) bool {
	for _, s := range r.all() {
		for k := range r.cells {
			if Live(s.Peek(Kind(k)), gen) {
				return true
			}
		}
	}
	return false
}

// Note writes the row of the edge after e: what each cell shows. The kinds that
// speak against health come first, as in [Ring.Sum]. Only the worker calls it.
func (r *Ring) Note(e Edge, gen uint32) {
	row := r.row(e.edges() + 1)
	for k := int(r.cells) - 1; k >= 0; k-- {
		for _, s := range r.all() {
			c := s.carry(k)
			if !of(c, gen) {
				c = 0
			}
			s[row+k].Store(c & cellMask)
		}
	}
}

// carry moves a count that has wrapped into the totals. It returns what the cell shows.
func (s Stripe) carry(k int) uint64 {
	for {
		c := s[cellWord+k].Load()
		if c&carryBit == 0 {
			return c
		}
		if s[cellWord+k].CompareAndSwap(c, c&^carryBit) {
			s[foldedWord+k].Add(carryBit)
			return c &^ carryBit
		}
	}
}

// Turn shows the edge after e, whose row is noted, as the beginning of the
// bucket that is steps further. It fails if the edge is no longer e. Only the
// worker calls it.
func (r *Ring) Turn(e Edge, gen uint32, steps uint64) bool {
	edges := e.edges() + 1
	if edges == 2*r.rows() {
		edges = r.rows()
	}
	return r.edge.CompareAndSwap(uint64(e), uint64(edgeOf(gen, e.number()+steps, edges)))
}

// Steps returns by how many buckets to Turn next on the way to one that is
// behind buckets further. One at a time, so that every edge has its row; what
// lies further back than there are rows is left out.
func (r *Ring) Steps(behind uint64) uint64 {
	if rows := r.rows(); behind > rows {
		return behind - rows + 1
	}
	return 1
}

// Sleep puts a window that is empty to sleep. It reports false if an outcome
// comes in between. Only the worker calls it.
//
// [E8 observe] The edge says that the window sleeps before the cells are looked
// at. A recorder makes its cell live before it looks at the edge. So either the
// worker finds the live cell here, or the recorder finds the window asleep.
func (r *Ring) Sleep(e Edge, gen uint32) bool {
	asleep := e | asleepBit
	if !r.edge.CompareAndSwap(uint64(e), uint64(asleep)) {
		return false
	}
	for _, s := range r.all() {
		for k := range int(r.cells) {
			c := s[cellWord+k].Load()
			if !Live(c, gen) {
				continue
			}
			if r.held(s, k, c, asleep, gen) > 0 || !s[cellWord+k].CompareAndSwap(c, c&^liveBit) {
				r.edge.CompareAndSwap(uint64(asleep), uint64(e)) // or a recorder has woken it
				return false
			}
		}
	}
	return true
}

// Forget empties the window of gen, if still says that gen is current: what the
// cells show becomes the floor below which nothing counts. Outcomes that are
// counted meanwhile may stay or go.
func (r *Ring) Forget(gen uint32, still func() bool) {
	for _, s := range r.all() {
		for k := range int(r.cells) {
			for {
				floor := s[r.floors()+k].Load()
				c := s.carry(k)
				if !of(c, gen) || !still() || of(floor, gen) && since(c, floor) == 0 {
					break
				}
				if s[r.floors()+k].CompareAndSwap(floor, c&^liveBit) {
					break
				}
			}
		}
	}
	r.forgets.Add(1) // after the floors: see Look
}

// RenewEvery is how many generations may pass between two calls of Renew.
const RenewEvery = 1 << 13

// Renew marks everything that is of an older generation than gen as of gen, and
// empty, as long as still says that gen is current. One who is about to begin
// a generation that is a multiple of RenewEvery calls it first. So no tag is
// ever older than twice as many generations, and 15 bits tell all tags apart
// however many generations pass without an outcome.
//
// One who slept cannot bring an old tag back: like a recorder he changes a word
// by compare-and-swap from what it showed before he read the generation.
func (r *Ring) Renew(gen uint32, still func() bool) {
	for {
		e := r.Edge()
		if of(uint64(e), gen) || !still() || r.edge.CompareAndSwap(uint64(e), uint64(edgeOf(gen, 0, 0)|asleepBit)) {
			break
		}
	}
	for _, s := range r.all() {
		for k := range int(r.cells) {
			for _, at := range []int{cellWord + k, r.floors() + k} {
				r.renew(s, at, k, gen, still)
			}
		}
	}
}

func (r *Ring) renew(s Stripe, at, k int, gen uint32, still func() bool) {
	for {
		v := s[at].Load()
		if of(v, gen) || !still() {
			return
		}
		if s[at].CompareAndSwap(v, tagOf(gen)) {
			if at == cellWord+k {
				s[foldedWord+k].Add(total(v))
			}
			return
		}
	}
}
