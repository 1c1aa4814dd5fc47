package gobreaker

import (
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// timing is what of the Settings has to do with time.
type timing struct {
	interval time.Duration // of the window; 0 if it is never cleared
	period   time.Duration // of a bucket
	buckets  uint64        // 1 unless the window rolls
	timeout  time.Duration
}

// timingOf panics if the window has more buckets than maxBuckets.
func timingOf(st Settings) timing {
	t := timing{buckets: 1, timeout: min(max(st.Timeout, minTimeout), maxTimeout)}
	if st.Timeout <= 0 {
		t.timeout = defaultTimeout
	}
	if st.Interval <= 0 {
		return t
	}
	t.interval, t.period = st.Interval, st.Interval
	if st.BucketPeriod > 0 {
		t.period = st.BucketPeriod
		t.buckets = uint64((st.Interval-1)/st.BucketPeriod) + 1
		if t.buckets > maxBuckets {
			panic(fmt.Sprintf("gobreaker: Interval %v has %d buckets of BucketPeriod %v, want at most %d: lengthen BucketPeriod, or give it its unit",
				st.Interval, t.buckets, st.BucketPeriod, maxBuckets))
		}
		t.interval = max(t.interval, t.period)
	}
	return t
}

// A window is a span of requests that results are taken for: a state, or within
// the closed state the time from one clearing to the next. A result of another
// window's request is dropped.
type window struct {
	state      atomicbreaker.State
	generation uint32        // of the core
	start      time.Duration // instant on the breaker's clock
}

// A frame is a window at some age, in buckets that have passed. It never
// changes; what is counted in its buckets does. To move on, a new frame is
// put in its place.
type frame struct {
	*window
	age     uint64
	buckets []*bucket     // those of the last ages, by age modulo their number; nil if nothing was counted
	now     *bucket       // the one of this age
	streak  *streak       // over all buckets; that of the bucket if there is one only
	edge    time.Duration // the instant from which on another must take its place
}

// never is an instant that does not come.
const never time.Duration = 1<<63 - 1

// after is d after start, or never.
func after(start, d time.Duration) time.Duration {
	if start > never-d { // d is not negative, start may be
		return never
	}
	return start + d
}

// begin makes the first frame of a window. A fixed one ends when more than its
// time has passed, hence one nanosecond later. An open state's end is the core's.
func (t *timing) begin(w *window) *frame {
	f := &frame{window: w, now: new(bucket), edge: never}
	f.streak = &f.now.streak
	switch {
	case w.state == atomicbreaker.StateClosed && t.buckets > 1:
		return t.fill(w, 0)
	case w.state == atomicbreaker.StateClosed && t.interval > 0:
		f.edge = after(after(w.start, t.interval), 1)
	}
	f.buckets = []*bucket{f.now}
	return f
}

// fill makes a frame of a rolling window in which nothing is counted yet.
func (t *timing) fill(w *window, age uint64) *frame {
	f := &frame{window: w, buckets: make([]*bucket, t.buckets), streak: &new(bucket).streak}
	t.grow(f, age)
	return f
}

// grow puts an empty bucket for an age into a new frame.
func (t *timing) grow(f *frame, age uint64) {
	f.age, f.now = age, new(bucket)
	f.buckets[age%t.buckets] = f.now
	f.edge = after(f.start, time.Duration(age+1)*t.period)
}

// next is the frame of a closed state that follows f at an instant not before
// its edge.
func (t *timing) next(f *frame, now time.Duration) *frame {
	if t.buckets == 1 {
		w := *f.window
		w.start = now
		return t.begin(&w)
	}
	age := uint64((now - f.start) / t.period)
	if age-f.age >= t.buckets {
		return t.fill(f.window, age)
	}
	g := &frame{window: f.window, buckets: make([]*bucket, t.buckets), streak: f.streak}
	copy(g.buckets, f.buckets)
	for a := f.age + 1; a < age; a++ {
		g.buckets[a%t.buckets] = nil
	}
	t.grow(g, age)
	return g
}

// forget takes the buckets that have left between f and g out of the streak
// that both share, oldest first: one that has gone on through the whole window
// becomes shorter by the part that lies in the bucket that leaves.
func (f *frame) forget(g *frame) {
	if f.streak != g.streak {
		return
	}
	for {
		old := f.streak.v.Load()
		var all Counts
		for _, b := range f.buckets {
			if b != nil {
				b.addTo(&all)
			}
		}
		successes, failures := uint32(old>>32), uint32(old)
		for age := f.age + 1; age <= g.age; age++ {
			b := f.buckets[age%uint64(len(f.buckets))]
			if b == nil {
				continue
			}
			all.TotalSuccesses -= b.successes.Load()
			all.TotalFailures -= b.failures.Load()
			endS, endF := b.streak.load()
			if successes == endS+all.TotalSuccesses {
				successes = all.TotalSuccesses
			}
			if failures == endF+all.TotalFailures {
				failures = all.TotalFailures
			}
		}
		if f.streak.v.CompareAndSwap(old, streakOf(successes, failures)) {
			return
		}
	}
}

// holds reports whether the bucket of an earlier frame of the same window is
// still in it.
func (f *frame) holds(earlier *frame) bool {
	return f.age-earlier.age < uint64(len(f.buckets))
}

// success and failure count an outcome of a request admitted in f.
func (f *frame) success() {
	f.now.successes.Add(1)
	f.now.streak.succeed()
	if f.streak != &f.now.streak {
		f.streak.succeed()
	}
}

func (f *frame) failure() {
	f.now.failures.Add(1)
	f.now.streak.fail()
	if f.streak != &f.now.streak {
		f.streak.fail()
	}
}

// counts adds up the buckets.
func (f *frame) counts() Counts {
	var c Counts
	c.ConsecutiveSuccesses, c.ConsecutiveFailures = f.streak.load()
	for _, b := range f.buckets {
		if b != nil {
			b.addTo(&c)
		}
	}
	return c
}
