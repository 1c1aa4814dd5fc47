package atomicbreaker

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// eagerClock is a clock whose timers fire inside Reset if they are due, as they
// may on another processor at that very moment.
type eagerClock struct{ *clock.Manual }

type eagerTimer struct {
	clock.Timer
	f func()
}

func (c eagerClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return eagerTimer{c.Manual.AfterFunc(d, f), f}
}

func (t eagerTimer) Reset(d time.Duration) bool {
	if d > 0 {
		return t.Timer.Reset(d)
	}
	was := t.Timer.Stop()
	t.f()
	return was
}

// TestEndOfALeaseIsKnownWhenTheWorkerLooks: whoever ends a half-open generation
// says why before it wakes the worker, which is woken no second time.
func TestEndOfALeaseIsKnownWhenTheWorkerLooks(t *testing.T) {
	lease, manual := new(fakeLease), new(clock.Manual)
	b := MustNew(Config{
		Cooldown: Cooldown{Min: time.Second, Max: time.Second, Factor: 1, Jitter: Off},
		Clock:    eagerClock{manual}, Lease: lease,
	})
	b.Trip()
	manual.Advance(time.Second)
	require.Equal(t, StateHalfOpen, b.State())
	ticket, err := b.Acquire()
	require.NoError(t, err)
	require.True(t, ticket.Report(Failure))
	require.Equal(t, []LeaseNews{{Token: 1, Verdict: LeaseReopened, Cooldown: time.Second}}, lease.told())
}
