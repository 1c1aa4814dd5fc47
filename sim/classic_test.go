package sim

import (
	"math"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// labLoad is the discrete lab in the terms of the calculator: a tick is a second.
func labLoad(cooldown int) ClassicLoad {
	return ClassicLoad{
		Capacity: LabCapacity, Rate: 5, Queue: LabCapacity, Cooldown: seconds(cooldown), Probes: 1, Closed: time.Second,
	}
}

// In the lab the calculator is exact: throughput, and which cooldowns end the
// overload.
func TestCalculatorAgreesWithTheLab(t *testing.T) {
	oneGoroutine(t)
	if got := labLoad(5).Throughput(); got != 3.5 {
		t.Errorf("throughput at a cooldown of 5 is %g, want 3.5", got)
	}
	for cooldown := 1; cooldown <= 8; cooldown++ {
		c := labLoad(cooldown)
		over := Lab{Ticks: 3000, Base: 5, Surge: 40, Overloaded: true}.
			Run(labClassic(seconds(cooldown), 0.5, atomicbreaker.Recovery{Probes: 1})).Over
		if c.Stable() != (over != Never) {
			t.Errorf("cooldown %d: stable %v, but over at %d", cooldown, c.Stable(), over)
		}
		if longest := c.LongestCooldown(); (seconds(cooldown) < longest) != c.Stable() {
			t.Errorf("cooldown %d: stable %v, but the longest stable one is %v", cooldown, c.Stable(), longest)
		}
	}
	if n := labLoad(5).FewestProbes(); n != 11 {
		t.Errorf("fewest probes %d, want 11: 10 serve exactly what arrives", n)
	}
	for _, c := range []struct {
		probes int
		grows  bool
	}{{9, true}, {11, false}} {
		ticks := Lab{Ticks: 3000, Base: 5, Surge: 40, Overloaded: true}.
			Run(labClassic(seconds(5), 0.5, atomicbreaker.Recovery{Probes: c.probes})).Ticks
		if grows := ticks[2999].Waiting > ticks[999].Waiting; grows != c.grows {
			t.Errorf("%d probes: the backlog grows: %v", c.probes, grows)
		}
	}
}

// In front of the simulated server it is an estimate, good to a quarter.
func TestCalculatorAgreesWithTheSimulator(t *testing.T) {
	oneGoroutine(t)
	for id, queue := range map[string]int{"03/U": 200, "03b/U": 20, "04/U": 2000} {
		load := ClassicLoad{
			Capacity: 400, Rate: 100, Queue: queue, Latency: 50 * ms, Timeout: sec, Cooldown: 5 * sec, Probes: 1,
		}
		r := Run(rowsOf(t, id)[0].Variants[0], Classic(), Seeds[0], Time{})
		got, want := r.Goodput(Span{25 * sec, 105 * sec}), load.Throughput()
		if math.Abs(got-want) > want/4 {
			t.Errorf("%s: %.1f good answers a second, computed %.1f", id, got, want)
		}
		if load.Stable() {
			t.Errorf("%s: called stable at %.1f", id, want)
		}
	}
}

func TestCalculatorWhereNothingHelps(t *testing.T) {
	c := ClassicLoad{Capacity: 100, Rate: 100, Queue: 10, Latency: 50 * ms, Cooldown: sec, Probes: 1}
	if c.Stable() || c.LongestCooldown() != 0 || c.FewestProbes() != 0 {
		t.Errorf("as much arrives as can be served: stable %v, cooldown %v, probes %d", c.Stable(), c.LongestCooldown(), c.FewestProbes())
	}
}
