package atomicbreaker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeavingForcedClosedEmptiesTheWindowEveryTime(t *testing.T) {
	for _, c := range []Config{{}, {WindowCalls: 100}} {
		b, _ := made(t, c)
		b.SetMode(ForcedClosed)
		calls(t, b, 9, Failure)
		for range 20 { // more often than a stamp can tell apart
			require.True(t, b.Ready())
			b.SetMode(Auto)
			require.Zero(t, b.Snapshot().Rolling)
			b.SetMode(ForcedClosed)
		}
		b.SetMode(Auto)
		calls(t, b, 1, Failure)
		require.Equal(t, Counts{Calls: 1, Failures: 1}, b.Snapshot().Rolling)
		require.Equal(t, StateClosed, b.State())
		require.Equal(t, uint32(0), b.Snapshot().Generation)
	}
}
