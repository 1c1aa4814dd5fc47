package atomicbreaker

import (
	"math/bits"
	"time"
)

// What the worker makes of the counts of a closed breaker, from tick to tick.
// Everything here is pure.

// netLimit net failures trip: 20 failures in a row are 20 net failures.
const netLimit = 20

// netAfter is the number of net failures since the best moment, after so many
// successes and failures more. It is a CUSUM (Page 1954): a failure counts one,
// and a success takes away as much as keeps the number level where a share of
// rate fails. So it sees failures among successes, which a streak does not, and
// it is not blind for as long as a good past fills the rolling window.
func netAfter(net, successes, failures, rate float64) float64 {
	if rate >= 1 {
		if successes > 0 {
			net = 0
		}
		return net + failures
	}
	return max(0, net+failures-successes*rate/(1-rate))
}

// recent are the last outcomes of a closed breaker, however long ago they were: at
// a few calls a minute, a rolling window holds too few to judge by.
type recent struct {
	bits  uint32 // the last in the lowest bit; 1 is a failure
	calls uint8  // how many of them there are
	run   uint32 // failures since the last success
	since time.Duration
}

const (
	recentCalls = 20

	// rareRun failures in a row trip if they took rareTime. With one failure in
	// a hundred calls and a call a second, that happens once in 300 years.
	rareRun  = 5
	rareTime = 2 * time.Second
)

// add takes outcomes in. Of those that come in one look the failures count as the later ones.
func (r *recent) add(successes, failures uint64, now time.Duration) {
	if successes > 0 {
		r.run = 0
	}
	if failures > 0 && r.run == 0 {
		r.since = now
	}
	r.run = uint32(min(uint64(r.run)+failures, 1<<31))
	for range min(successes, recentCalls) {
		r.bits <<= 1
	}
	for range min(failures, recentCalls) {
		r.bits = r.bits<<1 | 1
	}
	r.bits &= 1<<recentCalls - 1
	r.calls = uint8(min(uint64(r.calls)+min(successes, recentCalls)+min(failures, recentCalls), recentCalls))
}

// runMet reports whether calls that come seldom have all failed for long enough.
func (r *recent) runMet(now time.Duration) bool {
	return r.run >= rareRun && passed(r.since, now) >= rareTime
}

// shareMet reports whether the last calls, so many as the minimum at least, reach the failure
// rate with a failure.
func (r *recent) shareMet(minimum int, rate float64) bool {
	return r.bits&1 != 0 && int(r.calls) >= minimum &&
		share(uint64(bits.OnesCount32(r.bits)), uint64(r.calls)) >= rate
}

// rates is how many calls a second are answered.
type rates struct {
	done, took [rateTicks]float64 // calls, and seconds, of the last ticks
	at         int
	long       float64 // smoothed over longRate seconds
}

const (
	rateTicks = 10
	longRate  = 5.0
)

func (r *rates) add(calls, seconds float64) {
	if seconds < 1 { // else nobody called in between
		r.done[r.at], r.took[r.at] = calls, seconds
		r.at = (r.at + 1) % rateTicks
	} else {
		r.done, r.took = [rateTicks]float64{}, [rateTicks]float64{}
	}
	if seconds > 0 {
		r.long += min(1, seconds/longRate) * (calls/seconds - r.long)
	}
}

// perSecond is the larger of the rate of the last ticks and that of the last
// seconds: when latency jumps, nothing is answered for a moment.
func (r *rates) perSecond() float64 {
	var done, took float64
	for i := range r.done {
		done += r.done[i]
		took += r.took[i]
	}
	if took == 0 {
		return r.long
	}
	return max(done/took, r.long)
}
