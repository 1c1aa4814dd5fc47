package ring

import (
	"testing"
	"time"
)

// A cell is wide enough for as many outcomes as its bucket can ever count, and
// the last of them touch neither its stamp nor another cell.
//
// Field: S084, 1mb-dev/autobreaker v1.1.0 (2026-01-23).
func TestFieldFullCellKeepsItsNeighbours(t *testing.T) {
	for _, bucket := range []time.Duration{time.Millisecond, time.Second, time.Hour, 24 * time.Hour} {
		for _, buckets := range []int{1, 10, 128} {
			most := uint64(bucket) + 1 // one a nanosecond
			r := New(Options{Buckets: buckets, MaxCount: most, Slow: true, Counters: 7, Stripes: 1})
			if !r.Wake(r.Epoch(), 5, 3) {
				t.Fatal("the ring does not wake")
			}
			e := r.Epoch()
			for k := Success; k < kinds; k++ {
				cell := &r.Pick()[e.index()+int(k)]
				cell.Store(r.stamp(e) | (most - 10))
				for range 10 {
					if _, ok := r.Add(e, k); !ok {
						t.Fatal("the epoch moved")
					}
				}
				if got := cell.Load(); got != r.stamp(e)|most {
					t.Errorf("%v in %d: a full cell is %#x, want %#x", bucket, buckets, got, r.stamp(e)|most)
				}
			}
			if got, want := r.Sum(e), (Counts{most, most, most}); got != want || r.Totals() != want {
				t.Errorf("%v in %d: sum %v, totals %v, want %v", bucket, buckets, got, r.Totals(), want)
			}
			if !r.Live(r.Epoch(), 5) || !r.At(r.Epoch(), 3) {
				t.Errorf("%v in %d: the epoch is now %#x, was %#x", bucket, buckets, r.Epoch(), e)
			}
			for c := range 7 {
				if n := r.Counter(c); n != 0 {
					t.Errorf("%v in %d: counter %d is %d", bucket, buckets, c, n)
				}
			}
		}
	}
}
