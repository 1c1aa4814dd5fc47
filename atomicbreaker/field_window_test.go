package atomicbreaker_test

import (
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// Buckets that go by without traffic leave the window like any others.
//
// Field: S066, rubyist/circuitbreaker commit 5dab3b1 (2016-07-19).
func TestFieldIdleBucketsLeaveTheWindow(t *testing.T) {
	p := examine(t, countingConfig(5*time.Second, 5))
	for _, now := range []float64{0.5, 1.5, 2.5, 3.5, 4.5} {
		p.at(now)
		p.call(ab.Failure)
	}
	p.rolling(5, 5)
	p.at(8.5)
	p.call(ab.Success)
	p.rolling(2, 1)
	p.at(9.5)
	p.rolling(1, 0)

	for gap := range 100 { // however many go by
		p := examine(t, countingConfig(5*time.Second, 5))
		p.at(0.5)
		p.call(ab.Failure)
		p.at(0.5 + float64(gap))
		p.call(ab.Success)
		if gap < 5 {
			p.rolling(2, 1)
		} else {
			p.rolling(1, 0)
		}
	}
}

// A history is calls at instants, in milliseconds.
type history []struct {
	at, calls int
}

// buckets plays a history and returns how many of its calls each of the
// buckets of a window of 3 x 50 ms holds at the end, the oldest first: it is
// seen by what leaves the window as they go.
func (h history) buckets(t *testing.T) (held [3]uint64) {
	p := examine(t, countingConfig(150*time.Millisecond, 3))
	for _, x := range h {
		p.atInstant(time.Duration(x.at) * time.Millisecond)
		p.calls(x.calls, ab.Failure)
	}
	const width = 50 * time.Millisecond
	for i := range held {
		before := p.Snapshot().Rolling.Calls
		p.clock.Advance(width - p.clock.Now()%width - 1)
		if now := p.Snapshot().Rolling.Calls; now != before {
			t.Errorf("at %v, within a bucket, the window goes from %d to %d", p.clock.Now(), before, now)
		}
		p.clock.Advance(1)
		held[i] = before - p.Snapshot().Rolling.Calls
	}
	return held
}

// The edges of buckets lie at multiples of their width, whenever calls come.
//
// Field: S068, zeromicro/go-zero#340 (2021-01-03).
func TestFieldBucketEdgesDoNotDrift(t *testing.T) {
	h := history{{0, 1}, {90, 5}, {110, 15}}
	if got, want := h.buckets(t), [3]uint64{1, 5, 15}; got != want {
		t.Errorf("buckets hold %v, want %v", got, want)
	}
}

// They lie there after a gap longer than the window too.
//
// Field: S069, zeromicro/go-zero#345 (2021-01-04).
func TestFieldBucketEdgesStayAfterAnIdleGap(t *testing.T) {
	h := history{{0, 1}, {90, 5}, {110, 15}, {260, 24}}
	if got, want := h.buckets(t), [3]uint64{0, 0, 24}; got != want {
		t.Errorf("buckets hold %v, want %v", got, want)
	}
	h = append(h, history{{301, 1}}...)
	if got, want := h.buckets(t), [3]uint64{0, 24, 1}; got != want {
		t.Errorf("buckets hold %v, want %v", got, want)
	}
}

// Steady traffic does not keep the window from rolling: the rate is that of
// the last ten seconds at any time, as a plain list of calls has it.
//
// Field: S070, exaring/hoglet commit 2462cd1 (2026-07-09).
func TestFieldWindowRollsUnderSteadyTraffic(t *testing.T) {
	p := examine(t, rateConfig())
	var list []int // bucket of each call, negative for a failure
	call := func(ms int, o ab.Outcome) (share float64) {
		p.atInstant(time.Duration(ms) * time.Millisecond)
		p.call(o)
		bucket := ms/1000 + 1
		if o == ab.Failure {
			bucket = -bucket
		}
		list = append(list, bucket)
		failed, all := 0, 0
		for _, b := range list {
			if max(b, -b) > ms/1000-9 {
				all++
				failed += min(max(-b, 0), 1)
			}
		}
		return float64(failed) / float64(all)
	}
	for i := range 100 {
		call(10*i, []ab.Outcome{ab.Failure, ab.Success, ab.Failure, ab.Success, ab.Success}[i%5])
	}
	p.is(ab.StateClosed)
	for ms := 1000; ms <= 61_000; ms += 100 {
		want := call(ms, ab.Success)
		if got := p.Snapshot().Rolling.FailureRate(); got != want {
			t.Fatalf("at %d ms the failure rate is %v, want %v", ms, got, want)
		}
	}
	if got := p.Snapshot().Rolling.Failures; got != 0 {
		t.Errorf("%d failures of a minute ago are in the window", got)
	}
	for ms := 61_100; ; ms += 100 {
		if reached := call(ms, ab.Failure) >= 0.5; reached != (p.State() == ab.StateOpen) {
			t.Fatalf("at %d ms the breaker is %v, want open if half of the calls failed: %v", ms, p.State(), reached)
		} else if reached {
			if ms < 65_000 || ms > 67_000 {
				t.Errorf("opened after %d ms of failures, want about 5000", ms-61_000)
			}
			return
		}
	}
}

// A window that is not set is one of ten seconds: a long good past does not
// outweigh an outage for longer than that. A streak does not wait even so long.
//
// Field: S072, travis-ci/jupiter-brain#12 (2015-09-23, on gobreaker with Interval zero).
func TestFieldUnsetWindowIsFinite(t *testing.T) {
	for _, window := range []time.Duration{0, 10 * time.Second} {
		c := rateConfig()
		c.Window, c.FailureRate = window, 0.6
		p := examine(t, c)
		p.calls(2000, ab.Success)
		p.at(10)
		p.calls(9, ab.Failure)
		p.is(ab.StateClosed)
		p.call(ab.Failure)
		p.is(ab.StateOpen)
		p.story("open(failure-rate)")
	}
	p := examine(t, ab.Config{FailureRate: 0.6})
	p.calls(2000, ab.Success)
	p.calls(19, ab.Failure)
	p.is(ab.StateClosed)
	p.clock.Advance(50 * time.Millisecond)
	p.call(ab.Failure)
	p.story("open(streak)")
}

// Every span is half-open: its first instant belongs to it and the instant at
// its end does not. All that read agree with all that call, in that instant
// too, whether the breaker's own timer has run in it or not.
//
// Field: S074, sony/gobreaker commit 1ab58bd (2026-01-01, review changes around "before" and
// "not after").
func TestFieldSpansAreHalfOpen(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	for range 2 { // cooldown: 5 s from 0, and again from 5 s
		opened := p.clock.Now()
		p.atInstant(opened + 5*time.Second - 1)
		p.is(ab.StateOpen)
		p.refused(ab.ErrOpen)
		p.atInstant(opened + 5*time.Second)
		p.is(ab.StateHalfOpen)
		p.call(ab.Failure)
	}

	for _, last := range []bool{true, false} { // a probe's 2 s
		p := examine(t, streakConfig())
		p.trip()
		p.at(5)
		probe := p.acquire()
		counted := settled{failed: 3, late: 1}
		if last {
			p.atInstant(7*time.Second - 1)
			counted = settled{failed: 3, succeeded: 1}
			probe.Report(ab.Success)
		} else {
			p.clock.AfterFunc(0, func() {}) // keeps the order below
			p.atInstant(7*time.Second - 1)
			p.is(ab.StateHalfOpen)
			p.at(7)
			probe.Report(ab.Success)
			p.is(ab.StateOpen)
		}
		p.books(counted)
	}

	p = examine(t, countingConfig(10*time.Second, 10))
	p.call(ab.Failure) // in the first bucket's first instant
	p.at(1)
	p.call(ab.Failure) // on an edge: in the second bucket
	p.atInstant(10*time.Second - 1)
	p.rolling(2, 2)
	p.at(10)
	p.rolling(1, 1)
	p.atInstant(11*time.Second - 1)
	p.rolling(1, 1)
	p.at(11)
	p.rolling(0, 0)
}

// In the very instant at which a span ends, what runs before the breaker's own
// timer sees the same as what runs after it, where the instant decides: a
// probe's outcome is late, an old outcome is gone. Only the cooldown is ended
// by the timer, and until then everything says open.
//
// Field: S074, sony/gobreaker commit 1ab58bd (2026-01-01, review changes around "before" and
// "not after").
func TestFieldInstantDecidesNotTheOrderOfTimers(t *testing.T) {
	p := examine(t, streakConfig())
	first := func(at float64, f func()) { // runs before any timer that is set later
		p.clock.AfterFunc(seconds(at)-p.clock.Now(), f)
	}
	var probe *ab.Ticket
	first(5, func() {
		p.is(ab.StateOpen)
		p.refused(ab.ErrOpen)
		if p.Ready() || p.RetryAfter() <= 0 {
			t.Error("open, and ready or nothing left of the cooldown")
		}
	})
	first(7, func() {
		if !probe.Report(ab.Success) {
			t.Error("the ticket was settled already")
		}
		p.is(ab.StateOpen)
		p.books(settled{failed: 3, late: 1})
	})
	p.trip()
	p.at(5)
	p.is(ab.StateHalfOpen)
	probe = p.acquire()
	p.at(7)
	p.story("open(streak) half-open(cooldown) open(probe-timeout)")

	p = examine(t, countingConfig(10*time.Second, 10))
	first(10, func() { p.rolling(1, 1) })
	p.call(ab.Failure)
	p.at(0.5)
	p.call(ab.Failure)
	p.at(1)
	p.call(ab.Failure)
	p.at(10)
	p.rolling(1, 1)
}

// The window is empty after a close: failures from before the opening, young
// enough or not, and the probes do not count in it.
//
// Field: S076, resilience4j/resilience4j#39 (window copied on close) against the usual
// clear-on-close.
func TestFieldCloseEmptiesTheWindow(t *testing.T) {
	c := rateConfig()
	c.Window = time.Minute
	p := examine(t, c)
	p.calls(10, ab.Failure)
	p.at(5)
	p.call(ab.Success)
	p.is(ab.StateClosed)
	p.rolling(0, 0)
	p.at(6)
	p.calls(5, ab.Success)
	p.calls(4, ab.Failure)
	p.is(ab.StateClosed)
	p.rolling(9, 4)
}
