package ring

import "testing"

// A cell counts further than its longest bucket can fill it, and the last of
// what it counts touches neither its generation nor another cell.
//
// Field: S084, 1mb-dev/autobreaker v1.1.0 (2026-01-23).
func TestFieldFullCellKeepsItsNeighbours(t *testing.T) {
	const longest = 24*3600*1_000_000_000/2 + 1 // outcomes in half a day, at one a nanosecond
	for _, buckets := range []int{1, 10, 128} {
		r := New(Options{Buckets: buckets, Slow: true, Counters: 7, Stripes: 1})
		r.begin(5, 3)
		for k := Success; k < kinds; k++ {
			r.first[0][cellWord+int(k)].Store(tagOf(5) | liveBit | (longest - 10))
			for range 10 {
				r.add(5, k, func() {})
			}
			if got := r.first[0].Peek(k); got != tagOf(5)|liveBit|longest {
				t.Errorf("%d buckets: a full cell is %#x", buckets, got)
			}
		}
		if got, want := r.Sum(5), (Counts{longest, longest, longest}); got != want || r.Totals() != want {
			t.Errorf("%d buckets: sum %v, totals %v, want %v", buckets, got, r.Totals(), want)
		}
		if !r.Edge().Awake(5) || r.Edge().Behind(3) != 0 {
			t.Errorf("%d buckets: the edge is now %#x", buckets, r.Edge())
		}
		for c := range 7 {
			if n := r.Counter(c); n != 0 {
				t.Errorf("%d buckets: counter %d is %d", buckets, c, n)
			}
		}
	}
}
