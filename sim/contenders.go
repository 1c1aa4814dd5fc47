package sim

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// The trip rule that contenders are compared with, so that what differs is
// recovery: half of the last 20 outcomes, ten at least.
func compared(c atomicbreaker.Config) atomicbreaker.Config {
	c.WindowCalls, c.MinimumCalls, c.FailureRate = 20, 10, 0.5
	c.ConsecutiveFailures = atomicbreaker.Off
	return c
}

// constant is a cooldown that neither grows nor varies.
func constant(d time.Duration) atomicbreaker.Cooldown {
	return atomicbreaker.Cooldown{Min: d, Max: d, Factor: 1, Jitter: atomicbreaker.Off}
}

// Window is this module's breaker with the compared trip rule and otherwise
// its defaults: the probe window.
func Window() Contender {
	return Breaker("window", "probe window, tripped by half of the last 20", compared(atomicbreaker.Config{}))
}

// Defaults is this module's breaker as New(Config{}) makes it.
func Defaults() Contender {
	return Breaker("defaults", "probe window, all defaults", atomicbreaker.Config{})
}

// Classic is the textbook breaker: one probe decides, after five seconds.
func Classic() Contender {
	return Breaker("classic", "one probe, one success closes, cooldown of 5 s",
		compared(atomicbreaker.Config{Cooldown: constant(5 * time.Second), Recovery: atomicbreaker.Recovery{Probes: 1}}))
}

// TenProbes lets ten probes through at once and closes when more than half of
// them succeed.
func TenProbes() Contender {
	return Breaker("ten-probes", "ten probes, six successes close, cooldown of 5 s",
		compared(atomicbreaker.Config{Cooldown: constant(5 * time.Second), Recovery: atomicbreaker.Recovery{Probes: 10, Successes: 6}}))
}

// ThreeInARow sends one probe at a time and wants three successes.
func ThreeInARow() Contender {
	return Breaker("three-in-a-row", "one probe at a time, three successes close, cooldown of 5 s",
		compared(atomicbreaker.Config{Cooldown: constant(5 * time.Second), Recovery: atomicbreaker.Recovery{Probes: 3, Concurrent: 1}}))
}

// Doubling is the textbook breaker with a cooldown that doubles at each
// reopening, from half a second to thirty.
func Doubling() Contender {
	return Breaker("doubling", "one probe, one success closes, cooldown of 0.5 s doubling up to 30 s",
		compared(atomicbreaker.Config{
			Cooldown: atomicbreaker.Cooldown{Min: 500 * time.Millisecond, Max: 30 * time.Second, Factor: 2},
			Recovery: atomicbreaker.Recovery{Probes: 1},
		}))
}

// Contenders are the ones that run live, in the order that tables show them.
// Recorded rivals come on top, see [Rivals].
func Contenders() []Contender {
	return []Contender{Oracle(), Window(), Defaults(), None(), Classic(), TenProbes(), ThreeInARow(), Doubling()}
}
