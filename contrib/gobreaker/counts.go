package gobreaker

import "sync/atomic"

// Counts are the numbers of requests and of their outcomes since the window
// was cleared: with every change of state, and in the closed state as Interval
// and BucketPeriod say. A result of a request that was admitted before is not
// counted. Numbers wrap at 2^32.
type Counts struct {
	Requests             uint32 // admitted
	TotalSuccesses       uint32
	TotalFailures        uint32
	TotalExclusions      uint32
	ConsecutiveSuccesses uint32 // since the last failure
	ConsecutiveFailures  uint32 // since the last success
}

// A bucket is what is counted in one part of a window. All that writes to it
// writes to the same line; the pad keeps the next bucket off it.
//
// Whoever counts adds the request, then the outcome, then to the streak. Whoever
// reads goes the other way. So nobody sees an outcome without its request, nor
// a streak without its outcomes.
type bucket struct {
	streak                                    streak
	requests, successes, failures, exclusions atomic.Uint32
	_                                         [40]byte
}

// addTo adds what was counted, without the streak, to c.
func (b *bucket) addTo(c *Counts) {
	c.TotalSuccesses += b.successes.Load()
	c.TotalFailures += b.failures.Load()
	c.TotalExclusions += b.exclusions.Load()
	c.Requests += b.requests.Load()
}

// A streak is how many successes or failures have come in a row, in one word:
// successes in the upper half, failures in the lower one. One of them is 0.
type streak struct{ v atomic.Uint64 }

func streakOf(successes, failures uint32) uint64 {
	return uint64(successes)<<32 | uint64(failures)
}

func (s *streak) load() (successes, failures uint32) {
	v := s.v.Load()
	return uint32(v >> 32), uint32(v)
}

func (s *streak) succeed() {
	for {
		v := s.v.Load()
		if s.v.CompareAndSwap(v, streakOf(uint32(v>>32)+1, 0)) {
			return
		}
	}
}

func (s *streak) fail() {
	for {
		v := s.v.Load()
		if s.v.CompareAndSwap(v, streakOf(0, uint32(v)+1)) {
			return
		}
	}
}
