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

// keeper uses a ring as a breaker does, for one goroutine: it wakes it, moves
// it on, lets it sleep, and begins generations.
type keeper struct {
	*Ring
	gen    uint32
	number uint64 // the present bucket
	filled uint64 // the bucket that the epoch names
}

func (k *keeper) count(kind Kind) {
	for {
		e := k.Epoch()
		if !k.Live(e, k.gen) {
			k.Wake(e, k.gen, k.number)
			k.filled = k.number
			k.tick()
			continue
		}
		if _, ok := k.Add(e, kind); ok {
			return
		}
	}
}

// tick is what a timer does: possibly late, so that buckets are left out.
func (k *keeper) tick() {
	e := k.Epoch()
	if !k.Live(e, k.gen) {
		k.filled = k.number // by the next outcome
		return
	}
	if !k.At(e, k.number) {
		if k.SumAt(e, k.number).Calls() == 0 {
			k.Sleep(e, k.number)
			k.Sweep(e)
			k.filled = k.number
			return
		}
		k.Advance(e, k.number)
		k.filled = k.number
	}
	k.Sweep(k.Epoch())
}

// atDepth calls f with so many KiB more on the stack: another place for Pick.
func atDepth(kib int, f func()) byte {
	var room [1024]byte
	if kib == 0 {
		f()
		return room[0]
	}
	return atDepth(kib-1, f) + room[kib%len(room)]
}

// longestBucket is what one bucket of 24 h can count, at one a nanosecond.
const longestBucket = 24*3600*1_000_000_000 + 1

// TestRingIsThePlainList runs random operations of one goroutine, which moves
// between stripes, on a ring and on a list.
func TestRingIsThePlainList(t *testing.T) {
	for _, buckets := range []int{1, 2, 3, 7, 10, 64, 128} {
		for _, maxCount := range []uint64{1, 1_000_001, longestBucket / uint64(buckets)} {
			for seed := range seeds(6) {
				if err := againstPlain(buckets, maxCount, seed); err != nil {
					t.Fatalf("%d buckets of %d, seed %d: %v", buckets, maxCount, seed, err)
				}
			}
		}
	}
}

func againstPlain(buckets int, maxCount, seed uint64) error {
	r := New(Options{Buckets: buckets, MaxCount: maxCount, Slow: true, Counters: 3, Stripes: 8})
	k := &keeper{Ring: r}
	p := &plain{buckets: uint64(buckets)}
	random := rand.New(rand.NewPCG(seed, uint64(buckets)))
	// A timer that is later than this finds the number of a bucket look like
	// that of an older one, which sleep may have kept for another window's
	// length. At the narrowest layouts that is days.
	slack := func() uint64 {
		return (r.numberMask>>r.numberShift + 1) - 2*p.buckets - min(k.number-k.filled, 2*p.buckets)
	}
	for range max(200, 1500/buckets) {
		switch n := random.IntN(100); {
		case n < 60:
			kind := Kind(random.IntN(3))
			atDepth(random.IntN(12), func() { k.count(kind) })
			p.add(k.filled, kind)
		case n < 80: // the next bucket, in time or late
			k.number++
			if random.IntN(4) > 0 || slack() < 2 {
				k.tick()
			}
		case n < 84: // a timer that is late, or idleness
			k.number += min(random.Uint64N(uint64(3*buckets)), slack())
			k.tick()
		case n < 86: // a new generation
			k.gen++
			p.outcomes = nil
		case n < 88:
			r.Forget()
			r.Sweep(r.Epoch())
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
		if err := k.differs(p, min(random.Uint64N(uint64(2*buckets)), slack())); err != nil {
			return err
		}
	}
	return nil
}

// differs compares now, and as it will look some buckets later.
func (k *keeper) differs(p *plain, later uint64) error {
	e := k.Epoch()
	if k.Belongs(e, k.gen) {
		for _, number := range []uint64{k.number, k.number + later} {
			if got, want := k.SumAt(e, number), p.window(number); got != want {
				return fmt.Errorf("bucket %d shows %v, not %v", number, got, want)
			}
		}
	}
	if k.Live(e, k.gen) {
		if got, want := k.Sum(e), p.window(k.filled); got != want {
			return fmt.Errorf("the window is %v, not %v", got, want)
		}
		if got, want := k.SumBucket(e), p.bucket(k.filled); got != want {
			return fmt.Errorf("the bucket is %v, not %v", got, want)
		}
		var stripes Counts
		for _, s := range k.all() {
			for kind, n := range k.SumStripe(s, e) {
				stripes[kind] += n
			}
		}
		if got := k.Sum(e); got != stripes {
			return fmt.Errorf("the stripes add up to %v, not %v", stripes, got)
		}
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

// TestNothingIsLostAtTurnover: recorders know for themselves which epoch each
// outcome was counted under; buckets turn over all the while. In the end each
// bucket of the window holds exactly what was counted under its epoch, and the
// totals everything.
func TestNothingIsLostAtTurnover(t *testing.T) {
	for _, buckets := range []int{1, 3, 10} {
		for _, stripes := range []int{1, 8} {
			for range 10 {
				turnOver(t, buckets, stripes)
			}
		}
	}
}

func turnOver(t *testing.T, buckets, stripes int) {
	t.Helper()
	const recorders, each = 4, 2000
	// With counts of 20 bits a number has 20 too, and none comes round again.
	r := New(Options{Buckets: buckets, MaxCount: 1<<20 - 1, Stripes: stripes})
	var grow atomic.Bool
	r.onCrowd = func() { grow.Store(true) }
	require.True(t, r.Wake(r.Epoch(), 0, 0))
	var mu sync.Mutex
	counted := make(map[Epoch]Counts)
	var busy atomic.Int64
	busy.Store(recorders)
	var all sync.WaitGroup
	for i := range recorders {
		all.Go(func() {
			defer busy.Add(-1)
			mine := make(map[Epoch]Counts)
			for n := range each {
				kind := Kind((n + i) % 2)
				for {
					e := r.Epoch()
					if _, ok := r.Add(e, kind); ok {
						c := mine[e]
						c[kind]++
						mine[e] = c
						break
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for e, c := range mine {
				sum := counted[e]
				for k := range c {
					sum[k] += c[k]
				}
				counted[e] = sum
			}
		})
	}
	all.Go(func() { // as the worker does
		for number := uint64(1); busy.Load() > 0; number++ {
			if number < 1<<20 {
				r.Advance(r.Epoch(), number)
			}
			r.Sweep(r.Epoch())
			if grow.Swap(false) {
				r.Grow()
			}
			runtime.Gosched()
		}
	})
	all.Wait()
	e := r.Epoch()
	for range buckets {
		require.Equal(t, counted[e], r.SumBucket(e))
		e = r.before(e)
	}
	require.Equal(t, uint64(recorders*each), r.Totals().Calls())
}

func TestPlainCountersAreExactUnderContention(t *testing.T) {
	const goroutines, each = 4, 50_000
	for _, stripes := range []int{1, 4} {
		r := New(Options{Buckets: 1, MaxCount: 1 << 30, Counters: 2, Stripes: stripes})
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

func TestSweepThatIsOvertakenTakesNothingOutOfALaterWindow(t *testing.T) {
	for name, overtake := range map[string]func(r *Ring, e Epoch){
		"by the next bucket": func(r *Ring, e Epoch) { require.True(t, r.Advance(e, 7)) },
		"by a generation":    func(r *Ring, e Epoch) { require.True(t, r.Wake(e, 2, 3)) },
		"by Forget":          func(r *Ring, _ Epoch) { r.Forget() },
		"by waking": func(r *Ring, e Epoch) {
			require.True(t, r.Sleep(e, 4))
			require.True(t, r.Wake(r.Epoch(), 1, 5))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Buckets: 4, MaxCount: 1 << 30, Stripes: 1})
			require.True(t, r.Wake(r.Epoch(), 1, 3))
			e := r.Epoch()
			overtake(r, e)
			_, ok := r.Add(r.Epoch(), Failure)
			require.True(t, ok)
			r.Sweep(e) // by one who read the epoch before all that
			require.Equal(t, uint64(1), r.Sum(r.Epoch())[Failure])
			require.Equal(t, uint64(1), r.Totals()[Failure])
		})
	}
}

func TestWindowSleepsAndWakes(t *testing.T) {
	r := New(Options{Buckets: 4, MaxCount: 1 << 30, Stripes: 1})
	require.False(t, r.Live(r.Epoch(), 0), "a new window is asleep")
	require.True(t, r.Belongs(r.Epoch(), 0))
	require.True(t, r.Wake(r.Epoch(), 0, 9))
	e := r.Epoch()
	require.True(t, r.Live(e, 0))
	require.True(t, r.At(e, 9))
	_, ok := r.Add(e, Failure)
	require.True(t, ok)

	require.True(t, r.Sleep(e, 10))
	require.False(t, r.Live(r.Epoch(), 0))
	require.True(t, r.Belongs(r.Epoch(), 0))
	require.Equal(t, uint64(1), r.SumAt(r.Epoch(), 12)[Failure], "asleep, and it still holds what has not aged")
	require.Zero(t, r.SumAt(r.Epoch(), 13))
	_, ok = r.Add(e, Failure)
	require.True(t, ok, "a recorder that read the epoch before finds its cell as it was")
	_, ok = r.Add(e, Success)
	require.False(t, ok, "and takes no new one")

	require.True(t, r.Wake(r.Epoch(), 0, 12))
	require.Equal(t, Counts{Failure: 2}, r.Sum(r.Epoch()), "it wakes with what it holds")
	require.True(t, r.Sleep(r.Epoch(), 12))
	require.True(t, r.Wake(r.Epoch(), 0, 16))
	require.Zero(t, r.Sum(r.Epoch()), "after its whole length it wakes empty")
	require.Equal(t, uint64(2), r.Totals().Calls())
}

func TestStaleEpochMovesNothing(t *testing.T) {
	r := New(Options{Buckets: 4, MaxCount: 1 << 30, Stripes: 1})
	asleep := r.Epoch()
	require.True(t, r.Wake(asleep, 0, 1))
	old := r.Epoch()
	require.True(t, r.Advance(old, 2))
	now := r.Epoch()
	require.False(t, r.Wake(asleep, 0, 1))
	require.False(t, r.Advance(old, 2))
	require.False(t, r.Sleep(old, 1))
	require.Equal(t, now, r.Epoch())
	cell := &r.first[0][now.index()]
	cell.Store(r.stamp(now) | 5) // e's slot is now another's
	_, ok := r.Add(Epoch(uint64(old)&^(r.countMask)|uint64(now)&r.countMask), Success)
	require.False(t, ok, "an outcome of an older bucket in the same cell")
	require.Equal(t, r.stamp(now)|5, cell.Load())
}

func TestForgetEmptiesTheWindowAndKeepsTheTotals(t *testing.T) {
	r := New(Options{Buckets: 3, MaxCount: 1 << 30, Stripes: 1})
	require.True(t, r.Wake(r.Epoch(), 5, 1))
	for n := range uint64(20) {
		e := r.Epoch()
		require.True(t, r.Live(e, 5))
		require.True(t, r.At(e, 1))
		require.Zero(t, r.Sum(e))
		_, ok := r.Add(e, Failure)
		require.True(t, ok)
		require.Equal(t, n+1, r.Totals()[Failure])
		r.Forget()
		r.Sweep(r.Epoch())
	}
}

func TestCountDoesNotOverflowIntoItsNeighbours(t *testing.T) {
	for _, maxCount := range []uint64{1_000_001, 1_000_000_001, 86_400_000_000_001} {
		r := New(Options{Buckets: 2, MaxCount: maxCount, Stripes: 1, Slow: true})
		require.True(t, r.Wake(r.Epoch(), 1, 1))
		e := r.Epoch()
		for _, k := range []Kind{Success, Failure, Slow} {
			r.first[0][e.index()+int(k)].Store(r.stamp(e) | maxCount - 1)
			_, ok := r.Add(e, k)
			require.True(t, ok)
		}
		require.Equal(t, Counts{maxCount, maxCount, maxCount}, r.SumBucket(e))
		require.Equal(t, Counts{maxCount, maxCount, maxCount}, r.Totals())
	}
}

func TestForeignEpochPanics(t *testing.T) {
	small := New(Options{Buckets: 1, MaxCount: 1 << 30, Stripes: 1})
	large := New(Options{Buckets: 128, MaxCount: 1 << 30, Stripes: 1})
	require.True(t, large.Wake(large.Epoch(), 0, 100))
	require.PanicsWithValue(t, "ring: foreign epoch", func() { small.Add(large.Epoch(), Success) })
	_, _, ok := small.Peek(small.first[0], large.Epoch(), Success)
	require.False(t, ok)
}

// seeds returns how many random runs a test of one goroutine makes.
func seeds(n uint64) uint64 {
	if underRace {
		return max(n/10, 1)
	}
	return n
}
