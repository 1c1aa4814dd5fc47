package ring

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// layouts are those of every window that a breaker accepts, with the longest
// and the shortest buckets.
func layouts(f func(l layout, buckets int, bucket uint64)) {
	const ms, day = 1_000_000, uint64(24 * 3600 * 1_000_000_000)
	for buckets := 1; buckets <= 128; buckets++ {
		for _, bucket := range []uint64{ms, 1000 * ms, day / uint64(buckets) / ms * ms} {
			for _, cells := range []int{2, 3} {
				f(newLayout(buckets, bucket+1, headWords+7, cells), buckets, bucket)
			}
		}
	}
}

func TestEveryLayoutHasRoomForWhatItMustTellApart(t *testing.T) {
	narrowest := 64
	layouts(func(l layout, buckets int, bucket uint64) {
		countBits := int(l.numberShift)
		numberBits := int(l.freshShift) - countBits
		genBits := 64 - int(l.genShift)
		narrowest = min(narrowest, genBits)
		switch {
		case l.countMask < bucket+1:
			t.Errorf("%d buckets of %d: a bucket may overflow", buckets, bucket)
		case int(l.genShift)-int(l.freshShift) != freshBits:
			t.Errorf("%d buckets of %d: %d bits to tell windows of a generation apart", buckets, bucket, int(l.genShift)-int(l.freshShift))
		case 1<<numberBits <= 2*buckets:
			t.Errorf("%d buckets of %d: %d bits of a number do not tell twice a window apart", buckets, bucket, numberBits)
		case genBits < 12:
			t.Errorf("%d buckets of %d: %d bits of a generation", buckets, bucket, genBits)
		case countBits+numberBits+freshBits+genBits != 64:
			t.Errorf("%d buckets of %d: the widths do not add up", buckets, bucket)
		case l.head+uint64(buckets)*l.cells >= 1<<indexBits:
			t.Errorf("%d buckets of %d: the index of a cell does not fit", buckets, bucket)
		case lowBits > countBits:
			t.Errorf("%d buckets of %d: the index lies over the number", buckets, bucket)
		}
		// How late a timer must be to find the number come round again.
		if round := float64(uint64(1)<<numberBits) * float64(bucket); round < 30*60*1e9 {
			t.Errorf("%d buckets of %d ns come round after %v s", buckets, bucket, round/1e9)
		}
	})
	require.Equal(t, 12, narrowest)
}

func TestEpochTellsItsPartsApart(t *testing.T) {
	layouts(func(l layout, buckets int, _ uint64) {
		for _, gen := range []uint32{0, 1, 4095, 0x7fffffff, 0xffffffff} {
			tag := l.genTag(gen)
			for fresh := range 9 {
				for _, number := range []uint64{0, 1, uint64(buckets), 1<<20 - 1, 1 << 40, 1<<63 + 5} {
					e := l.at(tag, number)
					switch {
					case e.asleep():
						t.Fatalf("awake, and asleep: %x", e)
					case !l.Belongs(e, gen) || !l.Belongs(e|asleepBit, gen):
						t.Fatalf("%x is not of generation %d", e, gen)
					case l.Belongs(e, gen+1) || l.Belongs(e, gen-1):
						t.Fatalf("%x is of a neighbour of generation %d", e, gen)
					case l.tag(e) != tag:
						t.Fatalf("tag %x of %x, not %x", l.tag(e), e, tag)
					case uint64(e.index()) != l.head+number%l.buckets*l.cells:
						t.Fatalf("index %d of %x", e.index(), e)
					case l.stamp(e)&l.countMask != 0 || l.stamp(e) != l.stamp(e|asleepBit):
						t.Fatalf("stamp %x of %x", l.stamp(e), e)
					}
				}
				next := l.nextFresh(tag)
				if next == tag || next>>l.genShift != tag>>l.genShift {
					t.Fatalf("the window after %x is %x", tag, next)
				}
				if tag = next; fresh == 7 && tag != l.genTag(gen) {
					t.Fatalf("eight windows on it is %x", tag)
				}
			}
		}
	})
}

func TestEpochGoesBackBucketByBucket(t *testing.T) {
	layouts(func(l layout, buckets int, _ uint64) {
		for _, number := range []uint64{300, 1 << 20, 1<<40 + 17} {
			tag := l.genTag(77)
			e := l.at(tag, number)
			seen := make(map[int]bool)
			for k := range uint64(buckets) {
				if want := l.at(tag, number-k); e != want {
					t.Fatalf("%d buckets: %d before %d is %x, not %x", buckets, k, number, e, want)
				}
				seen[e.index()] = true
				e = l.before(e)
			}
			if len(seen) != buckets {
				t.Fatalf("%d buckets lie in %d places", buckets, len(seen))
			}
		}
	})
}

func TestNoStampOfAWindowLooksLikeAnother(t *testing.T) {
	layouts(func(l layout, buckets int, _ uint64) {
		if buckets > 10 && buckets%16 != 0 {
			return
		}
		tag := l.genTag(5)
		for number := range uint64(2 * buckets) {
			a := l.at(tag, number)
			for later := number + 1; later <= number+uint64(buckets); later++ {
				if b := l.at(tag, later); l.stamp(a) == l.stamp(b) {
					t.Fatalf("%d buckets: %d looks like %d", buckets, number, later)
				}
			}
		}
	})
}
