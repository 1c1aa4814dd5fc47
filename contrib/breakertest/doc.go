// Package breakertest helps to test code that has a circuit breaker in it. It makes
// a breaker in any state in one line, moves its time, checks what the breaker
// counted, and makes calls fail by a plan. It uses the standard library only.
//
// Use it in tests of your own code. A first test:
//
//	package stock
//
//	import (
//		"context"
//		"testing"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakertest"
//	)
//
//	func TestRefusal(t *testing.T) {
//		b := breakertest.New(t, breakertest.Open, atomicbreaker.Config{})
//		err := b.Do(t.Context(), func(context.Context) error { return nil }) // your code
//		b.WantRefused(err)
//		b.AdvanceToReady() // the cooldown is over
//		b.WantState(atomicbreaker.StateHalfOpen)
//	}
//
// # Time
//
// A breaker made here has a clock.Manual and no jitter, so every cooldown is exact
// and only [Breaker.Advance] makes time pass. Inside a testing/synctest bubble set
// Config.Clock to clock.System(): the breaker then follows the time of the
// bubble, and Advance sleeps in it.
//
// # Faults
//
// A [Plan] says what happens to each call, in order: some pass, some fail, are refused,
// are slow, or never answer. It wraps a function or an http.RoundTripper, or takes the
// place of a whole dependency.
package breakertest
