package sim

import (
	"math"
	"time"
)

// ClassicLoad is a classic breaker in front of an overloaded dependency, on
// the back of an envelope: what gets through once callers wait in numbers.
//
// The breaker goes round: it is open for a cooldown, a probe succeeds, it
// closes, everybody comes, the dependency takes in hand what it can and fails
// the rest, and the breaker opens. So in each round the dependency serves what
// it can take in hand, and the probes. If that is less than what arrives in a
// round, the backlog grows in every round, and an overload that is long over
// keeps itself alive.
type ClassicLoad struct {
	Capacity float64       // calls a second that the dependency can serve
	Rate     float64       // new calls a second, once the surge is over
	Queue    int           // calls that can wait at the dependency
	Latency  time.Duration // of a call that does not wait
	Timeout  time.Duration // of the callers; 0: they wait forever
	Cooldown time.Duration
	Probes   int           // that succeed before the breaker closes
	Closed   time.Duration // how long it then stays closed; 0: no longer than it takes to see failures
}

// inHand is how many calls the dependency works on or holds in its queue.
func (c ClassicLoad) inHand() float64 {
	return c.Capacity*c.Latency.Seconds() + float64(c.Queue)
}

// Deep tells whether the queue is deeper than callers are patient: what waits
// at its end is served for nobody, and failures show only after a timeout.
func (c ClassicLoad) Deep() bool {
	return c.Timeout > 0 && c.inHand() > c.Capacity*c.Timeout.Seconds()
}

// served is the useful calls of a round, and round its length in seconds.
func (c ClassicLoad) served() float64 {
	useful := c.inHand()
	if c.Deep() {
		useful = c.Capacity * c.Timeout.Seconds()
	}
	return useful + float64(c.Probes)
}

func (c ClassicLoad) round() float64 {
	closed := c.Closed
	if closed == 0 && c.Deep() {
		closed = c.Timeout
	}
	return (c.Cooldown + c.Latency + closed).Seconds()
}

// Throughput is the good answers a second that get through.
func (c ClassicLoad) Throughput() float64 { return min(c.Capacity, c.served()/c.round()) }

// Stable tells whether that is more than arrives, so that the backlog shrinks.
func (c ClassicLoad) Stable() bool { return c.Throughput() > c.Rate }

// LongestCooldown is the cooldown at which as much gets through as arrives: a
// shorter one is stable. It is 0 if none is.
func (c ClassicLoad) LongestCooldown() time.Duration {
	if c.Rate <= 0 || c.Capacity <= c.Rate {
		return 0
	}
	rest := c
	rest.Cooldown = 0
	return max(0, time.Duration((c.served()/c.Rate-rest.round())*float64(time.Second)))
}

// FewestProbes is how many probes, all of which succeed, make it stable. The
// dependency must be able to serve them at once, or they fail: 0 if it cannot.
func (c ClassicLoad) FewestProbes() int {
	none := c
	none.Probes = 0
	need := int(math.Floor(c.Rate*c.round()-none.served())) + 1
	if need = max(need, 1); float64(need) > c.inHand() || c.Capacity <= c.Rate {
		return 0
	}
	return need
}
