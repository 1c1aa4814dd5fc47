package atomicbreaker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
	"github.com/stretchr/testify/require"
)

// TestStaleEvidenceDoesNotTrip: timers are late, as after a stop of the whole
// process. Failures that have left the window by then trip nothing, together
// with a new one, whichever rule counts them and whoever looks first.
func TestStaleEvidenceDoesNotTrip(t *testing.T) {
	asked := 0
	for name, c := range map[string]Config{
		"failure rate": {},
		"slow rule":    {FailureRate: Off, SlowCallDuration: time.Millisecond},
		"predicate":    {FailureRate: Off, ReadyToTrip: func(c Counts) bool { asked++; return c.Failures >= 10 }},
	} {
		for _, late := range []time.Duration{10 * time.Second, 21 * time.Second, time.Hour} {
			for _, stripes := range []int{1, 4} {
				s := new(skewed)
				c.Clock, c.ConsecutiveFailures = s, Off
				b := madeOn(t, c)
				fail := func() {
					ticket := admitted(t, b)
					s.by.Add(int64(time.Millisecond))
					require.True(t, ticket.Report(Failure))
				}
				fail()
				stripesOf(t, b, stripes)
				for range 8 {
					fail()
				}
				s.by.Add(int64(late))
				fail()
				require.Equal(t, StateClosed, b.State(), "%s, %v late, on %d stripes", name, late, stripes)
				s.Advance(0)
				require.Equal(t, StateClosed, b.State(), "%s, when the timer comes %v late", name, late)
				for range 9 { // of the present, and the worker has seen to the window
					require.Equal(t, StateClosed, b.State())
					fail()
				}
				s.Advance(time.Second)
				require.Equal(t, StateClosed, b.State(), "%s: nine are too few", name)
				for n := 0; b.State() == StateClosed; n++ {
					require.Less(t, n, 4, "%s: these are enough", name)
					fail()
				}
			}
		}
	}
	require.NotZero(t, asked)
}

// TestLateTimerLeavesOutWhatHasAged: what is still young enough counts.
func TestLateTimerLeavesOutWhatHasAged(t *testing.T) {
	s := new(skewed)
	b := madeOn(t, Config{Clock: s, ConsecutiveFailures: Off})
	calls(t, b, 5, Failure)
	s.Advance(0)
	s.Advance(5 * time.Second)
	calls(t, b, 4, Failure)
	s.by.Add(int64(6 * time.Second)) // the first five are 11 s old, the timer is 6 s late
	calls(t, b, 1, Failure)
	require.Equal(t, Counts{Calls: 5, Failures: 5}, b.Snapshot().Rolling)
	calls(t, b, 4, Failure)
	require.Equal(t, StateClosed, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
}

// TestOldWindowNeverComesBack: however many generations pass without an outcome,
// and although no worker runs meanwhile.
func TestOldWindowNeverComesBack(t *testing.T) {
	for _, c := range []Config{{}, {Window: 24 * time.Hour, Buckets: 1}, {WindowCalls: 20}} {
		for bits := 3; bits <= 31; bits++ {
			c.ConsecutiveFailures, c.FailureRate, c.MinimumCalls = Off, 1, 9
			b, _ := made(t, c)
			calls(t, b, 8, Failure)
			pass(b, 1<<bits)
			require.Zero(t, b.Snapshot().Rolling, "after 2^%d generations", bits)
			calls(t, b, 1, Failure)
			require.Equal(t, StateClosed, b.State(), "after 2^%d generations", bits)
			require.Equal(t, Counts{Calls: 1, Failures: 1}, b.Snapshot().Rolling)
			require.Equal(t, uint64(9), b.Snapshot().Failed)
		}
	}
}

// pass lets n generations pass by Reset. Those that do nothing but change the
// number, as nearly all of them, are left out.
func pass(b *Breaker, n uint32) {
	for n > 0 {
		w := b.load()
		const skipTo = 1 << 13
		left := min(n, skipTo-w.generation()%skipTo) - 1
		next := w + word(left)<<generationShift
		began, _ := b.records.of(w)
		record, head := b.records.write(w, next, began.reason, began)
		b.word.Store(uint64(next))
		record.settle(head, true)
		b.Reset()
		n -= left + 1
	}
}

// TestLookingAtOtherStripesIsAmortised: a failing caller whose stripe is over
// the rate while the whole is under it does not read all stripes at each
// failure, however many there are.
func TestLookingAtOtherStripesIsAmortised(t *testing.T) {
	const n = 64
	for _, c := range []Config{{}, {SlowCallDuration: time.Second}} {
		c.ConsecutiveFailures, c.Stripes = Off, n
		b, _ := made(t, c)
		calls(t, b, 1, Success)
		stripes := stripesOf(t, b, n)
		for i, s := range stripes {
			for range 20 + 10*i {
				settleOn(t, b, s, Success)
			}
		}
		looked, failures := 0, 0
		for b.State() == StateClosed {
			s := stripes[0]
			settleOn(t, b, s, Failure)
			failures++
			if !b.ring.Look(s, 0).Due() {
				continue
			}
			looked++
		}
		require.Greater(t, failures, 10_000)
		require.LessOrEqual(t, looked, failures/(n/8)+1, "of %d failures", failures)
	}
}

// TestTripOverManyStripesIsLateByABound: by what was missing when a stripe looked
// last, divided by the stripes, for each stripe that fails.
func TestTripOverManyStripesIsLateByABound(t *testing.T) {
	most := 0
	for seed := range seeds(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 << (1 + seed%4)
		rate := []float64{0.2, 0.5, 0.9}[seed%3]
		b, _ := made(t, Config{ConsecutiveFailures: Off, Stripes: n, FailureRate: rate})
		b.wake(0)
		stripes := stripesOf(t, b, n)
		healthy := r.IntN(2000)
		for range healthy {
			settleOn(t, b, stripes[r.IntN(n)], Success)
		}
		failing := 1 + r.IntN(n)
		missing := callsUntil(0, uint64(healthy), rate)
		bound := failing * (max(int(missing), n*n/8)/n + 1)
		calls, failures, late := healthy, 0, 0
		for b.State() == StateClosed && late <= bound {
			s := stripes[r.IntN(failing)]
			if n := s.Held(0); r.IntN(10) == 0 && n < 20 {
				settleOn(t, b, s, Success)
				calls++
				continue
			}
			settleOn(t, b, s, Failure)
			calls, failures = calls+1, failures+1
			if calls >= 10 && share(uint64(failures), uint64(calls)) >= rate {
				late++
			}
		}
		over := true // a stripe's own share must be over the rate, or it waits for the bucket's end
		for _, s := range stripes[:failing] {
			own := b.ring.SumStripe(s, 0)
			over = over && share(own[ring.Failure], own.Calls()) >= rate
		}
		if over && b.State() == StateClosed {
			t.Fatalf("seed %d: %d of %d stripes fail after %d successes, and it is %d failures late", seed, failing, n, healthy, late)
		}
		most = max(most, late)
	}
	require.Greater(t, most, 1, "several stripes are late sometimes")
}

// TestForgottenWindowHidesNoFailure: what a stripe was told to wait for, before
// the window was emptied, is not waited for afterwards.
func TestForgottenWindowHidesNoFailure(t *testing.T) {
	b, _ := made(t, Config{ConsecutiveFailures: Off, FailureRate: 0.5})
	calls(t, b, 100_000, Success)
	calls(t, b, 1, Failure)
	b.SetMode(ForcedClosed)
	b.SetMode(Auto)
	calls(t, b, 9, Failure)
	require.Equal(t, StateClosed, b.State())
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
}

// nudged is a clock that runs a function when a timer is set, once: what others do
// while whoever set it sleeps.
type nudged struct {
	clock.Manual
	hook func()
}

func (n *nudged) AfterFunc(d time.Duration, f func()) clock.Timer {
	return nudgedTimer{n.Manual.AfterFunc(d, f), n}
}

type nudgedTimer struct {
	clock.Timer
	n *nudged
}

func (t nudgedTimer) Reset(d time.Duration) bool {
	running := t.Timer.Reset(d)
	if f := t.n.hook; f != nil {
		t.n.hook = nil
		f()
	}
	return running
}

// TestOutcomeThatWakesTheWindowAndSleepsItself: the window that it has woken falls
// asleep again before it counts. It wakes it once more, so that the worker moves
// on what it has counted.
func TestOutcomeThatWakesTheWindowAndSleepsItself(t *testing.T) {
	n := new(nudged)
	b := madeOn(t, Config{Clock: n, ConsecutiveFailures: Off})
	n.hook = func() {
		n.Advance(10 * time.Second)
		require.False(t, b.ring.Edge().Awake(0), "it is asleep")
	}
	calls(t, b, 1, Failure)
	require.True(t, b.ring.Edge().Awake(0))
	require.Equal(t, 1, n.Timers())
	require.Equal(t, Counts{Calls: 1, Failures: 1}, b.Snapshot().Rolling)
	n.Advance(11 * time.Second)
	require.Zero(t, b.Snapshot().Rolling)
	require.Zero(t, n.Timers())
}
