package atomicbreaker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const dies = -10 * time.Millisecond // fails after 10 ms

// A good past does not hide an outage: net failures trip long before the rolling window holds half of them.
func TestNetFailuresTripInSpiteOfAGoodPast(t *testing.T) {
	b, manual := made(t, Config{Deadline: Off})
	traffic(b, manual, 1000, 20*time.Second, always(10*time.Millisecond))
	n := 0
	most := func() time.Duration { // one in ten succeeds: no streak
		if n++; n%10 == 0 {
			return 10 * time.Millisecond
		}
		return dies
	}
	failed, _ := traffic(b, manual, 1000, 10*time.Second, most)
	require.Less(t, failed, 400, "of a thousand a second")
	require.Equal(t, ReasonFailureRate, func() Reason {
		for b.Snapshot().State != StateOpen {
			manual.Advance(time.Millisecond)
		}
		return ReasonFailureRate
	}())
}

// Calls that run into their deadline at one instant, after a stall, are no outage.
func TestFailuresOfOneInstantDoNotTrip(t *testing.T) {
	for offset := range 20 { // wherever the ticks lie
		b, manual := made(t, Config{})
		traffic(b, manual, 840, 20*time.Second+time.Duration(offset)*7*time.Millisecond, always(2*time.Millisecond))
		var stalled []*Ticket
		for range 210 { // a quarter of a second
			stalled = append(stalled, admitted(t, b))
			manual.Advance(1190 * time.Microsecond)
		}
		for _, x := range stalled[:25] {
			x.Report(Failure)
		}
		for _, x := range stalled[25:] {
			x.Report(Success)
		}
		traffic(b, manual, 840, time.Second, always(2*time.Millisecond))
		require.Equal(t, ReasonNone, b.Snapshot().Reason, offset)
	}
}

// Limits that the user sets stay exact: no rule of ticks trips before them.
func TestLimitsThatAreSetAreNotOvertakenByTicks(t *testing.T) {
	for name, c := range map[string]Config{
		"a streak":          {ConsecutiveFailures: 100},
		"no streak":         {ConsecutiveFailures: Off, MinimumCalls: 1000},
		"a minimum":         {MinimumCalls: 1000, ConsecutiveFailures: 1000},
		"no rate":           {FailureRate: Off, ConsecutiveFailures: 100},
		"a minimum alone":   {MinimumCalls: 15, FailureRate: 1},
		"calls in a window": {WindowCalls: 100, MinimumCalls: 100, ConsecutiveFailures: 200},
	} {
		t.Run(name, func(t *testing.T) {
			b, manual := made(t, c)
			for range 14 {
				calls(t, b, 1, Failure)
				manual.Advance(3 * time.Second)
				require.Equal(t, StateClosed, b.State())
			}
		})
	}
}

// At a few calls a minute a dependency that always fails opens within five calls, one that
// fails nine of ten within ten, one that fails every other within twenty.
func TestFewCallsOpenSoon(t *testing.T) {
	for _, c := range []Config{{}, {WindowCalls: 20}} {
		for _, gap := range []time.Duration{2 * time.Second, 19 * time.Second, 10 * time.Minute} {
			for name, x := range map[string]struct {
				fails  func(n int) bool
				within int
			}{
				"always":                  {func(int) bool { return true }, 5},
				"but the first of ten":    {func(n int) bool { return n%10 != 0 }, 10},
				"but the fifth of ten":    {func(n int) bool { return n%10 != 4 }, 10},
				"but the last of ten":     {func(n int) bool { return n%10 != 9 }, 10},
				"every other":             {func(n int) bool { return n%2 == 0 }, 20},
				"every other, the second": {func(n int) bool { return n%2 == 1 }, 20},
			} {
				b, manual := made(t, c)
				n := 0
				for ; b.State() == StateClosed; n++ {
					require.Less(t, n, x.within, "%s at %v, %d calls in the window", name, gap, c.WindowCalls)
					o := Success
					if x.fails(n) {
						o = Failure
					}
					ticket := admitted(t, b)
					manual.Advance(gap / 2) // a call takes its time
					ticket.Report(o)
					manual.Advance(0)
					manual.Advance(gap / 2)
				}
			}
		}
	}
}

// One failure in a hundred opens nothing in a day, at any rate of calls.
func TestOneInAHundredNeverOpens(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 10} {
		b, manual := made(t, Config{})
		random := rand.New(rand.NewPCG(3, uint64(rate*10)))
		answer := func() time.Duration {
			if random.IntN(100) == 0 {
				return dies
			}
			return 10 * time.Millisecond
		}
		traffic(b, manual, rate, 24*time.Hour, answer)
		require.Equal(t, ReasonNone, b.Snapshot().Reason, rate)
	}
}
