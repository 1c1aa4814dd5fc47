package atomicbreaker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A dependency that is well and then fails again is a new outage: one that
// comes and goes is otherwise asked ever less often, and missed while it is there.
func TestRelapseOfADependencyThatWasWellIsANewOutage(t *testing.T) {
	b, manual := made(t, Config{})
	b.Trip()
	manual.Advance(40 * time.Second)
	calls(t, b, 1, Failure)
	require.Equal(t, 5*time.Second, b.RetryAfter(), "an eighth of 40 s")
	manual.Advance(5 * time.Second)
	calls(t, b, 15, Success)
	calls(t, b, 5, Failure)
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, 500*time.Millisecond, b.RetryAfter(), "a new outage")
	manual.Advance(16 * time.Second)
	calls(t, b, 1, Failure)
	require.Equal(t, 2*time.Second, b.RetryAfter(), "its age counts from the relapse")
}

// One that fails half of its probes was not well: its outage goes on, the cooldown
// grows, and each stay in half-open takes fewer calls.
func TestOutageThatFailsInPartGoesOn(t *testing.T) {
	b, manual := made(t, Config{})
	b.Trip()
	manual.Advance(40 * time.Second)
	var took []int
	for range 6 {
		n := 0
		for calls(t, b, 1, Success); b.State() == StateHalfOpen; n++ { // W is 3
			calls(t, b, 1, Failure)
		}
		took = append(took, n)
		require.Equal(t, 5*time.Second, b.RetryAfter(), "an eighth of 40 s and more")
		manual.Advance(5 * time.Second)
	}
	require.Equal(t, []int{5, 3, 2, 1, 1, 1}, took, "failures after the success")
	calls(t, b, 9, Success)
	manual.Advance(time.Second)
	require.Equal(t, StateHalfOpen, b.State(), "nine in a row may be chance")
	calls(t, b, 1, Success)
	manual.Advance(time.Second)
	require.Equal(t, StateClosed, b.State())
}

// An operator's Trip is no relapse: growth goes on.
func TestTripOfAWindowThatSawSuccessKeepsTheOutagesAge(t *testing.T) {
	b, manual := made(t, Config{})
	b.Trip()
	manual.Advance(40 * time.Second)
	calls(t, b, 1, Success)
	b.Trip()
	require.Equal(t, 5*time.Second, b.RetryAfter())
}
