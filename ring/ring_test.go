package ring

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is what a ring does, over a plain list of outcomes.
type plain struct {
	buckets  uint64
	outcomes []plainOutcome
	totals   Counts
	counters [3]uint64
}

type plainOutcome struct {
	bucket uint64
	kind   Kind
}

func (p *plain) add(bucket uint64, k Kind) {
	p.outcomes = append(p.outcomes, plainOutcome{bucket, k})
	p.totals[k]++
}

// window is what the window holds if bucket number is the current one.
func (p *plain) window(number uint64) (c Counts) {
	for _, o := range p.outcomes {
		if number-o.bucket < p.buckets {
			c[o.kind]++
		}
	}
	return c
}

func (p *plain) bucket(number uint64) (c Counts) {
	for _, o := range p.outcomes {
		if o.bucket == number {
			c[o.kind]++
		}
	}
	return c
}

// keeper uses a ring as a breaker does: it wakes it, moves it on, lets it
// sleep, and begins generations.
type keeper struct {
	*Ring
	gen    uint32
	number uint64 // the present bucket
	filled uint64 // the bucket that the edge names
}

// add counts as a recorder does; waking is left to wake.
func (r *Ring) add(gen uint32, k Kind, wake func()) Stripe {
	for woken := false; ; {
		s := r.Pick()
		n := s.Peek(k)
		switch {
		case Live(n, gen):
			if s.Hit(k, n) {
				return s
			}
			r.Missed(s, k, n)
		case !woken:
			wake()
			woken = true
		case s.Take(k, n, gen):
			if !r.Edge().Awake(gen) {
				wake()
			}
			return s
		}
	}
}

// begin wakes the window in a bucket.
func (r *Ring) begin(gen uint32, number uint64) {
	for e := r.Edge(); !e.Awake(gen) && !r.Begin(e, gen, number); e = r.Edge() {
	}
}

// turn moves the window on as the worker does. It reports false if the window sleeps.
func (r *Ring) turn(gen uint32, number uint64, ended func(e Edge, behind uint64)) bool {
	for moved := false; ; {
		e := r.Edge()
		behind := e.Behind(number)
		switch {
		case !e.Awake(gen):
			return false
		case behind > 0:
			r.Note(e, gen)
			if ended != nil {
				ended(e, behind)
			}
			r.Turn(e, gen, r.Steps(behind))
			moved = true
		case moved && r.Sum(gen).Calls() == 0:
			return !r.Sleep(e, gen)
		default:
			return true
		}
	}
}

func (k *keeper) count(kind Kind) {
	k.add(k.gen, kind, func() {
		if !k.Edge().Awake(k.gen) {
			k.filled = k.number
		}
		k.begin(k.gen, k.number)
	})
}

// tick is what a timer does: possibly late, so that buckets are left out.
func (k *keeper) tick() {
	k.turn(k.gen, k.number, nil)
	k.filled = k.number
}

func always() bool { return true }

// atDepth calls f with so many KiB more on the stack: another place for Pick.
func atDepth(kib int, f func()) byte {
	var room [1024]byte
	if kib == 0 {
		f()
		return room[0]
	}
	return atDepth(kib-1, f) + room[kib%len(room)]
}

// TestRingIsThePlainList runs random operations of one goroutine, which moves
// between stripes, on a ring and on a list.
func TestRingIsThePlainList(t *testing.T) {
	for _, buckets := range []int{1, 2, 3, 7, 10, 64, 128} {
		for seed := range seeds(18) {
			if err := againstPlain(buckets, seed); err != nil {
				t.Fatalf("%d buckets, seed %d: %v", buckets, seed, err)
			}
		}
	}
}

func againstPlain(buckets int, seed uint64) error {
	r := New(Options{Buckets: buckets, Slow: true, Counters: 3, Stripes: 8})
	k := &keeper{Ring: r}
	p := &plain{buckets: uint64(buckets)}
	random := rand.New(rand.NewPCG(seed, uint64(buckets)))
	for range max(200, 1500/buckets) {
		switch n := random.IntN(100); {
		case n < 60:
			kind := Kind(random.IntN(3))
			atDepth(random.IntN(12), func() { k.count(kind) })
			p.add(k.filled, kind)
		case n < 80: // the next bucket, in time or late
			k.number++
			if random.IntN(4) > 0 {
				k.tick()
			}
		case n < 84: // a timer that is late, or idleness
			k.number += random.Uint64N(uint64(3 * buckets))
			k.tick()
		case n < 85: // a machine that was suspended
			k.number += random.Uint64N(1 << 36)
		case n < 86: // a new generation, or so many that tags come round
			for range []int{1, 2, 1 << 15, 1<<15 + 1}[random.IntN(4)] {
				if k.gen++; k.gen%RenewEvery == 0 {
					r.Renew(k.gen-1, always)
				}
			}
			p.outcomes = nil
		case n < 88:
			r.Forget(k.gen, always)
			p.outcomes = nil
		case n < 91:
			r.Grow()
		case n < 92:
			r.Narrow()
		default:
			counter := random.IntN(3)
			atDepth(random.IntN(12), func() { r.Count(counter) })
			p.counters[counter]++
		}
		if err := k.differs(p, random.Uint64N(uint64(2*buckets))); err != nil {
			return err
		}
	}
	return nil
}

// differs compares now, and as it will look some buckets later.
func (k *keeper) differs(p *plain, later uint64) error {
	for _, number := range []uint64{k.number, k.number + later} {
		if got, want := k.SumAt(k.gen, number), p.window(number); got != want {
			return fmt.Errorf("bucket %d shows %v, not %v", number, got, want)
		}
	}
	if k.Edge().Awake(k.gen) {
		if got, want := k.Sum(k.gen), p.window(k.filled); got != want {
			return fmt.Errorf("the window is %v, not %v", got, want)
		}
	}
	var stripes Counts
	for _, s := range k.all() {
		for kind, n := range k.SumStripe(s, k.gen) {
			stripes[kind] += n
		}
	}
	if got := k.Sum(k.gen); got != stripes {
		return fmt.Errorf("the stripes add up to %v, not %v", stripes, got)
	}
	if number, ok := k.Newest(k.gen, k.number); ok && p.bucket(number).Calls() == 0 && p.window(k.number).Calls() > 0 {
		return fmt.Errorf("bucket %d, said to be the last with an outcome, has none", number)
	}
	if got := k.Totals(); got != p.totals {
		return fmt.Errorf("the totals are %v, not %v", got, p.totals)
	}
	for i, want := range p.counters {
		if got := k.Counter(i); got != want {
			return fmt.Errorf("counter %d is %d, not %d", i, got, want)
		}
	}
	return nil
}

// storm has recorders count in a generation while the worker turns the buckets
// over as fast as it can, and lets the window sleep when it may. It returns what
// was counted, and what the worker saw in the buckets that ended.
type storm struct {
	*Ring
	gen      uint32
	number   uint64
	buckets  []Counts // ended, the last one last
	counted  Counts
	sleeps   int
	turnover int // at most so many
}

func (x *storm) run(recorders, each int) {
	var busy atomic.Int64
	busy.Store(int64(recorders))
	var now atomic.Uint64
	now.Store(x.number)
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range recorders {
		all.Go(func() {
			defer busy.Add(-1)
			for n := range each {
				if x.add(x.gen, Kind((n+i)%2), func() { x.begin(x.gen, now.Load()) }); n%64 == 63 {
					runtime.Gosched()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			x.counted[Success] += uint64(each+1-i%2) / 2
			x.counted[Failure] += uint64(each+i%2) / 2
		})
	}
	all.Go(func() { // as the worker does
		for busy.Load() > 0 && len(x.buckets) < x.turnover {
			now.Add(1)
			awake := x.turn(x.gen, now.Load(), func(e Edge, _ uint64) {
				_, ended := x.Noted(e, x.gen, 0)
				x.buckets = append(x.buckets, ended)
			})
			if !awake {
				x.sleeps++
			}
			if x.Crowded() {
				x.Grow()
			}
			runtime.Gosched()
		}
	})
	all.Wait()
	x.number = now.Load()
}

// window is what the last n buckets that ended hold.
func (x *storm) window(n int) (sum Counts) {
	for _, c := range x.buckets[max(len(x.buckets)-n, 0):] {
		for k := range c {
			sum[k] += c[k]
		}
	}
	return sum
}

// TestNothingIsLostAtTurnover: in the end the buckets that ended and the one
// that is being filled hold what was counted, no more and no less, and the
// window what its buckets do.
func TestNothingIsLostAtTurnover(t *testing.T) {
	for _, buckets := range []int{1, 3, 10, 128} {
		for _, stripes := range []int{1, 8} {
			for gen := range uint32(10) {
				x := &storm{Ring: New(Options{Buckets: buckets, Stripes: stripes}), gen: gen, number: 1000, turnover: 1 << 20}
				x.onCrowd = func() {}
				x.run(4, 2000)
				if e := x.Edge(); e.Awake(gen) {
					x.Note(e, gen)
					_, filling := x.Noted(e, gen, 0)
					x.buckets = append(x.buckets, filling)
				} else {
					require.Zero(t, x.Sum(gen))
				}
				require.Equal(t, x.counted, x.window(len(x.buckets)), "of %d buckets, %d sleeps", len(x.buckets), x.sleeps)
				if x.Edge().Awake(gen) {
					require.Equal(t, x.window(buckets), x.Sum(gen), "the window of %d buckets", buckets)
				}
				require.Equal(t, x.counted, x.Totals())
			}
		}
	}
}

// TestWindowHoldsEverythingThatIsYoungEnough turns over as often as it can
// without anything leaving the window.
func TestWindowHoldsEverythingThatIsYoungEnough(t *testing.T) {
	r := New(Options{Buckets: 128, Stripes: 4})
	r.onCrowd = func() {}
	var counted uint64
	for gen := range uint32(seeds(300)) {
		x := &storm{Ring: r, gen: gen, number: uint64(gen) * 1000, turnover: 127}
		x.run(3, 400)
		counted += x.counted.Calls()
		require.Equal(t, x.counted, r.Sum(gen))
		require.Equal(t, counted, r.Totals().Calls())
	}
}

func TestPlainCountersAreExactUnderContention(t *testing.T) {
	const goroutines, each = 4, 50_000
	for _, stripes := range []int{1, 4} {
		r := New(Options{Buckets: 1, Counters: 2, Stripes: stripes})
		var all sync.WaitGroup
		for i := range goroutines {
			all.Go(func() {
				for range each {
					r.Count(1)
					r.AddTotal(Kind(i % 2))
				}
			})
		}
		all.Wait()
		require.Equal(t, []uint64{0, goroutines * each}, []uint64{r.Counter(0), r.Counter(1)})
		require.Equal(t, Counts{goroutines / 2 * each, goroutines / 2 * each}, r.Totals())
	}
}

func TestWindowSleepsAndWakes(t *testing.T) {
	r := New(Options{Buckets: 4, Stripes: 1})
	require.False(t, r.Edge().Awake(0), "a new window is asleep")
	fail := func(number uint64) { r.add(0, Failure, func() { r.begin(0, number) }) }
	fail(9)
	require.True(t, r.Edge().Awake(0))
	require.True(t, r.turn(0, 12, nil))
	require.Equal(t, Counts{Failure: 1}, r.Sum(0))
	require.Equal(t, Counts{}, r.SumAt(0, 13))
	require.False(t, r.turn(0, 13, nil), "it is empty: it sleeps")
	require.False(t, Live(r.first[0].Peek(Failure), 0))
	require.Zero(t, r.Sum(0))

	fail(13_000)
	require.Equal(t, uint64(0), r.Edge().Behind(13_000), "it wakes in the bucket of the one who wakes it")
	require.Equal(t, Counts{Failure: 1}, r.SumAt(0, 13_003))
	require.Equal(t, Counts{}, r.SumAt(0, 13_004))
	require.Equal(t, Counts{Failure: 2}, r.Totals())
}

// TestOutcomeThatComesWhileTheWindowFallsAsleep: either it keeps the window
// awake, or it finds it asleep and wakes it.
func TestOutcomeThatComesWhileTheWindowFallsAsleep(t *testing.T) {
	r := New(Options{Buckets: 1, Stripes: 1})
	r.begin(0, 1)
	s := r.Pick()
	require.True(t, s.Take(Success, s.Peek(Success), 0))
	e := r.Edge()
	require.False(t, r.Sleep(e, 0), "a cell is live and not empty")
	require.Equal(t, e, r.Edge())

	n := s.Peek(Failure) // a recorder that is about to count
	require.False(t, r.turn(0, 2, nil))
	require.True(t, s.Take(Failure, n, 0), "nothing has changed the cell")
	require.False(t, r.Edge().Awake(0), "and so the recorder looks, and wakes the window")
	asleep := r.Edge()
	r.begin(0, 900)
	require.Equal(t, asleep&^asleepBit, r.Edge(), "a live cell may be as old as the window's sleep")
	require.Equal(t, Counts{Failure: 1}, r.Sum(0))
}

func TestStaleEdgeMovesNothing(t *testing.T) {
	r := New(Options{Buckets: 4, Stripes: 1})
	asleep := r.Edge()
	require.True(t, r.Begin(asleep, 0, 1))
	old := r.Edge()
	require.False(t, r.turn(0, 2, nil), "there is nothing to keep awake for")
	now := r.Edge()
	require.NotEqual(t, old, now)
	require.False(t, r.Begin(asleep, 1, 1))
	require.False(t, r.Turn(old, 0, 1))
	require.False(t, r.Sleep(old, 0))
	require.Equal(t, now, r.Edge())
}

// TestForgetEmptiesTheWindowAndKeepsTheTotals, however often, and in whichever bucket.
func TestForgetEmptiesTheWindowAndKeepsTheTotals(t *testing.T) {
	r := New(Options{Buckets: 3, Stripes: 1})
	for n := range uint64(40) {
		require.Zero(t, r.Sum(5))
		s := r.add(5, Failure, func() { r.begin(5, n) })
		r.Look(s, 5).Wait(1 << 30)
		require.Equal(t, Counts{Failure: 1}, r.Sum(5))
		require.Equal(t, n+1, r.Totals()[Failure])
		r.Forget(5, always)
		require.True(t, r.Look(s, 5).Due(), "what was said of the window that was forgotten")
		if n%3 == 0 {
			r.turn(5, n+1, nil)
		}
	}
	s := r.add(5, Failure, func() { r.begin(5, 100) })
	floor := s[r.floors()+int(Failure)].Load()
	r.Forget(5, func() bool { return false })
	require.Equal(t, floor, s[r.floors()+int(Failure)].Load(), "the generation is over")
}

// TestNoTagComesRoundWithoutBeingRenewed: whatever an old generation has left is
// gone before a later one has the same tag.
func TestNoTagComesRoundWithoutBeingRenewed(t *testing.T) {
	r := New(Options{Buckets: 2, Slow: true, Stripes: 2})
	r.Grow()
	for k := range kinds {
		for depth := range 20 {
			atDepth(depth, func() { r.add(3, k, func() { r.begin(3, 50) }) })
		}
	}
	r.Forget(3, always)
	const same = 3 + 1<<(64-genShift)
	for gen := uint32(4); gen <= same; gen++ {
		if gen%RenewEvery == 0 {
			r.Renew(gen-1, always)
		}
	}
	require.False(t, r.Edge().Awake(same))
	require.Zero(t, r.Sum(same))
	require.Equal(t, Counts{20, 20, 20}, r.Totals())
	r.add(same, Failure, func() { r.begin(same, 60) })
	require.Equal(t, Counts{Failure: 1}, r.Sum(same))

	before := r.Edge()
	r.Renew(same+1, func() bool { return false })
	require.Equal(t, before, r.Edge(), "somebody has begun another generation meanwhile")
	require.Equal(t, Counts{Failure: 1}, r.Sum(same))
}

// TestCountWrapsIntoTheTotals: a count that outgrows its field touches neither
// its tag nor the window.
func TestCountWrapsIntoTheTotals(t *testing.T) {
	r := New(Options{Buckets: 2, Stripes: 1, Slow: true})
	r.begin(9, 1)
	for k := range kinds {
		r.first[0][cellWord+int(k)].Store(tagOf(9) | liveBit | cellMask - 4)
	}
	for range 3 {
		e := r.Edge()
		r.Note(e, 9)
		require.True(t, r.Turn(e, 9, 1))
	}
	for range 10 {
		for k := range kinds {
			s := r.add(9, k, func() {})
			require.True(t, Live(s.Peek(k), 9))
		}
	}
	const all = cellMask - 4 + 10
	require.Equal(t, Counts{10, 10, 10}, r.Sum(9))
	require.Equal(t, Counts{all, all, all}, r.Totals())
	require.True(t, r.turn(9, 5, nil))
	require.Equal(t, Counts{10, 10, 10}, r.Sum(9))
	require.Equal(t, Counts{all, all, all}, r.Totals())
	require.Zero(t, r.first[0].Peek(Success)&carryBit)
}

// TestEveryWindowFitsTheFieldsOfAnEdge: rows are counted, for the longest window
// too, without touching the number.
func TestEveryWindowFitsTheFieldsOfAnEdge(t *testing.T) {
	for buckets := 1; buckets <= 128; buckets++ {
		r := New(Options{Buckets: buckets, Slow: true, Counters: 9, Stripes: 1})
		require.Less(t, 2*r.rows(), uint64(1)<<edgesBits)
		rows := map[int]bool{}
		for edge := range 4 * r.rows() {
			row := r.row(edge)
			rows[row] = true
			require.GreaterOrEqual(t, row, r.floors()+int(kinds))
			require.LessOrEqual(t, row+int(kinds), int(r.words))
		}
		require.Len(t, rows, buckets+1)
		for _, number := range []uint64{0, 1, numberMask - 1, numberMask, numberMask + 5} {
			for _, gen := range []uint32{0, 1, 1<<15 - 1, 1 << 15, 1<<32 - 1} {
				e := edgeOf(gen, number, 2*r.rows()-1)
				require.True(t, e.Awake(gen))
				require.False(t, (e | asleepBit).Awake(gen))
				require.False(t, e.Awake(gen+1))
				require.Equal(t, 2*r.rows()-1, e.edges())
				require.Equal(t, []uint64{0, 3, 0}, []uint64{e.Behind(number), e.Behind(number + 3), e.Behind(number - 1)})
			}
		}
	}
}

// seeds returns how many random runs a test of one goroutine makes.
func seeds(n uint64) uint64 {
	if underRace {
		return max(n/10, 1)
	}
	return n
}
