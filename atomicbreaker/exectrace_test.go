package atomicbreaker

import (
	"bytes"
	"context"
	"runtime/trace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestExecutionTraceShowsProbes: with a trace running, probes and changes of
// state are in it; the texts of a trace are stored as they are.
func TestExecutionTraceShowsProbes(t *testing.T) {
	b, manual := halfOpened(t, Config{Name: "traced", ConsecutiveFailures: 1})
	var recorded bytes.Buffer
	if err := trace.Start(&recorded); err != nil {
		t.Skip("the tests themselves are being traced: ", err)
	}
	require.Error(t, b.Do(t.Context(), func(context.Context) error {
		manual.Advance(7 * time.Millisecond)
		return errFailed
	}))
	manual.Advance(b.RetryAfter())
	admitted(t, b).Report(Success)
	trace.Stop()
	for _, want := range []string{
		traceCategory, traceRegion, "traced: probe admitted", "traced: probe settled: failure after 7ms",
		"traced: half-open to open: probe-failed", "traced: open to half-open: cooldown", "traced: probe settled: success after 0s",
	} {
		require.Contains(t, recorded.String(), want)
	}
}

// TestTracingOffCostsNoAllocation: the hooks are on the probe's path, which
// must stay free of allocations.
func TestTracingOffCostsNoAllocation(t *testing.T) {
	b, _ := halfOpened(t, Config{ConsecutiveFailures: 1})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ticket, err := b.Acquire()
		if err != nil || !ticket.Report(Ignored) {
			t.Fatal("no probe")
		}
	}))
}
