package atomicbreaker

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestProbesAreTold: every probe settled within its episode is told once, with
// the outcome and latency that Snapshot shows; no other call is.
func TestProbesAreTold(t *testing.T) {
	var told []Probe
	c := tripAfter(1)
	c.Name = "told"
	c.SlowCallDuration = 500 * time.Millisecond
	c.OnProbe = func(p Probe) { told = append(told, p) }
	b, manual := opened(t, c)
	require.Empty(t, told, "a call of a closed breaker was told")
	probe := func(took time.Duration, settle func(*Ticket)) {
		manual.Advance(b.RetryAfter())
		ticket := admitted(t, b)
		manual.Advance(took)
		settle(ticket)
	}
	probe(30*time.Millisecond, func(k *Ticket) { k.Report(Ignored) })
	probe(5*time.Millisecond, func(k *Ticket) { k.Cancel() })
	probe(20*time.Millisecond, func(k *Ticket) { k.Report(Failure) })
	probe(10*time.Millisecond, func(k *Ticket) { k.Report(Success) })
	probe(500*time.Millisecond, func(k *Ticket) { k.Report(Success) })
	late := admitted(t, b)
	b.Reset()
	late.Report(Success)

	require.Equal(t, []Probe{
		{Name: "told", Generation: 2, Outcome: Ignored, Latency: 30 * time.Millisecond},
		{Name: "told", Generation: 2, Outcome: Failure, Latency: 20 * time.Millisecond},
		{Name: "told", Generation: 4, Outcome: Success, Latency: 10 * time.Millisecond},
		{Name: "told", Generation: 4, Outcome: Success, Slow: true, Latency: 500 * time.Millisecond},
	}, told)
}

// TestProbeListenerMayMisbehave: a probe is settled and the breaker goes on,
// whatever its listener does.
func TestProbeListenerMayMisbehave(t *testing.T) {
	for name, misbehave := range map[string]func(*Breaker){
		"panics":           func(*Breaker) { panic("listener") },
		"ends a goroutine": func(*Breaker) { runtime.Goexit() },
		"calls back":       func(b *Breaker) { b.Snapshot(); b.Trip(); b.Reset(); calls(t, b, 1, Success) },
	} {
		t.Run(name, func(t *testing.T) {
			var b *Breaker
			var heard []State
			c := tripAfter(1)
			c.Recovery = Recovery{Probes: 1}
			c.OnProbe = func(Probe) { misbehave(b) }
			c.OnTransition = func(e Transition) { heard = append(heard, e.To) }
			b, manual := made(t, c)
			calls(t, b, 1, Failure)
			manual.Advance(b.RetryAfter())
			done := make(chan struct{})
			go func() {
				defer close(done)
				ticket := admitted(t, b)
				ticket.Report(Success)
			}()
			<-done
			require.Equal(t, StateClosed, b.State())
			want := []State{StateOpen, StateHalfOpen, StateClosed}
			if name == "calls back" {
				want = append(want, StateOpen, StateClosed)
				require.Zero(t, b.Snapshot().ListenerPanics)
			} else {
				require.EqualValues(t, 1, b.Snapshot().ListenerPanics)
			}
			require.Equal(t, want, heard)
		})
	}
}
