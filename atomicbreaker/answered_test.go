package atomicbreaker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// For a probe the first sign of an answer is the verdict and frees its place. The end of the call is
// counted once, and decides nothing.
func TestAnsweredIsAProbesVerdict(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	stream := admitted(t, b)
	refused(t, b, ErrProbeLimit)
	require.True(t, stream.Answered())
	require.Equal(t, inWindow{0, 3}, windowShown(b), "its place is free and the window has grown")
	require.Zero(t, b.Snapshot().Succeeded, "it is counted when it ends")
	require.Equal(t, Success, b.Snapshot().LastProbe.Outcome)
	require.Equal(t, counted{"failed": 1}, delta(b, func() { stream.Done(context.Background(), errFailed) }))
	require.Equal(t, inWindow{0, 3}, windowShown(b), "its end decides nothing")
	manual.Advance(2 * time.Second)
	require.Equal(t, StateClosed, b.State())
}

// A stream that lasts for an hour keeps no breaker half-open, and is late at its end.
func TestStreamOfAnHourKeepsNoBreakerHalfOpen(t *testing.T) {
	for _, c := range []Config{{}, {Recovery: Recovery{Probes: 2}}} {
		b, manual := halfOpened(t, c)
		var streams []*Ticket
		for range 20 {
			if x, err := b.Acquire(); err == nil {
				x.Answered()
				streams = append(streams, &x)
			}
			manual.Advance(100 * time.Millisecond)
		}
		require.Equal(t, StateClosed, b.State())
		manual.Advance(time.Hour)
		before := b.Snapshot()
		for _, x := range streams {
			require.True(t, x.Report(Success))
		}
		after := b.Snapshot()
		require.Equal(t, uint64(len(streams)), after.Late+after.Succeeded-before.Late-before.Succeeded)
		require.Equal(t, StateClosed, b.State())
	}
}

// For a closed breaker Answered decides nothing.
func TestAnsweredOfAClosedBreaker(t *testing.T) {
	b, manual := sampling(t, Config{})
	for range 2 * learntAfter {
		stream := admitted(t, b)
		manual.Advance(20 * time.Millisecond)
		require.True(t, stream.Answered())
		manual.Advance(time.Minute)
		require.Equal(t, counted{"succeeded": 1}, delta(b, func() { stream.Done(context.Background(), nil) }))
		manual.Advance(longestTick)
	}
	require.Equal(t, 20*time.Millisecond, b.Snapshot().Latency.Usual, "of the answer, not of the stream")
	settled := admitted(t, b)
	settled.Cancel()
	require.False(t, settled.Answered())
	require.False(t, new(Ticket).Answered())
}

// Calls that take longer than the default ProbeTimeout: after the dependency is well, the breaker
// closes within two of them and a cooldown, also if nothing was known of how long they take.
func TestLongCallsClose(t *testing.T) {
	for _, length := range []time.Duration{45 * time.Second, 10 * time.Minute, time.Hour} {
		for _, known := range []bool{false, true} {
			b, manual := sampling(t, Config{})
			if known {
				traffic(b, manual, 0.2, 30*length, always(length))
			}
			b.Trip()
			began := manual.Now()
			for b.State() != StateClosed {
				require.Less(t, manual.Now()-began, 2*length+10*time.Second, "%v, known %v", length, known)
				if x, err := b.Acquire(); err == nil {
					manual.AfterFunc(length, func() { x.Report(Success) })
				}
				manual.Advance(time.Second)
			}
		}
	}
}
