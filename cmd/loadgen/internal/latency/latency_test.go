package latency

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestRecordAccountsForEveryCall(t *testing.T) {
	const cutoff = 1000
	a, b := NewRecord(cutoff), NewRecord(cutoff)
	draw := rand.New(rand.NewPCG(1, 2))
	var calls, held, longest int64
	for range 10_000 {
		for _, l := range []*Record{a, b} {
			span := draw.Int64N(1100)
			l.Add(span)
			calls++
			if span >= cutoff {
				held++
			}
			longest = max(longest, span)
		}
	}
	a.Merge(b)
	if a.Calls() != calls || a.Held != held || a.Longest != longest {
		t.Errorf("%d calls, %d held up, longest %d; want %d, %d, %d", a.Calls(), a.Held, a.Longest, calls, held, longest)
	}
	if got := a.Spans.ValueAtQuantile(50); got < 480 || got > 520 {
		t.Errorf("median of 0 to 999 is %d", got)
	}
	if got := a.Spans.Max(); got >= cutoff {
		t.Errorf("a span of %d, beyond the cutoff, is in the histogram", got)
	}
}

func TestRecordWithoutCutoffKeepsEverySpan(t *testing.T) {
	l := NewRecord(0)
	for _, span := range []int64{-3, 0, 1, 1 << 35, 1 << 50} { // a step back, and one beyond the range
		l.Add(span)
	}
	if l.Calls() != 5 || l.Held != 0 || l.Longest != 1<<50 {
		t.Errorf("%d calls, %d held up, longest %d; want 5, 0, 2^50", l.Calls(), l.Held, l.Longest)
	}
}

func TestStopwatchAgreesWithTheClock(t *testing.T) {
	w := NewStopwatch()
	start, ticks := time.Now(), w.Now()
	time.Sleep(20 * time.Millisecond)
	got := float64(w.Now()-ticks) * w.NSPerTick()
	want := float64(time.Since(start))
	if got < 0.9*want || got > 1.1*want {
		t.Errorf("%s measured %.0f ns, the clock %.0f", w.Name, got, want)
	}
}
