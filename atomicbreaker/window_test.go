package atomicbreaker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A cut goes by what was in flight when the failing probe was sent, whatever
// the window has grown to since.
func TestCutLeavesFiveEighthsOfThoseInFlightWhenTheFailingProbeWasSent(t *testing.T) {
	for _, c := range []struct{ others, left int }{{0, 1}, {1, 1}, {3, 1}, {4, 2}, {8, 5}, {16, 10}} {
		b, manual := made(t, Config{})
		b.Trip()
		manual.Advance(500 * time.Millisecond)
		calls(t, b, 1, Success)
		for n := 3; n <= 17; n += 2 {
			round := flight(t, b, n)
			require.True(t, round[0].Report(Success))
			for _, probe := range round[1:] {
				require.True(t, probe.Report(Ignored))
			}
		}
		others := flight(t, b, c.others)
		failing := admitted(t, b)
		calls(t, b, 4, Failure)
		for _, probe := range others {
			require.True(t, probe.Report(Ignored))
		}
		require.Equal(t, 19, b.Snapshot().ProbeWindow)
		require.True(t, failing.Report(Failure))
		require.Equal(t, c.left, b.Snapshot().ProbeWindow, "%d others", c.others)
	}
}

func flight(t *testing.T, b *Breaker, n int) []*Ticket {
	t.Helper()
	var probes []*Ticket
	for range n {
		probes = append(probes, admitted(t, b))
	}
	return probes
}
