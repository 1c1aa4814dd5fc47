package breakerslog

import (
	"context"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/stretchr/testify/require"
)

// dead fails every probe for a time, one a second.
func dead(t *testing.T, b *atomicbreaker.Breaker, d time.Duration) {
	t.Helper()
	call(t, b, atomicbreaker.Failure)
	call(t, b, atomicbreaker.Failure)
	for range int(d / time.Second) {
		time.Sleep(time.Second + time.Millisecond)
		call(t, b, atomicbreaker.Failure)
	}
}

func having(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// TestProbingUsesUpNothing: with Debug on too, an outage of 20 minutes is
// written of when it begins, now and then while it lasts, and when it ends,
// with its length, and nobody warns of flapping.
func TestProbingUsesUpNothing(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		synctest.Test(t, func(t *testing.T) {
			var log logged
			b := breaker(t, "dead", Listener(log.logger(level), nil))
			start := time.Now()
			dead(t, b, 20*time.Minute)
			time.Sleep(time.Second + time.Millisecond)
			call(t, b, atomicbreaker.Success)
			took := time.Since(start)
			lines := log.lines()
			require.Zero(t, having(lines, "flaps"))
			require.Equal(t, 1, having(lines, "circuit breaker opened"))
			require.Equal(t, 1, having(lines, "circuit breaker closed"))
			require.Contains(t, lines[len(lines)-1], " outage="+took.String()+" reopened=1200")
			require.Equal(t, 2, having(lines, "circuit breaker still not closed"), "after 5 and 15 minutes")
			require.Equal(t, 1, having(lines, "outage=5m0s reopened="))
			require.Equal(t, 1, having(lines, "outage=15m0s reopened=899 probes=899 failures=899 reason=streak"))
			if level == slog.LevelDebug {
				require.LessOrEqual(t, len(lines), 2+2+11*21)
				require.Equal(t, 20, having(lines, `level=DEBUG msg="circuit breaker goes on probing"`))
			} else {
				require.Len(t, lines, 4)
			}
			time.Sleep(3 * time.Hour)
			require.LessOrEqual(t, len(log.lines()), 1, "what was held back of the last minute")
		})
	}
}

// TestTheClosingOfAWrittenOutageIsAlwaysWritten, also of one that only the sum
// of a flapping breaker told of.
func TestTheClosingOfAWrittenOutageIsAlwaysWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		b := breaker(t, "b", Listener(log.logger(slog.LevelInfo), &Options{Burst: 1, Interval: 10 * time.Second}))
		down(t, b)
		require.Len(t, log.lines(), 2)
		dead(t, b, 20*time.Second) // held back, and told of by the sum
		lines := log.lines()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], `msg="circuit breaker flaps" breaker=b unwritten_outages=1 within=10s state=`)
		time.Sleep(time.Second + time.Millisecond)
		call(t, b, atomicbreaker.Success)
		lines = log.lines()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "circuit breaker closed")
		require.Contains(t, lines[0], "reopened=20")
	})
}

// TestAnOutageThatStandsStillIsRemindedOfOnce and one that is over not at all.
func TestAnOutageThatStandsStillIsRemindedOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		b := breaker(t, "b", Listener(log.logger(slog.LevelInfo), nil))
		b.SetMode(atomicbreaker.ForcedOpen)
		time.Sleep(24 * time.Hour)
		lines := log.lines()
		require.Len(t, lines, 2)
		require.Equal(t, `level=WARN msg="circuit breaker still not closed" breaker=b state=open outage=5m0s reopened=0 probes=0 failures=0 reason=set-mode-called`, lines[1])
		b.SetMode(atomicbreaker.ForcedClosed)
		require.Len(t, log.lines(), 1)
		time.Sleep(24 * time.Hour)
		require.Empty(t, log.lines())

		off := breaker(t, "off", Listener(log.logger(slog.LevelInfo), &Options{Remind: atomicbreaker.Off}))
		off.Trip()
		time.Sleep(24 * time.Hour)
		require.Len(t, log.lines(), 1)
	})
}

// TestErrorsAreWritten by kind and text where a Watch knows them.
func TestErrorsAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		var watch breakerwatch.Watch
		c := watch.Errors(watch.Config(atomicbreaker.Config{
			Name: "b", ConsecutiveFailures: 1, OnTransition: Listener(log.logger(slog.LevelInfo), &Options{Watch: &watch}),
		}))
		b := atomicbreaker.MustNew(c)
		require.NoError(t, watch.Add(b))
		b.Trip()
		require.NotContains(t, log.lines()[0], "error_kind")
		b.Reset()
		log.lines()
		_ = b.Do(t.Context(), func(context.Context) error { return syscall.ECONNREFUSED })
		require.Contains(t, log.lines()[0], `error_kind=refused error="connection refused"`)
		time.Sleep(5*time.Minute + time.Second)
		require.Contains(t, log.lines()[0], `error_kind=refused error="connection refused"`)
	})
}
