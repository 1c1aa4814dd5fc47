package atomicbreaker

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// story is a listener that checks what it is told: one at a time, in order,
// each from where the last one led.
type story struct {
	t      testing.TB
	inside atomic.Int64
	told   []Transition // read when nobody is telling any more
	during func(Transition)
}

func (s *story) listen(tr Transition) {
	if s.inside.Add(1) != 1 {
		s.t.Error("two announcements at once")
	}
	last := Transition{To: StateClosed}
	if n := len(s.told); n > 0 {
		last = s.told[n-1]
	}
	if tr.From != last.To || tr.From == tr.To || int32(tr.Generation-last.Generation) <= 0 || tr.At < last.At {
		s.t.Errorf("told %+v after %+v", tr, last)
	}
	s.told = append(s.told, tr)
	s.inside.Add(-1)
	if s.during != nil {
		s.during(tr)
	}
}

// complete holds the story against where the breaker is now.
func (s *story) complete(b *Breaker) {
	s.t.Helper()
	require.NotEmpty(s.t, s.told)
	require.Equal(s.t, b.State(), s.told[len(s.told)-1].To, "the last change was not told")
	opened := 0
	for _, tr := range s.told {
		if tr.To == StateOpen {
			opened++
		}
	}
	require.Equal(s.t, b.Snapshot().Opened, uint64(opened))
}

// G8, one goroutine.
func TestGenerationGrowsByOneAndEachChangeIsAnnouncedOnce(t *testing.T) {
	s := &story{t: t}
	b, manual := made(t, Config{ConsecutiveFailures: 3, OnTransition: s.listen, Name: "payments"})
	b.Reset() // closed to closed: a generation, and nothing to tell
	require.Equal(t, uint32(1), b.Snapshot().Generation)
	require.Empty(t, s.told)

	manual.Advance(time.Second)
	calls(t, b, 1, Success)
	calls(t, b, 3, Failure)
	manual.Advance(500 * time.Millisecond)
	calls(t, b, 1, Success)
	calls(t, b, 1, Ignored)
	manual.Advance(2 * time.Second)
	b.Trip()
	manual.Advance(500 * time.Millisecond)
	calls(t, b, 1, Failure)
	b.Reset()
	b.SetMode(ForcedOpen)
	b.SetMode(Auto)
	admitted(t, b)
	manual.Advance(30 * time.Second)

	at := func(d time.Duration) time.Duration { return d * time.Millisecond }
	want := []Transition{
		{From: StateClosed, To: StateOpen, Generation: 2, Reason: ReasonStreak, Counts: Counts{Calls: 4, Failures: 3}, At: at(1000)},
		{From: StateOpen, To: StateHalfOpen, Generation: 3, Reason: ReasonCooldown, At: at(1500)},
		{From: StateHalfOpen, To: StateClosed, Generation: 4, Reason: ReasonRecovered, Counts: Counts{Calls: 1}, At: at(2500)},
		{From: StateClosed, To: StateOpen, Generation: 5, Reason: ReasonTripCalled, At: at(3500)},
		{From: StateOpen, To: StateHalfOpen, Generation: 6, Reason: ReasonCooldown, At: at(4000)},
		{From: StateHalfOpen, To: StateOpen, Generation: 7, Reason: ReasonProbeFailed, Counts: Counts{Calls: 1, Failures: 1}, At: at(4000)},
		{From: StateOpen, To: StateClosed, Generation: 8, Reason: ReasonResetCalled, At: at(4000)},
		{From: StateClosed, To: StateOpen, Generation: 9, Reason: ReasonSetModeCalled, At: at(4000)},
		{From: StateOpen, To: StateHalfOpen, Generation: 10, Reason: ReasonSetModeCalled, At: at(4000)},
		{From: StateHalfOpen, To: StateOpen, Generation: 11, Reason: ReasonProbeTimeout, At: at(34000)},
	}
	for i := range want {
		want[i].Name = "payments"
	}
	require.Equal(t, want, s.told)
	s.complete(b)
}

// G8 under contention: callers, the timer and the operator change the state
// from many goroutines; the story has no gap, no double and no disorder.
func TestAnnouncementsUnderContentionAreInOrderAndComplete(t *testing.T) {
	for _, misbehave := range []string{"", "panics", "re-enters", "yields", "ends its goroutine"} {
		t.Run("listener "+misbehave, func(t *testing.T) {
			s := &story{t: t}
			var b *Breaker
			var panics atomic.Uint64
			s.during = func(tr Transition) {
				switch misbehave {
				case "panics":
					panics.Add(1)
					panic("a listener's own fault")
				case "re-enters":
					if tr.Generation%5 == 0 {
						b.Reset()
						b.Trip()
					}
					b.Snapshot()
				case "yields":
					runtime.Gosched()
				case "ends its goroutine":
					panics.Add(1)
					runtime.Goexit()
				}
			}
			b, manual := made(t, Config{
				ConsecutiveFailures: 2, OnTransition: s.listen, Cooldown: Cooldown{Min: time.Millisecond, Max: 2 * time.Millisecond},
			})
			const goroutines, each = 4, 300
			together(goroutines, func(i int) {
				random := rand.New(rand.NewPCG(uint64(i), 6))
				for range each {
					// On a goroutine of its own: a listener may end the one it is told on.
					alone(func() {
						switch random.IntN(8) {
						case 0:
							b.Reset()
						case 1:
							b.Trip()
						case 2:
							b.SetMode(Mode(random.IntN(4)))
						case 3:
							b.SetMode(Auto)
						case 4:
							manual.Advance(time.Duration(random.IntN(3)) * time.Millisecond)
						default:
							if ticket, err := b.Acquire(); err == nil {
								ticket.Report(Outcome(random.IntN(2)))
							}
						}
					})
				}
			})
			waitUntil(t, func() bool { return b.telling.free() && b.notes.Load() == nil })
			require.Nil(t, b.held, "a note is held back by a gap in the generations")
			s.complete(b)
			require.Equal(t, panics.Load(), b.Snapshot().ListenerPanics)
			require.Equal(t, b.Snapshot().Generation+1, b.next)
		})
	}
}

func TestNoteThatComesEarlyWaitsForTheEarlierOnes(t *testing.T) {
	for _, first := range []uint32{1, 0xfffffffe} { // generations wrap
		var told []uint32
		b, _ := made(t, Config{OnTransition: func(tr Transition) { told = append(told, tr.Generation) }})
		b.next = first
		hang := func(gen uint32, silent bool) {
			b.hang(silent, Transition{Generation: gen})
			b.tellAll()
		}
		hang(first+2, false)
		hang(first+4, false)
		hang(first+1, true)
		require.Empty(t, told)
		hang(first, false)
		require.Equal(t, []uint32{first, first + 2}, told, "a silent one closes the gap and is not told")
		hang(first+3, false)
		require.Equal(t, []uint32{first, first + 2, first + 3, first + 4}, told)
	}
}

// alone runs f on a goroutine of its own and waits for its end.
func alone(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
}

// waitUntil yields until a condition holds.
func waitUntil(t testing.TB, f func() bool) {
	t.Helper()
	for range 10_000_000 {
		if f() {
			return
		}
		runtime.Gosched()
	}
	t.Fatal("waited in vain")
}

func TestListenerMayChangeTheBreaker(t *testing.T) {
	s := &story{t: t}
	var b *Breaker
	depth := 0
	s.during = func(tr Transition) {
		depth++
		require.Equal(t, 1, depth, "announcements nest")
		if tr.To == StateOpen && len(s.told) < 9 {
			b.Reset()
			require.Equal(t, StateClosed, b.State(), "it has its effect at once")
			b.Trip()
		}
		depth--
	}
	b, _ = made(t, Config{ConsecutiveFailures: 1, OnTransition: s.listen})
	calls(t, b, 1, Failure)
	require.Len(t, s.told, 9)
	s.complete(b)
}

// TestSlowListenerDelaysNeitherCallsNorTime stops in the listener and drives the
// breaker through whole outages meanwhile.
func TestSlowListenerDelaysNeitherCallsNorTime(t *testing.T) {
	for _, told := range []State{StateOpen, StateHalfOpen, StateClosed} {
		t.Run("of "+told.String(), func(t *testing.T) {
			release, stopped := make(chan struct{}), make(chan struct{})
			var once sync.Once
			s := &story{t: t}
			s.during = func(tr Transition) {
				if tr.To == told {
					once.Do(func() { close(stopped); <-release })
				}
			}
			b, manual := made(t, Config{ConsecutiveFailures: 1, OnTransition: s.listen})
			var wg sync.WaitGroup
			wg.Go(func() { // is stopped at the first change to told
				calls(t, b, 1, Failure)
				manual.Advance(500 * time.Millisecond)
				calls(t, b, 1, Success)
				manual.Advance(2 * time.Second)
			})
			<-stopped
			require.Equal(t, told, b.State())
			b.Reset()
			for range 3 { // everything but the telling goes on
				calls(t, b, 1, Failure)
				manual.Advance(b.RetryAfter())
				admitted(t, b) // hangs, and is given up
				manual.Advance(30 * time.Second)
				require.Equal(t, ReasonProbeTimeout, b.Snapshot().Reason)
				manual.Advance(b.RetryAfter())
				recoverBy(t, b, manual)
			}
			require.LessOrEqual(t, len(s.told), 3)
			close(release)
			wg.Wait()
			waitUntil(t, func() bool { return b.telling.free() })
			s.complete(b)
			require.Greater(t, len(s.told), 15)
		})
	}
}

// However often somebody asks while one tells, nobody else does: not when a
// number that counted them would have come round to where it began.
func TestNobodyElseTellsHoweverManyAsk(t *testing.T) {
	for _, v := range []int32{math.MinInt32, -3, -2, -1, 1, 2, 3, math.MaxInt32} {
		var b *Breaker
		var depth, deepest, told int
		b, _ = made(t, Config{OnTransition: func(tr Transition) {
			depth++
			deepest = max(deepest, depth)
			told++
			if told == 1 {
				b.telling.v.Store(v)
				for range 3 {
					b.Reset()
					b.Trip()
				}
			}
			depth--
		}})
		b.Trip()
		require.Equal(t, 1, deepest, "a listener runs within another, from %d", v)
		require.Equal(t, 7, told, "from %d", v)
		require.True(t, b.telling.free())
	}
}

func TestPanicInAListenerIsContainedAndCounted(t *testing.T) {
	told := 0
	b, manual := made(t, Config{ConsecutiveFailures: 1, OnTransition: func(Transition) {
		told++
		panic("a listener's own fault")
	}})
	require.NotPanics(t, func() { calls(t, b, 1, Failure) })
	require.NotPanics(t, func() { manual.Advance(500 * time.Millisecond) })
	require.Equal(t, StateHalfOpen, b.State())
	require.NotPanics(t, func() { recoverBy(t, b, manual) })
	require.Equal(t, 3, told)
	require.Equal(t, uint64(3), b.Snapshot().ListenerPanics)
}

func TestListenerThatEndsItsGoroutineEndsNothingElse(t *testing.T) {
	var told atomic.Int64
	b, manual := made(t, Config{ConsecutiveFailures: 1, OnTransition: func(Transition) {
		told.Add(1)
		runtime.Goexit()
	}})
	silence := func() { waitUntil(t, func() bool { return b.telling.free() }) }
	alone(func() { calls(t, b, 1, Failure) })
	silence()
	for range 3 {
		alone(func() { manual.Advance(b.RetryAfter()) })
		silence()
		require.Equal(t, StateHalfOpen, b.State())
		alone(func() { calls(t, b, 1, Failure) })
		silence()
		require.Equal(t, StateOpen, b.State())
		alone(func() { manual.Advance(0) })
	}
	require.Equal(t, int64(7), told.Load())
	require.Equal(t, uint64(7), b.Snapshot().ListenerPanics)
}

func TestTransitionsJoinsListeners(t *testing.T) {
	var told []string
	say := func(s string) func(Transition) { return func(Transition) { told = append(told, s) } }
	b, _ := made(t, Config{ConsecutiveFailures: 1, OnTransition: Transitions(
		say("a"), nil, func(Transition) { told = append(told, "p"); panic("one of many") }, say("b"),
		func(Transition) { panic("another") }, say("c"),
	)})
	require.NotPanics(t, func() { calls(t, b, 1, Failure) })
	require.Equal(t, []string{"a", "p", "b", "c"}, told)
	require.Equal(t, uint64(1), b.Snapshot().ListenerPanics)
	require.NotPanics(t, func() { Transitions()(Transition{}); Transitions(nil)(Transition{}) })
}

func TestCountsInAnEventAreTheEvidence(t *testing.T) {
	var last Transition
	b, manual := made(t, Config{MinimumCalls: 4, SlowCallDuration: time.Second, OnTransition: func(tr Transition) { last = tr }})
	calls(t, b, 2, Success)
	slow := admitted(t, b)
	manual.Advance(time.Second)
	slow.Report(Failure)
	calls(t, b, 1, Failure)
	require.Equal(t, Counts{Calls: 4, Failures: 2, Slow: 1}, last.Counts, "the window that tripped")
	manual.Advance(500 * time.Millisecond)
	require.Equal(t, Counts{}, last.Counts)
	calls(t, b, 3, Success)
	calls(t, b, 2, Failure)
	calls(t, b, 1, Ignored)
	b.Reset()
	require.Equal(t, Counts{Calls: 5, Failures: 2}, last.Counts, "the probes of the episode")
	calls(t, b, 3, Success)
	b.Trip()
	require.Equal(t, Counts{Calls: 3}, last.Counts)
}
