package sim

import "time"

// A Latency is a distribution of service times.
type Latency struct {
	name string
	draw func(*draw) time.Duration
	mean time.Duration
}

// String describes the distribution.
func (l Latency) String() string { return l.name }

// Mean is the expected service time.
func (l Latency) Mean() time.Duration { return l.mean }

// Shifted takes at least min, and an exponentially distributed time with the
// given mean on top of that.
func Shifted(min, mean time.Duration) Latency {
	return Latency{
		name: min.String() + " + exp(" + mean.String() + ")",
		mean: min + mean,
		draw: func(d *draw) time.Duration {
			return min + time.Duration(d.exponential()*float64(mean))
		},
	}
}

// Constant always takes the same time.
func Constant(t time.Duration) Latency {
	return Latency{name: t.String(), mean: t, draw: func(*draw) time.Duration { return t }}
}

// Bimodal takes the time fast with probability share, else a time from rest.
func Bimodal(share float64, fast time.Duration, rest Latency) Latency {
	return Latency{
		name: "some at " + fast.String() + ", else " + rest.name,
		mean: time.Duration(float64(share*float64(fast)) + float64((1-share)*float64(rest.mean))),
		draw: func(d *draw) time.Duration {
			if d.chance(share) {
				return fast
			}
			return rest.draw(d)
		},
	}
}

// Pareto has the given mean and a tail of index alpha, which must exceed one:
// from 1 to 2 the variance is infinite and a single call can take minutes.
func Pareto(alpha float64, mean time.Duration) Latency {
	least := float64(mean) * (alpha - 1) / alpha
	return Latency{
		name: "Pareto, mean " + mean.String(),
		mean: mean,
		draw: func(d *draw) time.Duration {
			return time.Duration(least * exp(d.exponential()/alpha))
		},
	}
}
