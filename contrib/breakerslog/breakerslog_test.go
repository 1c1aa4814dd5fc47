package breakerslog

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/stretchr/testify/require"
)

// logged is a log without times.
type logged struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// lines returns what was written since the last call.
func (l *logged) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(l.out.String())
	l.out.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (l *logged) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func breaker(t *testing.T, name string, listener func(atomicbreaker.Transition)) *atomicbreaker.Breaker {
	t.Helper()
	b, err := atomicbreaker.New(atomicbreaker.Config{
		Name: name, ConsecutiveFailures: 2, OnTransition: listener,
		Cooldown: atomicbreaker.Cooldown{Min: time.Second, Max: time.Second, Jitter: atomicbreaker.Off},
		Recovery: atomicbreaker.Recovery{Probes: 1},
	})
	require.NoError(t, err)
	return b
}

func call(t *testing.T, b *atomicbreaker.Breaker, o atomicbreaker.Outcome) {
	t.Helper()
	ticket, err := b.Acquire()
	require.NoError(t, err)
	ticket.Report(o)
}

// down takes 2.2 s and probes once in vain.
func down(t *testing.T, b *atomicbreaker.Breaker) {
	t.Helper()
	call(t, b, atomicbreaker.Failure)
	call(t, b, atomicbreaker.Failure)
	time.Sleep(1100 * time.Millisecond)
	call(t, b, atomicbreaker.Failure)
	time.Sleep(1100 * time.Millisecond)
	call(t, b, atomicbreaker.Success)
}

// TestAnOutageIsTwoRecords at the usual level, and the whole story at Debug.
//
// Field: S132, traefik/traefik#3590 (2018-07-10); resilience4j/resilience4j#1062.
func TestAnOutageIsTwoRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log, debug logged
		b := breaker(t, "stock eu", atomicbreaker.Transitions(
			Listener(log.logger(slog.LevelInfo), nil), Listener(debug.logger(slog.LevelDebug), nil)))
		call(t, b, atomicbreaker.Success)
		down(t, b)
		require.Equal(t, []string{
			`level=WARN msg="circuit breaker opened" breaker="stock eu" from=closed to=open reason=streak generation=1 calls=3 failures=2`,
			`level=INFO msg="circuit breaker closed" breaker="stock eu" from=half-open to=closed reason=recovered generation=5 probes=1 failures=0 outage=2.2s reopened=1`,
		}, log.lines())
		var messages []string
		for _, line := range debug.lines() {
			require.Contains(t, line, `breaker="stock eu"`)
			messages = append(messages, strings.Split(line, `"`)[1])
		}
		require.Equal(t, []string{"circuit breaker opened", "circuit breaker half-open", "circuit breaker reopened",
			"circuit breaker half-open", "circuit breaker closed"}, messages)
		time.Sleep(2 * time.Minute)
		require.Empty(t, log.lines())
	})
}

// TestFlappingDoesNotFloodTheLog: after the burst only the sum is told, once
// per interval, with the state at the end; other breakers are not held back.
func TestFlappingDoesNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		listener := Listener(log.logger(slog.LevelInfo), &Options{Burst: 3, Interval: time.Minute})
		flaps, calm := breaker(t, "flaps", listener), breaker(t, "calm", listener)
		for range 10 { // 22 s
			down(t, flaps)
		}
		down(t, calm)
		lines := log.lines()
		require.Len(t, lines, 2*3+2)
		require.Contains(t, lines[6], "breaker=calm")
		time.Sleep(time.Minute)
		require.Equal(t, []string{
			`level=WARN msg="circuit breaker flaps" breaker=flaps unwritten_outages=7 within=1m0s state=closed reason=recovered`,
		}, log.lines())

		flaps.Trip() // a new burst
		require.Len(t, log.lines(), 1)
		time.Sleep(2 * time.Minute)
		require.Empty(t, log.lines())
	})
}

// TestNothingIsKeptOfQuietBreakers: neither bursts nor outages pile up.
func TestNothingIsKeptOfQuietBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		l := newListener(log.logger(slog.LevelInfo), Options{Burst: 1, Interval: time.Second})
		kept := func() (outages, bursts int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.outages), len(l.bursts)
		}
		const many = maxOutages + 100
		for i := range many {
			l.transition(atomicbreaker.Transition{Name: fmt.Sprint(i), From: atomicbreaker.StateClosed, To: atomicbreaker.StateOpen})
		}
		outages, bursts := kept()
		require.Equal(t, []int{maxOutages, many}, []int{outages, bursts})
		time.Sleep(2 * time.Second)
		_, bursts = kept()
		require.Zero(t, bursts)
		log.lines()
		for i := range many {
			l.transition(atomicbreaker.Transition{Name: fmt.Sprint(i), From: atomicbreaker.StateHalfOpen, To: atomicbreaker.StateClosed})
		}
		outages, _ = kept()
		require.Zero(t, outages)
		lines := log.lines()
		require.Contains(t, lines[0], "outage=")
		require.NotContains(t, lines[len(lines)-1], "outage=", "more outages are remembered than there is room for")
		time.Sleep(2 * time.Second)
	})
}

func TestLevelsAreTheUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		b := breaker(t, "", Listener(log.logger(slog.LevelError), &Options{Level: func(t atomicbreaker.Transition) slog.Level {
			if t.Reason == atomicbreaker.ReasonTripCalled {
				return slog.LevelError
			}
			return slog.LevelWarn
		}}))
		down(t, b)
		require.Empty(t, log.lines())
		b.Trip()
		require.Equal(t, []string{`level=ERROR msg="circuit breaker opened" breaker="" from=closed to=open reason=trip-called generation=6`}, log.lines())
		time.Sleep(2 * time.Minute)
	})
}

func TestMisuseIsLoud(t *testing.T) {
	require.PanicsWithValue(t, "breakerslog: Listener with a nil Logger", func() { Listener(nil, nil) })
	err := Options{Burst: -1, Interval: time.Millisecond}.Validate()
	require.ErrorContains(t, err, "Options.Burst is -1, want 1 to 1000")
	require.ErrorContains(t, err, "Options.Interval is 1ms, want 1s to 24h")
	require.ErrorContains(t, Options{Remind: time.Millisecond}.Validate(), "Options.Remind is 1ms, want 1s to 24h, or atomicbreaker.Off")
	require.NoError(t, Options{Remind: atomicbreaker.Off}.Validate())
	require.Panics(t, func() { Listener(slog.Default(), &Options{Burst: 1001}) })
}
