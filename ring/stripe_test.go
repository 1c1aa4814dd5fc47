package ring

import (
	"math/bits"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestStripesBeginOnLinesOfTheirOwn(t *testing.T) {
	require.GreaterOrEqual(t, lineSize, uintptr(128))
	require.Zero(t, lineSize%64)
	require.Equal(t, int(lineSize), lineWords*8)
	require.Equal(t, lineSize, unsafe.Sizeof(line{}))
	var kept [][]Stripe
	for buckets := 1; buckets <= 128; buckets++ {
		for _, slow := range []bool{false, true} {
			r := New(Options{Buckets: buckets, Slow: slow, Counters: 7, Stripes: 8})
			for range 3 {
				r.Grow()
			}
			all := r.all()
			kept = append(kept, all)
			require.Len(t, all, 8)
			for i, s := range all {
				from := uintptr(unsafe.Pointer(&s[0]))
				require.Zero(t, from%lineSize, "%d buckets: stripe %d begins at %x", buckets, i, from)
				require.Zero(t, uintptr(len(s))*8%lineSize, "it ends within a line")
				require.GreaterOrEqual(t, len(s), int(r.words))
				for _, other := range all[:i] {
					apart := from - uintptr(unsafe.Pointer(&other[0]))
					require.True(t, apart >= uintptr(len(s))*8 && -apart >= uintptr(len(s))*8, "two stripes overlap")
				}
			}
		}
	}
	require.NotEmpty(t, kept)
}

func TestRecordersReadNoLineThatIsWrittenWhileTheWindowStands(t *testing.T) {
	// What every outcome reads of a Ring lies together at its beginning.
	var r Ring
	for name, offset := range map[string]uintptr{
		"mask": unsafe.Offsetof(r.mask), "salt": unsafe.Offsetof(r.salt),
		"grown": unsafe.Offsetof(r.grown), "first": unsafe.Offsetof(r.first),
	} {
		require.Less(t, offset, uintptr(64), name)
	}
}

func TestStripeKeepsItsHeadApart(t *testing.T) {
	r := New(Options{Buckets: 3, Slow: true, Counters: 4, Stripes: 1})
	r.begin(1, 1)
	s := r.Pick()
	require.False(t, s.Failing())
	s.SetFailing(true)
	require.True(t, s.Failing())
	for i := range 4 {
		for range i + 1 {
			r.Count(i)
		}
	}
	r.Look(s, 1).Wait(3)
	for _, k := range []Kind{Success, Failure, Slow} {
		r.AddTotal(k)
		r.add(1, k, func() {})
	}
	for i := range 4 {
		require.Equal(t, uint64(i+1), r.Counter(i))
	}
	require.Equal(t, Counts{2, 2, 2}, r.Totals())
	require.Equal(t, Counts{1, 1, 1}, r.Sum(1))
	require.True(t, s.Failing())
	s.SetFailing(false)
	require.False(t, s.Failing())
}

func TestDueWaitsForSoManyCallsOfTheBucket(t *testing.T) {
	r := New(Options{Buckets: 3, Stripes: 1})
	s := r.Pick()
	call := func(k Kind) { r.add(1, k, func() { r.begin(1, 1) }) }
	due := func() bool { return r.Look(s, 1).Due() }
	call(Failure)
	require.True(t, due(), "nothing was said of this bucket")
	call(Success)
	require.Equal(t, uint64(2), s.Held(1))
	r.Look(s, 1).Wait(3)
	for _, k := range []Kind{Failure, Success} {
		call(k)
		require.False(t, due())
	}
	call(Failure)
	require.True(t, due())
	r.Look(s, 1).Wait(1 << 62) // more than the field holds
	call(Failure)
	require.False(t, due())
	require.True(t, r.turn(1, 2, nil))
	require.True(t, due(), "of another bucket")
	r.Look(s, 1).Wait(1 << 62)
	require.True(t, r.Look(s, 2).Due() || s.Held(2) == 0, "of another generation")
}

func TestStripesGrowOnContentionOnlyAndToTheirLimit(t *testing.T) {
	told := 0
	r := New(Options{Buckets: 2, Counters: 1, Stripes: 8, OnCrowd: func() { told++ }})
	for range 1000 {
		r.Count(0)
	}
	require.Zero(t, told, "one goroutine crowds nobody")
	r.begin(0, 100)
	require.Equal(t, []int{1, 1}, []int{r.InUse(), r.Stripes()})
	salts := map[uint64]bool{r.salt.Load(): true}
	for _, want := range []int{2, 4, 8} {
		r.Shared()
		r.Shared()
		require.True(t, r.Crowded())
		r.Grow()
		require.False(t, r.Crowded())
		require.Equal(t, []int{want, want}, []int{r.InUse(), r.Stripes()})
		require.False(t, salts[r.salt.Load()], "dealt anew")
		salts[r.salt.Load()] = true
	}
	require.Equal(t, 3, told, "once for each time that it is crowded")
	for range maxDeals {
		r.Shared()
		require.False(t, r.Crowded())
		require.Equal(t, 8, r.InUse())
		require.False(t, salts[r.salt.Load()], "at the limit the goroutines are dealt anew")
		salts[r.salt.Load()] = true
		require.Equal(t, uint64(1), r.salt.Load()&1, "a salt stays odd")
	}
	last := r.salt.Load()
	r.Shared()
	require.True(t, r.Crowded(), "enough of it")
	r.Shared()
	require.Equal(t, last, r.salt.Load())
	r.Grow()
	require.NotEqual(t, last, r.salt.Load(), "whoever grows it may try again")
	require.False(t, r.Crowded())
	r.Shared()
	require.False(t, r.Crowded())
	require.Equal(t, 3, told, "and needs nobody for it")

	kept := r.all()
	r.Narrow()
	require.Equal(t, []int{1, 8}, []int{r.InUse(), r.Stripes()})
	require.False(t, r.Crowded())
	r.Shared()
	require.False(t, r.Crowded(), "stripes that exist are used at once")
	require.Equal(t, []int{2, 8}, []int{r.InUse(), r.Stripes()})
	for i, s := range r.all() {
		require.True(t, &kept[i][0] == &s[0], "the stripes that exist stay where they are")
	}
}

func TestGoroutinesThatStandApartUseStripesApart(t *testing.T) {
	r := New(Options{Buckets: 1, Stripes: 8})
	for range 3 {
		r.Grow()
	}
	found := make(map[*atomic.Uint64]int)
	for depth := range 400 {
		atDepth(depth, func() { found[&r.Pick()[0]]++ })
	}
	require.Len(t, found, 8)
	for _, n := range found {
		require.Less(t, n, 200, "the hash deals most to one stripe")
	}
	s := r.Pick()
	for range 100 {
		require.True(t, &s[0] == &r.Pick()[0], "a goroutine keeps its stripe")
	}
}

func TestMaxStripesIsAPowerOfTwoOfAtLeastFourPerProcessor(t *testing.T) {
	for processors := 1; processors <= 1000; processors++ {
		n := MaxStripes(processors)
		require.Equal(t, 1, bits.OnesCount(uint(n)))
		require.LessOrEqual(t, n, 256)
		if n < 256 {
			require.GreaterOrEqual(t, n, 4*processors)
			require.Less(t, n, 8*processors)
		}
	}
}
