package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestLatenciesAccountForEveryCall(t *testing.T) {
	const cutoff = 1000
	a, b := newLatencies(cutoff), newLatencies(cutoff)
	draw := rand.New(rand.NewPCG(1, 2))
	var calls, held, longest int64
	for range 10_000 {
		for _, l := range []*latencies{a, b} {
			span := draw.Int64N(1100)
			l.record(span)
			calls++
			if span >= cutoff {
				held++
			}
			longest = max(longest, span)
		}
	}
	a.add(b)
	if a.calls() != calls || a.held != held || a.longest != longest {
		t.Errorf("%d calls, %d held up, longest %d; want %d, %d, %d", a.calls(), a.held, a.longest, calls, held, longest)
	}
	if got := a.spans.ValueAtQuantile(50); got < 480 || got > 520 {
		t.Errorf("median of 0 to 999 is %d", got)
	}
	if got := a.spans.Max(); got >= cutoff {
		t.Errorf("a span of %d, beyond the cutoff, is in the histogram", got)
	}
}

func TestLatenciesWithoutCutoffKeepEverySpan(t *testing.T) {
	l := newLatencies(0)
	for _, span := range []int64{-3, 0, 1, 1 << 35, 1 << 50} { // a step back, and one beyond the range
		l.record(span)
	}
	if l.calls() != 5 || l.held != 0 || l.longest != 1<<50 {
		t.Errorf("%d calls, %d held up, longest %d; want 5, 0, 2^50", l.calls(), l.held, l.longest)
	}
}

func TestStopwatchAgreesWithTheClock(t *testing.T) {
	w := newStopwatch()
	start, ticks := time.Now(), w.now()
	time.Sleep(20 * time.Millisecond)
	got := float64(w.now()-ticks) * w.nsPerTick()
	want := float64(time.Since(start))
	if got < 0.9*want || got > 1.1*want {
		t.Errorf("%s measured %.0f ns, the clock %.0f", w.name, got, want)
	}
}

func TestHammerNoticesAnAdmittedCall(t *testing.T) {
	h := hammer{goroutines: 2, watch: newStopwatch()}
	leaky := variant{name: "leaky", refuse: func() bool { return false }}
	if _, err := h.timed(t.Context(), leaky, time.Millisecond, 0); err == nil || !strings.Contains(err.Error(), "leaky") {
		t.Errorf("timed: %v", err)
	}
	if _, _, err := h.throughput(t.Context(), leaky, time.Millisecond); err == nil {
		t.Error("throughput saw nothing")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.throughput(ctx, nothing(), time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}

// TestFailfastForReal needs no sleep but its own measuring.
func TestFailfastForReal(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a second")
	}
	r := quietReport()
	j := &failfast{goroutines: 4, duration: 500 * time.Millisecond}
	if err := j.run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"failfast/atomic/allocs", "failfast/atomic/uncounted"} {
		if c := find(t, r, name); !c.Pass || c.Limit == nil {
			t.Errorf("%+v", c)
		}
	}
	if got := len(r.file.Failfast.Rows); got != 4 {
		t.Fatalf("%d rows, want 4", got)
	}
	for _, row := range r.file.Failfast.Rows {
		if row.Calls < 1000 || row.PerSecond < 1000 || row.P50 > row.P99 || row.P99 > row.P999 || row.P999 > row.Max {
			t.Errorf("row %+v", row)
		}
	}
}

func TestFailfastVerdicts(t *testing.T) {
	facts := func(change func(f *failfastFacts)) *report {
		f := failfastFacts{Rows: []failfastRow{
			{Name: "nothing"},
			{Name: "atomic", Calls: 1_000_000, P99: 1000, P999: 1000, HeldUp: 1000, PerSecond: 100},
			{Name: "mutex", P99: 5000, PerSecond: 10}, {Name: "rwmutex", P99: 6000, PerSecond: 20},
		}}
		change(&f)
		r := quietReport()
		f.judge(r)
		return r
	}
	r := facts(func(*failfastFacts) {})
	if !r.passed() {
		t.Errorf("fails at its limits: %+v", r.file.Checks)
	}
	if a, b := find(t, r, "failfast/speedup_vs_mutex"), find(t, r, "failfast/speedup_vs_rwmutex"); a.Value != 10 || b.Value != 5 || a.Limit != nil {
		t.Errorf("speedups %+v, %+v", a, b)
	}
	for name, change := range map[string]func(f *failfastFacts){
		"failfast/atomic/p99":       func(f *failfastFacts) { f.Rows[1].P99 = 1001 },
		"failfast/atomic/p999":      func(f *failfastFacts) { f.Rows[1].P999 = 1001 },
		"failfast/atomic/allocs":    func(f *failfastFacts) { f.AllocsPerCall = 1 },
		"failfast/atomic/uncounted": func(f *failfastFacts) { f.UncountedCalls = 1 },
		"failfast/atomic/held_up":   func(f *failfastFacts) { f.Rows[1].HeldUp = 1001 },
	} {
		if r := facts(change); r.passed() || find(t, r, name).Pass {
			t.Errorf("%s passes beyond its limit", name)
		}
	}
}
