package breakerslog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// TestSnapshotInALog goes through the states; a name of a stranger stays data.
func TestSnapshotInALog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if groups == nil && a.Key != "b" {
			return slog.Attr{}
		}
		return a
	}}))
	manual := new(clock.Manual)
	b, err := atomicbreaker.New(atomicbreaker.Config{
		Name: "a b=\"c\"", ConsecutiveFailures: 1, Clock: manual,
		Cooldown: atomicbreaker.Cooldown{Min: time.Second, Jitter: atomicbreaker.Off},
	})
	require.NoError(t, err)
	report := func(o atomicbreaker.Outcome) {
		ticket, err := b.Acquire()
		require.NoError(t, err)
		require.True(t, ticket.Report(o))
	}
	line := func() string {
		out.Reset()
		log.Info("", "b", Snapshot(b.Snapshot()))
		return strings.TrimSpace(out.String())
	}
	for range 3 {
		report(atomicbreaker.Success)
	}
	manual.Advance(2 * time.Second)
	require.Equal(t, `b.name="a b=\"c\"" b.state=closed b.mode=auto b.in_state=2s b.reason=none b.rolling_calls=3 b.failure_rate=0 b.succeeded=3 b.failed=0`, line())
	report(atomicbreaker.Failure)
	_, err = b.Acquire()
	require.ErrorIs(t, err, atomicbreaker.ErrOpen)
	manual.Advance(400 * time.Millisecond)
	require.Equal(t, `b.name="a b=\"c\"" b.state=open b.mode=auto b.in_state=400ms b.reason=streak b.retry_after=600ms b.succeeded=3 b.failed=1 b.refused_open=1 b.opened=1 b.time_open=400ms`, line())
	manual.Advance(time.Second)
	_, err = b.Acquire()
	require.NoError(t, err)
	require.Equal(t, `b.name="a b=\"c\"" b.state=half-open b.mode=auto b.in_state=400ms b.reason=cooldown b.probes_in_flight=1 b.probe_window=1 b.succeeded=3 b.failed=1 b.refused_open=1 b.opened=1 b.time_open=1s`, line())
	for _, s := range []Snapshot{{}, {State: 77, Mode: 77, Reason: 77}} {
		require.NotPanics(t, func() { _ = s.LogValue() })
	}
}
