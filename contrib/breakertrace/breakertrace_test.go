package breakertrace_test

import (
	"bytes"
	"runtime/trace"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakertrace"
	"github.com/stretchr/testify/require"
)

// halfOpen returns a breaker named traced whose next call is a probe.
func halfOpen(t *testing.T, c atomicbreaker.Config) (*atomicbreaker.Breaker, *clock.Manual) {
	t.Helper()
	manual := new(clock.Manual)
	c.Name, c.Clock, c.ConsecutiveFailures = "traced", manual, 1
	b, err := atomicbreaker.New(breakertrace.Config(c))
	require.NoError(t, err)
	b.Trip()
	manual.Advance(b.RetryAfter())
	require.Equal(t, atomicbreaker.StateHalfOpen, b.State())
	return b, manual
}

// probe makes a call that takes so long.
func probe(t *testing.T, b *atomicbreaker.Breaker, m *clock.Manual, took time.Duration, o atomicbreaker.Outcome) {
	t.Helper()
	ticket, err := b.Acquire()
	require.NoError(t, err)
	m.Advance(took)
	require.True(t, ticket.Report(o))
}

// TestExecutionTraceShowsProbes: the texts of a trace are stored as they are.
func TestExecutionTraceShowsProbes(t *testing.T) {
	var told int
	b, manual := halfOpen(t, atomicbreaker.Config{
		OnTransition: func(atomicbreaker.Transition) { told++ },
		OnProbe:      func(atomicbreaker.Probe) { told++ },
	})
	told = 0
	var recorded bytes.Buffer
	if err := trace.Start(&recorded); err != nil {
		t.Skip("the tests themselves are being traced: ", err)
	}
	probe(t, b, manual, 7*time.Millisecond, atomicbreaker.Failure)
	manual.Advance(b.RetryAfter())
	probe(t, b, manual, 0, atomicbreaker.Success)
	trace.Stop()
	for _, want := range []string{
		breakertrace.Category, "traced: probe: failure after 7ms", "traced: half-open to open: probe-failed",
		"traced: open to half-open: cooldown", "traced: probe: success after 0s",
	} {
		require.Contains(t, recorded.String(), want)
	}
	require.Equal(t, 4, told, "the listeners that were there before")
}

// TestTracingOffCostsNoAllocation: the listener of probes runs on the goroutine
// that settles them.
func TestTracingOffCostsNoAllocation(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("the tests themselves are being traced")
	}
	b, _ := halfOpen(t, atomicbreaker.Config{})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		ticket, err := b.Acquire()
		if err != nil || !ticket.Report(atomicbreaker.Ignored) {
			t.Fatal("no probe")
		}
	}))
}
