package simrivals

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/sim"
)

// settle of a bubble's past: go-zero reckons from the real time at which the
// program started, less a year, and bubbles start in 2000.
const pastProgramStart = 60 * 365 * 24 * time.Hour

// Play runs a rival through a scenario in a bubble of its own.
func Play(t *testing.T, sc *sim.Scenario, r Rival, seed uint64) *sim.Result {
	t.Helper()
	var result *sim.Result
	synctest.Test(t, func(*testing.T) {
		time.Sleep(pastProgramStart)
		var made []sim.Policy
		c := r.Contender
		c.New = func(s sim.Site) sim.Policy {
			p := r.New(s)
			made = append(made, p)
			return p
		}
		result = sim.Run(sc, c, seed, sim.Time{
			Clock:   clock.System(),
			Advance: func(d time.Duration) { time.Sleep(d); synctest.Wait() },
		})
		for _, p := range made {
			if p, ok := p.(interface{ close() }); ok {
				p.close()
			}
		}
	})
	return result
}
