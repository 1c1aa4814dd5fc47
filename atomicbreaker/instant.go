package atomicbreaker

import "time"

// never is an instant that the timer is not set for.
const never time.Duration = 1<<63 - 1

// Instants of a clock may lie anywhere: a clock may begin at any number, and
// step by any amount. These two do not overflow.

// later returns the instant d after at, or never if that is out of range. d is
// not negative.
func later(at, d time.Duration) time.Duration {
	if at > never-d {
		return never
	}
	return at + d
}

// passed returns the time from one instant to another: nothing if the clock
// has stepped back, and the longest time if the true one is out of range.
func passed(from, to time.Duration) time.Duration {
	switch d := to - from; {
	case to <= from:
		return 0
	case d < 0:
		return never
	default:
		return d
	}
}
