package atomicbreaker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// naive is what the trip rules say, over a plain list of all outcomes.
type naive struct {
	c        Config // with defaults
	outcomes []naiveOutcome
	streak   int
}

type naiveOutcome struct {
	at           time.Duration
	failed, slow bool
}

// add notes an outcome and returns the reason to trip, if there is one, and
// the window that it was found in.
func (n *naive) add(o naiveOutcome) (Reason, Counts) {
	n.outcomes = append(n.outcomes, o)
	switch {
	case o.failed:
		n.streak++
	default:
		n.streak = 0
	}
	w := n.window(o.at)
	c := n.c
	timed := c.SlowCallDuration != Off
	switch {
	case !o.failed && !o.slow:
		return ReasonNone, w // a quick success never trips
	case c.ConsecutiveFailures != Off && n.streak >= c.ConsecutiveFailures:
		return ReasonStreak, w
	case o.failed && c.FailureRate != Off && w.Calls >= uint64(c.MinimumCalls) && w.FailureRate() >= c.FailureRate:
		return ReasonFailureRate, w
	case timed && c.SlowCallRate != Off && w.Calls >= uint64(c.MinimumCalls) && w.SlowRate() >= c.SlowCallRate:
		return ReasonSlowCallRate, w
	case c.ReadyToTrip != nil && c.ReadyToTrip(w):
		return ReasonReadyToTrip, w
	}
	return ReasonNone, w
}

// window is the rolling window at an instant.
func (n *naive) window(now time.Duration) Counts {
	var w Counts
	for i, o := range n.outcomes {
		if n.c.WindowCalls > 0 {
			if i < len(n.outcomes)-n.c.WindowCalls {
				continue
			}
		} else {
			width := n.c.Window / time.Duration(n.c.Buckets)
			if now/width-o.at/width >= time.Duration(n.c.Buckets) {
				continue
			}
		}
		w.Calls++
		if o.failed {
			w.Failures++
		}
		if o.slow {
			w.Slow++
		}
	}
	return w
}

func (n *naive) forget() { n.outcomes, n.streak = nil, 0 }

// TestTripIsExact runs random traffic of one goroutine and holds every
// outcome against the naive rules: the breaker trips on the outcome that meets
// a rule, for the reason that is first, telling the window that met it; and the
// window that it shows is the naive one at any instant.
func TestTripIsExact(t *testing.T) {
	predicate := func(c Counts) bool { return c.Failures == 7 || c.Slow > 5 && c.Failures > 1 }
	for name, c := range map[string]Config{
		"defaults":          {},
		"rate alone":        {ConsecutiveFailures: Off},
		"low rate":          {ConsecutiveFailures: Off, FailureRate: 0.05, MinimumCalls: 40},
		"all must fail":     {ConsecutiveFailures: Off, FailureRate: 1, MinimumCalls: 3},
		"minimum of one":    {MinimumCalls: 1, FailureRate: 1.0 / 3},
		"streak of one":     {ConsecutiveFailures: 1},
		"streak of five":    {ConsecutiveFailures: 5, FailureRate: Off},
		"slow calls":        {SlowCallDuration: 50 * time.Millisecond, FailureRate: Off, ConsecutiveFailures: Off},
		"slow and failed":   {SlowCallDuration: 50 * time.Millisecond, SlowCallRate: 0.7, FailureRate: 0.6, ConsecutiveFailures: 6},
		"slow only counted": {SlowCallDuration: 50 * time.Millisecond, SlowCallRate: Off, ConsecutiveFailures: 8},
		"predicate":         {FailureRate: Off, ConsecutiveFailures: Off, SlowCallDuration: 50 * time.Millisecond, SlowCallRate: Off, ReadyToTrip: predicate},
		"everything":        {SlowCallDuration: 50 * time.Millisecond, SlowCallRate: 0.6, ConsecutiveFailures: 9, ReadyToTrip: predicate},
		"one bucket":        {Window: time.Second, Buckets: 1},
		"three buckets":     {Window: 3 * time.Second, Buckets: 3, ConsecutiveFailures: Off},
		"128 buckets":       {Window: 1280 * time.Millisecond, Buckets: 128, ConsecutiveFailures: Off},
		"last call":         {WindowCalls: 1, ConsecutiveFailures: Off},
		"last 5":            {WindowCalls: 5, ConsecutiveFailures: Off, FailureRate: 0.6},
		"last 10":           {WindowCalls: 10, ConsecutiveFailures: 8, FailureRate: 0.9},
		"last 64, slow":     {WindowCalls: 64, SlowCallDuration: 50 * time.Millisecond, ConsecutiveFailures: Off, MinimumCalls: 20},
		"last 1024":         {WindowCalls: 1024, ConsecutiveFailures: Off, MinimumCalls: 100, FailureRate: 0.45, ReadyToTrip: predicate},
	} {
		t.Run(name, func(t *testing.T) {
			tripped := make(map[Reason]int)
			for seed := range seeds(12) {
				if err := runAgainstNaive(c, seed, tripped); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			require.NotEmpty(t, tripped, "never tripped")
			t.Log(tripped)
		})
	}
}

func runAgainstNaive(c Config, seed uint64, tripped map[Reason]int) error {
	var told []Transition
	manual := new(clock.Manual)
	c.Clock = manual
	c.Deadline, c.Patience = Off, Off
	if c.ConsecutiveFailures == 0 && c.MinimumCalls == 0 {
		c.ConsecutiveFailures = defaultConsecutiveFailures // set, so that no rule goes by ticks
	}
	c.OnTransition = func(tr Transition) { told = append(told, tr) }
	b, err := New(c)
	if err != nil {
		return err
	}
	n := &naive{c: c.WithDefaults()}
	random := rand.New(rand.NewPCG(seed, 2))
	bad, slow := random.Float64(), random.Float64()
	for range 500 {
		if random.IntN(60) == 0 {
			bad, slow = random.Float64(), random.Float64()
		}
		ticket, err := b.Acquire()
		if err != nil {
			return err
		}
		var took time.Duration
		if n.c.SlowCallDuration != Off {
			took = time.Duration(random.IntN(50)) * time.Millisecond
			if random.Float64() < slow {
				took = 50 * time.Millisecond // the very limit is slow
			}
		}
		manual.Advance(took)
		if random.IntN(20) == 0 {
			ticket.Report(Ignored) // says nothing, nowhere
			continue
		}
		o := naiveOutcome{at: manual.Now(), failed: random.Float64() < bad, slow: took == 50*time.Millisecond}
		outcome := Success
		if o.failed {
			outcome = Failure
		}
		ticket.Report(outcome)
		why, window := n.add(o)
		if (why != ReasonNone) != (b.State() == StateOpen) {
			return fmt.Errorf("%d outcomes, %+v: %v, want a trip for %v", len(n.outcomes), window, b.State(), why)
		}
		if why != ReasonNone {
			tripped[why]++
			last := told[len(told)-1]
			if last.Reason != why || last.Counts != window || last.From != StateClosed || last.To != StateOpen || last.At != o.at {
				return fmt.Errorf("told %+v, want %v of %+v at %v", last, why, window, o.at)
			}
			b.Reset()
			n.forget()
		}
		manual.Advance(time.Duration(random.Int64N(int64(n.c.Window) / 50)))
		if random.IntN(50) == 0 {
			manual.Advance(time.Duration(random.Int64N(int64(2 * n.c.Window)))) // idleness
		}
		if got, want := b.Snapshot().Rolling, n.window(manual.Now()); got != want {
			return fmt.Errorf("at %v the window shows %+v, not %+v", manual.Now(), got, want)
		}
	}
	return nil
}

// TestOutcomeLivesForTheWindowLessUpToOneBucket steps over the edges by the
// nanosecond: intervals are half-open.
func TestOutcomeLivesForTheWindowLessUpToOneBucket(t *testing.T) {
	for _, c := range []Config{
		{},
		{Window: time.Millisecond, Buckets: 1},
		{Window: 2 * time.Millisecond, Buckets: 2},
		{Window: 128 * time.Millisecond, Buckets: 128},
		{Window: 24 * time.Hour, Buckets: 1},
		{Window: 24 * time.Hour, Buckets: 128},
		{Window: time.Minute, Buckets: 7 * 8, MinimumCalls: 1},
	} {
		if c.Window == time.Minute {
			c.Window = 56 * time.Second
		}
		for _, after := range []time.Duration{0, 1, -1} { // since a bucket began, and before it ends
			b, manual := made(t, c)
			width := b.cfg().bucket
			manual.Advance(3*width + (after+width)%width)
			calls(t, b, 1, Success)
			left := c.WithDefaults().Window - (after+width)%width // until the bucket is a window old
			require.GreaterOrEqual(t, left, c.WithDefaults().Window-width+1)
			manual.Advance(left - 1)
			require.Equal(t, Counts{Calls: 1}, b.Snapshot().Rolling, "%v of %d buckets, %v after an edge: gone too early", c.WithDefaults().Window, c.WithDefaults().Buckets, after)
			manual.Advance(1)
			require.Zero(t, b.Snapshot().Rolling, "%v of %d buckets, %v after an edge: lives too long", c.WithDefaults().Window, c.WithDefaults().Buckets, after)
		}
	}
}

func TestEdgesLieAtMultiplesOfABucketSinceTheBreakerWasMade(t *testing.T) {
	// Neither traffic, nor idleness, nor the clock's own epoch moves them.
	manual := new(clock.Manual)
	manual.Advance(12345 * time.Microsecond)
	b := madeOn(t, Config{Clock: manual})
	calls(t, b, 1, Success)
	manual.Advance(time.Hour + 999*time.Millisecond) // 3600.999 s
	calls(t, b, 1, Success)
	manual.Advance(9*time.Second + 999_999_999) // 3610.998999999: the bucket of 3600 s has left at 3610
	require.Zero(t, b.Snapshot().Rolling)

	manual.Advance(time.Second - 998_999_999 + 1) // 3611.0..1
	calls(t, b, 1, Success)
	manual.Advance(10*time.Second - 3)
	require.Zero(t, b.Snapshot().Rolling.Failures)
}

func TestSuccessNeverTrips(t *testing.T) {
	// Nine failures and a success: the share is met, and nothing trips. The
	// next failure does.
	b, _ := made(t, Config{ConsecutiveFailures: Off})
	calls(t, b, 9, Failure)
	calls(t, b, 1, Success)
	require.Equal(t, Counts{Calls: 10, Failures: 9}, b.Snapshot().Rolling)
	require.Equal(t, StateClosed, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
}

func TestTimeAloneNeverTrips(t *testing.T) {
	// Good calls age out of the window and leave a share of one behind.
	b, manual := made(t, Config{ConsecutiveFailures: Off, MinimumCalls: 5})
	calls(t, b, 20, Success)
	manual.Advance(time.Second)
	calls(t, b, 9, Failure)
	for range 40 {
		manual.Advance(500 * time.Millisecond)
		require.Equal(t, StateClosed, b.State())
	}
}

func TestKOfNTripsAtTheKthForTheRateKOverN(t *testing.T) {
	for n := 1; n <= int(seeds(120)); n++ {
		for k := 1; k <= n; k++ {
			b, _ := made(t, Config{
				WindowCalls: n, MinimumCalls: n, FailureRate: float64(k) / float64(n), ConsecutiveFailures: Off,
			})
			calls(t, b, n-k, Success)
			calls(t, b, k-1, Failure)
			require.Equal(t, StateClosed, b.State(), "%d of %d", k-1, n)
			calls(t, b, 1, Failure)
			require.Equal(t, StateOpen, b.State(), "%d of %d", k, n)
		}
	}
	for range 2000 { // larger numbers, without a breaker
		n := uint64(rand.Int64N(1_000_000_000) + 1)
		k := uint64(rand.Int64N(int64(n)) + 1)
		rate := float64(k) / float64(n)
		require.GreaterOrEqual(t, share(k, n), rate)
		require.Less(t, share(k-1, n), rate)
	}
}

// TestMinimumIsMetByCallsOfAnyOutcome: the failure with which both the minimum
// and the rate are met trips, whatever came since the rate was met.
func TestMinimumIsMetByCallsOfAnyOutcome(t *testing.T) {
	for successes := range 6 {
		b, _ := made(t, Config{MinimumCalls: 10, FailureRate: 0.5, ConsecutiveFailures: Off, Stripes: 1})
		calls(t, b, 9-successes, Failure)
		calls(t, b, successes, Success)
		require.Equal(t, StateClosed, b.State())
		calls(t, b, 1, Failure)
		require.Equal(t, StateOpen, b.State(), "after %d successes", successes)
	}
}

// TestCallsUntilNeverPromisesTooMany: as long as fewer calls than promised have
// come, the rate is not reached, even if all of them failed.
func TestCallsUntilNeverPromisesTooMany(t *testing.T) {
	rates := []float64{1, 0.5, 1.0 / 3, 0.1, 0.01, 0.001, 0.999, 0.9999999, 2.0 / 3, 1e-9, 3.0 / 7}
	for _, rate := range rates {
		for calls := range uint64(200) {
			for failed := uint64(0); failed <= calls; failed++ {
				more := callsUntil(failed, calls, rate)
				if more == 0 {
					continue
				}
				if more > 1<<40 {
					more = 1 << 40
				}
				for _, x := range []uint64{1, more / 2, more - 1} {
					if x < more && calls+x > 0 && share(failed+x, calls+x) >= rate {
						t.Fatalf("rate %v reached by %d failures after %d of %d, promised %d", rate, x, failed, calls, more)
					}
				}
			}
		}
	}
	require.Greater(t, callsUntil(1000, 1000, Off), uint64(1)<<60)
}

func TestIgnoredAndCancelledAreInNoRule(t *testing.T) {
	for _, settle := range []func(*Ticket) bool{
		func(x *Ticket) bool { return x.Report(Ignored) },
		(*Ticket).Cancel,
	} {
		b, manual := made(t, Config{ConsecutiveFailures: 3, MinimumCalls: 4, SlowCallDuration: time.Millisecond})
		for range 2 {
			calls(t, b, 1, Failure)
			for range 50 {
				ticket := admitted(t, b)
				manual.Advance(time.Millisecond) // slow, were it an outcome
				require.True(t, settle(ticket))
			}
		}
		require.Equal(t, Counts{Calls: 2, Failures: 2}, b.Snapshot().Rolling)
		require.Equal(t, StateClosed, b.State())
		calls(t, b, 1, Failure)
		require.Equal(t, ReasonStreak, b.Snapshot().Reason, "the streak was ended by what says nothing")
	}
}

func TestStreakOutlivesTheWindow(t *testing.T) {
	b, manual := made(t, tripAfter(5))
	for range 4 {
		calls(t, b, 1, Failure)
		manual.Advance(time.Hour)
	}
	require.Zero(t, b.Snapshot().Rolling)
	require.Equal(t, StateClosed, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
}

func TestStreakEndsOnlyWithASuccessOrAGeneration(t *testing.T) {
	b, _ := made(t, tripAfter(3))
	calls(t, b, 2, Failure)
	calls(t, b, 1, Success)
	calls(t, b, 2, Failure)
	require.Equal(t, StateClosed, b.State())
	b.Reset()
	calls(t, b, 2, Failure)
	require.Equal(t, StateClosed, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
}

func TestSlowSuccessEndsAStreak(t *testing.T) {
	b, manual := made(t, Config{ConsecutiveFailures: 3, FailureRate: Off, SlowCallDuration: time.Second, SlowCallRate: Off})
	calls(t, b, 2, Failure)
	slow := admitted(t, b)
	manual.Advance(time.Second)
	require.True(t, slow.Report(Success))
	calls(t, b, 2, Failure)
	require.Equal(t, StateClosed, b.State())
}

func TestSlowCallIsOneThatTakesTheDurationOrLonger(t *testing.T) {
	b, manual := made(t, Config{SlowCallDuration: time.Second, MinimumCalls: 100, ConsecutiveFailures: Off})
	for i, took := range []time.Duration{time.Second - 1, time.Second, time.Second + 1} {
		for _, o := range []Outcome{Success, Failure} {
			ticket := admitted(t, b)
			manual.Advance(took)
			require.True(t, ticket.Report(o))
		}
		s := b.Snapshot()
		require.Equal(t, uint64(2*i), s.Slow, "took %v", took)
		require.Equal(t, Counts{Calls: uint64(2*i + 2), Failures: uint64(i + 1), Slow: uint64(2 * i)}, s.Rolling,
			"a slow failure is once in each, a slow success no failure")
	}
}

func TestReasonNamesTheFirstRuleThatIsMet(t *testing.T) {
	yes := func(Counts) bool { return true }
	all := Config{ConsecutiveFailures: 4, FailureRate: 0.5, SlowCallRate: 0.5, SlowCallDuration: time.Second, MinimumCalls: 4, ReadyToTrip: nil}
	for want, change := range map[Reason]func(*Config){
		ReasonStreak:       func(c *Config) { c.ReadyToTrip = nil },
		ReasonFailureRate:  func(c *Config) { c.ConsecutiveFailures = 5 },
		ReasonSlowCallRate: func(c *Config) { c.ConsecutiveFailures, c.FailureRate = Off, Off },
		ReasonReadyToTrip:  func(c *Config) { c.ConsecutiveFailures, c.FailureRate, c.SlowCallRate = Off, Off, Off },
	} {
		c := all
		change(&c)
		c.ReadyToTrip = func(w Counts) bool { return w.Calls == 4 && yes(w) }
		b, manual := made(t, c)
		for range 4 {
			require.Equal(t, StateClosed, b.State())
			ticket := admitted(t, b)
			manual.Advance(time.Second)
			require.True(t, ticket.Report(Failure))
		}
		require.Equal(t, want, b.Snapshot().Reason)
	}
}

func TestReadyToTripIsAskedAfterFailuresAndSlowCallsOnly(t *testing.T) {
	var asked []Counts
	b, manual := made(t, Config{
		ConsecutiveFailures: Off, FailureRate: Off, SlowCallDuration: time.Second, SlowCallRate: Off,
		ReadyToTrip: func(c Counts) bool { asked = append(asked, c); return false },
	})
	calls(t, b, 3, Success)
	calls(t, b, 1, Ignored)
	require.True(t, admitted(t, b).Cancel())
	require.Empty(t, asked)
	calls(t, b, 1, Failure)
	slow := admitted(t, b)
	manual.Advance(time.Second)
	require.True(t, slow.Report(Success))
	require.Equal(t, []Counts{{Calls: 4, Failures: 1}, {Calls: 5, Failures: 1, Slow: 1}}, asked,
		"it sees the window with the outcome it is asked about")

	b.SetMode(ForcedClosed)
	calls(t, b, 1, Failure)
	require.Len(t, asked, 2, "asked where nothing may trip")
}

func TestMinimumIsMetByOutcomesOfTheWindowAlone(t *testing.T) {
	b, manual := made(t, Config{ConsecutiveFailures: Off})
	calls(t, b, 9, Failure)
	manual.Advance(10 * time.Second)
	calls(t, b, 9, Failure)
	require.Equal(t, StateClosed, b.State(), "old outcomes filled the minimum")
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State(), "the window need not be full")
}

func TestWindowIsEmptyAfterRecovery(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	recoverBy(t, b, manual)
	require.Zero(t, b.Snapshot().Rolling, "probes do not count in it")
}
