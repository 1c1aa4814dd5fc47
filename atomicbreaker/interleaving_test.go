package atomicbreaker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of this file stop a goroutine in the middle of an operation, at a
// reading of the clock, let another one run, and let the first go on. Each
// interleaving is thus met every time, not once in a million.

func TestWhoLosesTheRaceToOpenDoesNotLengthenTheCooldown(t *testing.T) {
	for name, race := range map[string]func(b *Breaker) (win, lose func()){
		"Report": func(b *Breaker) (win, lose func()) {
			calls(t, b, 1, Success) // the window is awake and does not read the clock
			one, other := admitted(t, b), admitted(t, b)
			return func() { one.Report(Failure) }, func() { other.Report(Failure) }
		},
		"Trip": func(b *Breaker) (win, lose func()) {
			calls(t, b, 1, Success)
			one := admitted(t, b)
			return func() { one.Report(Failure) }, func() { b.trip(b.load().generation(), ReasonTripCalled, Counts{}, 0) }
		},
		"SetMode": func(b *Breaker) (win, lose func()) {
			b.SetMode(ForcedOpen)
			b.Trip()
			return func() { b.SetMode(Auto) }, func() { b.SetMode(Auto) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := new(hooked)
			c := tripAfter(1)
			c.Clock = h
			b := madeOn(t, c)
			win, lose := race(b)
			h.onNow(0, func() {
				win()
				require.Equal(t, 500*time.Millisecond, b.RetryAfter())
				h.Advance(300 * time.Millisecond)
			})
			lose()
			require.Equal(t, StateOpen, b.State())
			require.Equal(t, 200*time.Millisecond, b.RetryAfter())
		})
	}
}
