package atomicbreaker_test

import (
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakeradvice"
)

// A success ends a streak, however many failures lie scattered around it.
//
// Field: S077, Shopify/semian#634 (2025-06-03); App-vNext/Polly#131 (2016-06-30);
// mcp-hangar/mcp-hangar#1397 (2026-09-13).
func TestFieldSuccessEndsAStreak(t *testing.T) {
	c := streakConfig()
	c.ConsecutiveFailures = 2
	p := examine(t, c)
	p.call(ab.Failure)
	p.calls(10_000, ab.Success)
	p.call(ab.Failure)
	p.is(ab.StateClosed)
	p.call(ab.Success, ab.Failure)
	p.is(ab.StateClosed)
	p.call(ab.Failure)
	p.is(ab.StateOpen)
}

// A quick success never trips, though it may fill the sample; the next failure
// does.
//
// Field: S079, lerouxrgd/recloser#10 (2025-11-30) against afex/hystrix-go#49 (2016-06-15).
func TestFieldSuccessNeverTrips(t *testing.T) {
	p := examine(t, rateConfig())
	p.calls(9, ab.Failure)
	p.call(ab.Success)
	p.is(ab.StateClosed)
	p.rolling(10, 9)
	p.call(ab.Failure)
	p.is(ab.StateOpen)
}

// The minimum is of calls within the window, and the window need not be full:
// enough calls trip at once, and a rate too low for the minimum never does.
//
// Field: S080, resilience4j/resilience4j#842 (2020-02-04), #1443 (2021-05-26), #1070.
func TestFieldMinimumCountsWithinTheWindow(t *testing.T) {
	c := rateConfig()
	c.Window, c.MinimumCalls, c.FailureRate = 20*time.Second, 5, 1
	p := examine(t, c)
	for i := range 5 {
		p.is(ab.StateClosed)
		p.at(0.5 * float64(i))
		p.call(ab.Failure)
	}
	p.is(ab.StateOpen)

	c = rateConfig()
	c.Window, c.MinimumCalls = 2*time.Second, 100
	p = examine(t, c)
	for i := range 30 * 40 {
		p.at(0.05 * float64(i))
		p.call(ab.Failure)
	}
	p.is(ab.StateClosed)
	p.rolling(40, 40)
	advised(t, c, breakeradvice.Usage{Rate: 20}, "minimum-out-of-reach")
}

// The bucket that is being filled counts.
//
// Field: S081, Netflix/Hystrix 1.5 release notes (2016).
func TestFieldRunningBucketCounts(t *testing.T) {
	c := rateConfig()
	c.MinimumCalls, c.FailureRate = 3, 1
	p := examine(t, c)
	for _, now := range []float64{0.1, 0.2, 0.3} {
		p.is(ab.StateClosed)
		p.at(now)
		p.call(ab.Failure)
	}
	p.is(ab.StateOpen)
}

// The verdict depends on how many calls the window holds and not on how fast
// they came.
//
// Field: S082, linkerd/linkerd2-proxy#4561 (2026-06-11).
func TestFieldVerdictDoesNotDependOnTheRateOfCalls(t *testing.T) {
	for _, pause := range []float64{0.001, 0.5} {
		p := examine(t, rateConfig())
		p.calls(5, ab.Success)
		failures := 0
		for now := pause; p.State() == ab.StateClosed && failures < 15; now += pause {
			p.at(now)
			p.call(ab.Failure)
			failures++
		}
		if failures != 5 {
			t.Errorf("failures every %v s trip at the %dth, want the 5th", pause, failures)
		}
	}
}

// A rate is a share, not a whole number of percent.
//
// Field: S086, failsafe-go/failsafe-go commit fb2a544 (2025-09-13).
func TestFieldRateIsNotRoundedToPercent(t *testing.T) {
	c := rateConfig()
	c.FailureRate, c.MinimumCalls = 0.005, 1000
	p := examine(t, c)
	p.calls(996, ab.Success)
	p.calls(4, ab.Failure)
	p.is(ab.StateClosed)
	if got := p.Snapshot().Rolling.FailureRate(); got != 0.004 {
		t.Errorf("failure rate is %v, want 0.004", got)
	}
	p = examine(t, c)
	p.calls(995, ab.Success)
	p.calls(5, ab.Failure)
	p.is(ab.StateOpen)
	if got := p.events()[0].Counts.FailureRate(); got != 0.005 {
		t.Errorf("opened at a failure rate of %v, want 0.005", got)
	}
}

// A rate given as k/n is reached by the k-th of n, for any two numbers, and
// not by the one before.
//
// Field: S087, cep21/circuit#159 (2026-08-18).
func TestFieldExactShareReachesTheRate(t *testing.T) {
	exact := func(rate float64, k, n int) {
		c := rateConfig()
		c.FailureRate, c.MinimumCalls = rate, n
		p := examine(t, c)
		p.calls(n-k+1, ab.Success)
		p.calls(k-1, ab.Failure) // the last of which fills the sample
		if p.State() != ab.StateClosed {
			t.Errorf("%d of %d reach a rate of %v", k-1, n, rate)
		}
		p = examine(t, c)
		p.calls(n-k, ab.Success)
		p.calls(k, ab.Failure)
		if p.State() != ab.StateOpen {
			t.Errorf("%d of %d do not reach a rate of %v", k, n, rate)
		}
	}
	exact(0.57, 57, 100)
	for n := 1; n <= 200; n++ {
		if reduced() && n > 50 && n%50 != 0 {
			continue // nothing here is concurrent, and all of it takes half a minute
		}
		for k := 1; k <= n; k++ {
			exact(float64(k)/float64(n), k, n)
		}
	}
}

// A window of calls counts the last so many and draws the line where one of
// time does.
//
// Field: S087, cep21/circuit#159 (2026-08-18).
func TestFieldExactShareReachesTheRateInAWindowOfCalls(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 63, 64, 65, 200} {
		for k := 1; k <= n; k++ {
			c := rateConfig()
			c.Window, c.WindowCalls, c.MinimumCalls = 0, n, n
			c.FailureRate = float64(k) / float64(n)
			p := examine(t, c)
			p.calls(3*n, ab.Success) // all of these will have left
			p.calls(k-1, ab.Failure)
			p.is(ab.StateClosed)
			p.call(ab.Failure)
			p.is(ab.StateOpen)
		}
	}
}

// Failures of concurrent calls trip, though several may pass the limit at
// once, and every closing begins to count anew.
//
// Field: S169, envoyproxy/envoy#1491 (2017-08-18), #40697 (2025-08-13).
func TestFieldStreakIsALimitToReachNotToHit(t *testing.T) {
	for range 100 {
		p := examine(t, streakConfig())
		tickets := make([]*ab.Ticket, 10)
		for i := range tickets {
			tickets[i] = p.acquire()
		}
		crowd(10, func(i int) { tickets[i].Report(ab.Failure) })
		p.is(ab.StateOpen)
		p.story("open(streak)")
	}
	for _, probes := range [][]ab.Outcome{{ab.Success}, {ab.Failure, ab.Success}} {
		p := examine(t, streakConfig())
		p.trip()
		for i, o := range probes {
			p.at(5 * float64(i+1))
			p.call(o)
		}
		p.call(ab.Failure, ab.Failure)
		p.is(ab.StateClosed)
		p.call(ab.Failure)
		p.is(ab.StateOpen)
	}
}

// There is no cap on how many breakers of a group of targets may be open:
// each goes by its own evidence.
//
// Field: S170, envoyproxy/envoy#3263 (2018-05-01), #26877 (2023-04-22), #27066, PR#27909.
func TestFieldEveryTargetMayBeOpen(t *testing.T) {
	targets := []*patient{examine(t, streakConfig()), examine(t, streakConfig()), examine(t, streakConfig())}
	for i, p := range targets {
		p.trip()
		for j, other := range targets {
			if open := other.State() == ab.StateOpen; open != (j <= i) {
				t.Errorf("after %d trips target %d is %v", i+1, j, other.State())
			}
		}
	}
}
