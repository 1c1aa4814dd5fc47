package atomicbreaker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A dependency that answers and then fails again is a new outage: one that
// comes and goes is otherwise asked ever less often, and missed while it is there.
func TestRelapseOfAWindowThatSawSuccessIsANewOutage(t *testing.T) {
	b, manual := made(t, Config{})
	b.Trip()
	manual.Advance(40 * time.Second)
	calls(t, b, 1, Failure)
	require.Equal(t, 5*time.Second, b.RetryAfter(), "an eighth of 40 s")
	manual.Advance(5 * time.Second)
	calls(t, b, 1, Success)
	calls(t, b, 10, Failure)
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, 500*time.Millisecond, b.RetryAfter(), "a new outage")
	manual.Advance(16 * time.Second)
	calls(t, b, 1, Failure)
	require.Equal(t, 2*time.Second, b.RetryAfter(), "its age counts from the relapse")
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
