package atomicbreaker

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// lossy is a clock whose timers are lost from some moment on: they never fire,
// or panic.
type lossy struct {
	clock.Manual
	lost, panics bool
}

func (l *lossy) AfterFunc(d time.Duration, f func()) clock.Timer {
	return lossyTimer{l, l.Manual.AfterFunc(d, func() {
		if !l.lost {
			f()
		}
	})}
}

type lossyTimer struct {
	l *lossy
	clock.Timer
}

func (t lossyTimer) Reset(d time.Duration) bool {
	if t.l.lost && t.l.panics {
		panic("this timer is of a clock that is no more")
	}
	return t.Timer.Reset(d)
}

func (t lossyTimer) Stop() bool {
	if t.l.lost && t.l.panics {
		panic("this timer is of a clock that is no more")
	}
	return t.Timer.Stop()
}

// finders are all who find out that a timer is lost.
var finders = map[string]func(b *Breaker){
	"State":      func(b *Breaker) { b.State() },
	"RetryAfter": func(b *Breaker) { b.RetryAfter() },
	"Snapshot":   func(b *Breaker) { b.Snapshot() },
	"refusals": func(b *Breaker) {
		for range lateEvery {
			if ticket, err := b.Acquire(); err == nil {
				ticket.Cancel()
			}
		}
	},
}

// TestALostTimerIsNoLostBreaker goes through an outage on a clock whose timers
// are lost.
func TestALostTimerIsNoLostBreaker(t *testing.T) {
	for name, find := range finders {
		for _, panics := range []bool{false, true} {
			for _, mode := range []Mode{Auto, Shadow} {
				l := &lossy{panics: panics}
				var told []State
				b := madeOn(t, Config{Clock: l, Mode: mode, ConsecutiveFailures: 1, OnTransition: func(tr Transition) { told = append(told, tr.To) }})
				l.lost = true
				calls(t, b, 1, Failure)
				l.Advance(500*time.Millisecond - 1)
				find(b)
				require.Equal(t, phaseOpen, b.load().phase(), "%s: the cooldown is not over", name)
				l.Advance(1 + lateness)
				find(b)
				require.Equal(t, phaseHalfOpen, b.load().phase(), "%s, panics %v", name, panics)

				admitted(t, b) // hangs
				l.Advance(b.cfg().Recovery.ProbeTimeout + lateness)
				find(b)
				require.NotEqual(t, uint64(0), b.Snapshot().Abandoned, name)
				l.Advance(b.RetryAfter() + lateness)
				find(b)
				require.Equal(t, phaseHalfOpen, b.load().phase(), name)
				calls(t, b, 1, Success)
				for range 4 {
					l.Advance(b.cfg().Recovery.Quiet + lateness)
					calls(t, b, 1, Success) // a probe finds out too
				}
				require.Equal(t, phaseClosed, b.load().phase(), name)
				require.Equal(t, []State{StateOpen, StateHalfOpen, StateOpen, StateHalfOpen, StateClosed}, told, name)
			}
		}
	}
}

func TestForcedBreakersAskNoClock(t *testing.T) {
	clk := new(counting)
	b := madeOn(t, Config{Clock: clk, Mode: ForcedOpen})
	clk.reads.Store(0)
	for range 100 {
		refused(t, b, ErrForced)
		require.Zero(t, b.RetryAfter())
	}
	require.Zero(t, clk.reads.Load())
}
