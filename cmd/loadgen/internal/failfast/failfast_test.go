package failfast

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/latency"
)

func TestHammerNoticesAnAdmittedCall(t *testing.T) {
	h := hammer{goroutines: 2, watch: latency.NewStopwatch()}
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
	r := frametest.Quiet()
	j := &job{goroutines: 4, duration: 500 * time.Millisecond}
	if err := j.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"failfast/atomic/allocs", "failfast/atomic/uncounted"} {
		if c := frametest.Find(t, r, name); !c.Pass || c.Limit == nil {
			t.Errorf("%+v", c)
		}
	}
	if got := len(r.Fact("failfast").(facts).Rows); got != 4 {
		t.Fatalf("%d rows, want 4", got)
	}
	for _, row := range r.Fact("failfast").(facts).Rows {
		if row.Calls < 1000 || row.PerSecond < 1000 || row.P50 > row.P99 || row.P99 > row.P999 || row.P999 > row.Max {
			t.Errorf("row %+v", row)
		}
	}
}

func TestFailfastVerdicts(t *testing.T) {
	judged := func(change func(f *facts)) *frame.Report {
		f := facts{Rows: []rowFacts{
			{Name: "nothing"},
			{Name: "atomic", Calls: 1_000_000, P99: 1000, P999: 1000, HeldUp: 1000, PerSecond: 100},
			{Name: "mutex", P99: 5000, PerSecond: 10}, {Name: "rwmutex", P99: 6000, PerSecond: 20},
		}}
		change(&f)
		r := frametest.Quiet()
		f.judge(r)
		return r
	}
	r := judged(func(*facts) {})
	if !r.Passed() {
		t.Errorf("fails at its limits: %+v", r.Checks)
	}
	if a, b := frametest.Find(t, r, "failfast/speedup_vs_mutex"), frametest.Find(t, r, "failfast/speedup_vs_rwmutex"); a.Value != 10 || b.Value != 5 || a.Limit != nil {
		t.Errorf("speedups %+v, %+v", a, b)
	}
	for name, change := range map[string]func(f *facts){
		"failfast/atomic/p99":       func(f *facts) { f.Rows[1].P99 = 1001 },
		"failfast/atomic/p999":      func(f *facts) { f.Rows[1].P999 = 1001 },
		"failfast/atomic/allocs":    func(f *facts) { f.AllocsPerCall = 1 },
		"failfast/atomic/uncounted": func(f *facts) { f.UncountedCalls = 1 },
		"failfast/atomic/held_up":   func(f *facts) { f.Rows[1].HeldUp = 1001 },
	} {
		if r := judged(change); r.Passed() || frametest.Find(t, r, name).Pass {
			t.Errorf("%s passes beyond its limit", name)
		}
	}
}

func TestREADMEDocumentsEveryCheck(t *testing.T) {
	r := frametest.Quiet()
	facts{Rows: []rowFacts{{Name: "nothing"}, {Name: "atomic"}, {Name: "mutex"}, {Name: "rwmutex"}}}.judge(r)
	frametest.Documented(t, r)
}
