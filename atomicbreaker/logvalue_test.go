package atomicbreaker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

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
	b, manual := made(t, Config{Name: "a b=\"c\"", ConsecutiveFailures: 1, Cooldown: Cooldown{Min: time.Second}})
	line := func() string {
		out.Reset()
		log.Info("", "b", b.Snapshot())
		return strings.TrimSpace(out.String())
	}
	calls(t, b, 3, Success)
	manual.Advance(2 * time.Second)
	require.Equal(t, `b.name="a b=\"c\"" b.state=closed b.mode=auto b.in_state=2s b.reason=none b.rolling_calls=3 b.failure_rate=0 b.succeeded=3 b.failed=0`, line())
	calls(t, b, 1, Failure)
	refused(t, b, ErrOpen)
	manual.Advance(400 * time.Millisecond)
	require.Equal(t, `b.name="a b=\"c\"" b.state=open b.mode=auto b.in_state=400ms b.reason=streak b.retry_after=600ms b.succeeded=3 b.failed=1 b.refused_open=1 b.opened=1 b.time_open=400ms`, line())
	manual.Advance(time.Second)
	admitted(t, b)
	require.Equal(t, `b.name="a b=\"c\"" b.state=half-open b.mode=auto b.in_state=400ms b.reason=cooldown b.probes_in_flight=1 b.probe_window=1 b.succeeded=3 b.failed=1 b.refused_open=1 b.opened=1 b.time_open=1s`, line())
	for _, s := range []Snapshot{{}, {State: 77, Mode: 77, Reason: 77}} {
		require.NotPanics(t, func() { _ = s.LogValue() })
	}
}
