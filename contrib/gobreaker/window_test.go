package gobreaker_test

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// A fixed window is cleared by the first request or State more than Interval
// after it began, and the next one begins then.
func TestFixedWindow(t *testing.T) {
	const s = time.Second
	inBubble(t, gobreaker.Settings{Interval: 10 * s}, func(r rig) {
		r.succeed(1)
		r.fail(2)
		full := counts{Requests: 3, TotalSuccesses: 1, TotalFailures: 2, ConsecutiveFailures: 2}
		time.Sleep(10 * s)
		r.wants(closed, full)
		time.Sleep(time.Nanosecond)
		r.counted(full) // nobody has come by
		r.wants(closed, counts{})

		r.fail(1)
		time.Sleep(25 * s) // the next window begins with whoever comes
		r.fail(1)
		r.counted(counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
		time.Sleep(10 * s)
		r.fail(1)
		r.counted(counts{Requests: 2, TotalFailures: 2, ConsecutiveFailures: 2})
		time.Sleep(time.Nanosecond)
		r.succeed(1)
		r.counted(counts{Requests: 1, TotalSuccesses: 1, ConsecutiveSuccesses: 1})
	})
}

func TestWindowBeginsAnewWhenTheBreakerCloses(t *testing.T) {
	const s = time.Second
	for _, period := range []time.Duration{0, s} {
		st := gobreaker.Settings{Interval: 10 * s, BucketPeriod: period, Timeout: 7 * s, ReadyToTrip: onFirst}
		inBubble(t, st, func(r rig) {
			time.Sleep(3 * s)
			r.halfOpen(7 * s)
			time.Sleep(30 * s) // half-open does not end by itself
			r.wants(halfOpen, counts{})
			r.succeed(2)
			time.Sleep(10*s - 1)
			r.wants(closed, counts{Requests: 1, TotalSuccesses: 1, ConsecutiveSuccesses: 1})
			time.Sleep(2 * time.Nanosecond)
			r.wants(closed, counts{})
		})
	}
}

// A result of a window that is over is dropped, and nobody is asked about it.
func TestLateResultsAreDropped(t *testing.T) {
	const s = time.Second
	asked := 0
	st := gobreaker.Settings{
		Interval: 10 * s, Timeout: s,
		ReadyToTrip:  func(c gobreaker.Counts) bool { asked++; return c.ConsecutiveFailures >= 2 },
		IsSuccessful: func(err error) bool { asked++; return err == nil },
		IsExcluded:   func(error) bool { asked++; return false },
	}
	inBubble(t, st, func(r rig) {
		ofWindow := r.begin()
		time.Sleep(10*s + 1)
		ofWindow(errFailed)
		r.counted(counts{})

		ofClosed := r.begin()
		r.halfOpen(s)
		asked = 0
		ofClosed(errFailed)
		r.wants(halfOpen, counts{})
		r.succeed(1)
		ofHalfOpen := r.begin() // that was the only one; this is of the closed state
		ofHalfOpen(errFailed)
		r.wants(closed, counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
		if asked != 5 {
			t.Errorf("functions were asked %d times, want 5 and none for the late result", asked)
		}
	})
}

func TestRollingWindowMovesByBuckets(t *testing.T) {
	const s = time.Second
	st := excluding(gobreaker.Settings{
		Interval: 3 * s, BucketPeriod: s,
		ReadyToTrip: func(gobreaker.Counts) bool { return false },
	})
	inBubble(t, st, func(r rig) {
		r.succeed(4)
		r.exclude(1)
		time.Sleep(s)
		r.fail(2)
		time.Sleep(s)
		r.fail(3)
		r.counted(counts{Requests: 10, TotalSuccesses: 4, TotalExclusions: 1, TotalFailures: 5, ConsecutiveFailures: 5})
		time.Sleep(s - 1)
		r.wants(closed, counts{Requests: 10, TotalSuccesses: 4, TotalExclusions: 1, TotalFailures: 5, ConsecutiveFailures: 5})
		time.Sleep(time.Nanosecond) // at its edge a bucket leaves, not after it
		r.wants(closed, counts{Requests: 5, TotalFailures: 5, ConsecutiveFailures: 5})
		time.Sleep(s) // a streak through the whole window loses what leaves
		r.wants(closed, counts{Requests: 3, TotalFailures: 3, ConsecutiveFailures: 3})
		r.succeed(1)
		time.Sleep(s)
		r.wants(closed, counts{Requests: 1, TotalSuccesses: 1, ConsecutiveSuccesses: 1})
		time.Sleep(time.Hour)
		r.wants(closed, counts{})
	})
}

// Buckets without requests, in which nobody came by, leave like others.
func TestIdleBucketsLeaveTheRollingWindow(t *testing.T) {
	const s = time.Second
	st := gobreaker.Settings{Interval: 4 * s, BucketPeriod: s}
	for idle, left := range map[int]uint32{1: 3, 2: 2, 3: 1, 4: 0, 5: 0, 100: 0} {
		inBubble(t, st, func(r rig) {
			for range 4 {
				r.succeed(1)
				time.Sleep(s)
			}
			time.Sleep(time.Duration(idle)*s - 1)
			r.wants(closed, counts{Requests: left, TotalSuccesses: left, ConsecutiveSuccesses: left})
		})
	}
}

// A result counts in the bucket in which its request was admitted, and not at
// all once that has left.
func TestResultsCountInTheBucketOfTheirRequest(t *testing.T) {
	const s = time.Second
	st := gobreaker.Settings{Interval: 3 * s, BucketPeriod: s, ReadyToTrip: func(c gobreaker.Counts) bool {
		if c.Requests == 0 {
			t.Error("asked about a window without requests")
		}
		return false
	}}
	inBubble(t, st, func(r rig) {
		a, b, c := r.begin(), r.begin(), r.begin()
		time.Sleep(2 * s)
		r.fail(1)
		a(nil)
		r.wants(closed, counts{Requests: 4, TotalSuccesses: 1, TotalFailures: 1, ConsecutiveSuccesses: 1})
		time.Sleep(s)
		b(nil)
		r.wants(closed, counts{Requests: 1, TotalFailures: 1})
		time.Sleep(2 * s)
		c(errFailed)
		r.wants(closed, counts{})
	})
}

func TestIntervalIsRoundedUpToWholeBuckets(t *testing.T) {
	const s = time.Second
	inBubble(t, gobreaker.Settings{Interval: 5*s + 1, BucketPeriod: 2 * s}, func(r rig) {
		r.fail(1)
		time.Sleep(6*s - 1)
		r.wants(closed, counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
		time.Sleep(time.Nanosecond)
		r.wants(closed, counts{})
	})
	// One bucket is a fixed window.
	for _, interval := range []time.Duration{1, s, 2 * s} {
		inBubble(t, gobreaker.Settings{Interval: interval, BucketPeriod: 2 * s}, func(r rig) {
			r.fail(1)
			time.Sleep(2 * s)
			r.wants(closed, counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
			time.Sleep(time.Nanosecond)
			r.wants(closed, counts{})
		})
	}
}

// However far away the instants are, nothing overflows.
func TestLongestDurations(t *testing.T) {
	const longest = time.Duration(1<<63 - 1)
	for _, period := range []time.Duration{0, longest, longest / 3} {
		inBubble(t, gobreaker.Settings{Interval: longest, BucketPeriod: period}, func(r rig) {
			time.Sleep(time.Hour)
			r.fail(1)
			time.Sleep(50 * 365 * 24 * time.Hour)
			r.wants(closed, counts{Requests: 1, TotalFailures: 1, ConsecutiveFailures: 1})
		})
	}
}
