package atomicbreaker_test

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

func TestReopeningAfterForcedOpenForgetsEarlierOutages(t *testing.T) {
	for _, factor := range []float64{0, 2} {
		c := new(clock.Manual)
		c.Advance(time.Hour)
		b := atomicbreaker.MustNew(atomicbreaker.Config{
			Clock: c, Cooldown: atomicbreaker.Cooldown{Factor: factor, Jitter: atomicbreaker.Off}, Mode: atomicbreaker.ForcedOpen,
		})
		reopen := func(want time.Duration) {
			t.Helper()
			b.SetMode(atomicbreaker.Auto)
			ticket, err := b.Acquire()
			if err != nil {
				t.Fatal(err)
			}
			ticket.Report(atomicbreaker.Failure)
			if got := b.RetryAfter(); got != want {
				t.Errorf("factor %v: open for %v, want %v", factor, got, want)
			}
		}
		want := map[float64]time.Duration{0: 500 * time.Millisecond, 2: time.Second}[factor]
		reopen(want) // of a breaker that was made forced open
		for range 5 {
			c.Advance(b.RetryAfter() + time.Minute)
			b.Trip()
		}
		b.Reset()
		b.SetMode(atomicbreaker.ForcedOpen)
		reopen(want)
	}
}
