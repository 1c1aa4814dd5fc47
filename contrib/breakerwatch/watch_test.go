package breakerwatch

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/stretchr/testify/require"
)

const cooldown = 10 * time.Second

// config is of a breaker that trips on its first failure and closes on its
// first success.
func config(name string) atomicbreaker.Config {
	return atomicbreaker.Config{
		Name:                name,
		ConsecutiveFailures: 1,
		Cooldown:            atomicbreaker.Cooldown{Min: cooldown, Max: cooldown, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 1},
	}
}

func (w *Watch) made(t *testing.T, name string) *atomicbreaker.Breaker {
	t.Helper()
	b := atomicbreaker.MustNew(w.Config(config(name)))
	require.NoError(t, w.Add(b))
	return b
}

func call(t *testing.T, b *atomicbreaker.Breaker, took time.Duration, o atomicbreaker.Outcome) {
	t.Helper()
	ticket, err := b.Acquire()
	require.NoError(t, err)
	time.Sleep(took)
	ticket.Report(o)
}

func refusal(t *testing.T, b *atomicbreaker.Breaker) {
	t.Helper()
	_, err := b.Acquire()
	require.Error(t, err)
}

func names(readings []Reading) []string {
	var names []string
	for _, r := range readings {
		names = append(names, r.Name)
	}
	return names
}

// TestWhatSnapshotsDoNotTell goes through an outage and reads it.
func TestWhatSnapshotsDoNotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		b := w.made(t, "b")
		start := time.Now()
		at := func(d time.Duration) time.Time { return start.Add(d) }

		r := w.Read(nil)[0]
		require.Equal(t, start, r.Changed)
		require.True(t, r.LastOutcome.IsZero() && r.LastRefusal.IsZero() && r.Transitions == nil)
		_, told := r.Probes()
		require.False(t, told)

		time.Sleep(time.Second)
		call(t, b, 0, atomicbreaker.Failure) // opens at 1 s
		refusal(t, b)
		time.Sleep(time.Second)
		r = w.Read(nil)[0]
		require.Equal(t, at(time.Second), r.Changed)
		require.Equal(t, at(2*time.Second), r.LastOutcome, "the reading that saw it first")
		require.Equal(t, at(2*time.Second), r.LastRefusal)

		time.Sleep(cooldown) // half-open since 11 s; now 12 s
		call(t, b, 20*time.Millisecond, atomicbreaker.Failure)
		time.Sleep(cooldown + time.Second)
		call(t, b, 0, atomicbreaker.Ignored)
		call(t, b, 30*time.Second, atomicbreaker.Success) // given up meanwhile, and late
		r = w.Read(nil)[0]
		require.Equal(t, at(2*time.Second), r.LastRefusal, "none since")
		require.EqualValues(t, 1, r.Abandoned)
		time.Sleep(cooldown + time.Second)
		call(t, b, time.Millisecond, atomicbreaker.Success)

		r = w.Read(nil)[0]
		const closed, open, halfOpen = atomicbreaker.StateClosed, atomicbreaker.StateOpen, atomicbreaker.StateHalfOpen
		require.Equal(t, []TransitionCount{
			{closed, open, atomicbreaker.ReasonStreak, 1},
			{open, halfOpen, atomicbreaker.ReasonCooldown, 3},
			{halfOpen, open, atomicbreaker.ReasonProbeFailed, 1},
			{halfOpen, open, atomicbreaker.ReasonProbeTimeout, 1},
			{halfOpen, closed, atomicbreaker.ReasonRecovered, 1},
		}, r.Transitions)
		p, _ := r.Probes()
		want := Probes{Succeeded: 1, Failed: 1, Ignored: 1, Sum: 21 * time.Millisecond}
		want.Buckets[0], want.Buckets[slices.Index(ProbeBounds(), 25*time.Millisecond)] = 1, 1
		require.Equal(t, want, p)

		events := w.Events(0)
		require.Len(t, events, 7)
		require.Equal(t, at(time.Second), events[0].Time)
		for i, e := range events {
			require.EqualValues(t, i+1, e.Number)
		}
		require.Equal(t, events[5:], w.Events(5))
		require.Empty(t, w.Events(7))
	})
}

// TestProbesAreSortedByVerdictAndLatency covers each kind and both ends of the
// bounds.
func TestProbesAreSortedByVerdictAndLatency(t *testing.T) {
	var w Watch
	b := w.made(t, "b")
	for _, p := range []atomicbreaker.Probe{
		{Outcome: atomicbreaker.Success, Latency: time.Millisecond},
		{Outcome: atomicbreaker.Success, Latency: time.Millisecond + 1},
		{Outcome: atomicbreaker.Success, Slow: true, Latency: 30 * time.Second},
		{Outcome: atomicbreaker.Failure, Slow: true, Latency: 30*time.Second + 1},
		{Outcome: atomicbreaker.Failure},
		{Outcome: atomicbreaker.Ignored, Slow: true, Latency: time.Hour},
	} {
		p.Name = b.Name()
		w.Probe(p)
	}
	r := w.Read(nil)[0]
	p, ok := r.Probes()
	require.True(t, ok)
	require.Equal(t, []uint64{2, 1, 2, 1}, []uint64{p.Succeeded, p.Slow, p.Failed, p.Ignored})
	require.Equal(t, []uint64{2, 1}, p.Buckets[:2])
	require.Equal(t, []uint64{1, 1}, p.Buckets[len(p.Buckets)-2:])
	require.Equal(t, 60*time.Second+2*time.Millisecond+2, p.Sum)
}

func TestConfigKeepsTheUsersListeners(t *testing.T) {
	var w Watch
	var order []string
	c := config("b")
	c.OnTransition = func(atomicbreaker.Transition) {
		order = append(order, fmt.Sprint("transition, and ", len(w.Events(0)), " known"))
		panic("user")
	}
	c.OnProbe = func(atomicbreaker.Probe) { order = append(order, "probe"); panic("user") }
	b := atomicbreaker.MustNew(w.Config(c))
	require.NoError(t, w.Add(b))
	b.SetMode(atomicbreaker.ForcedOpen)
	b.SetMode(atomicbreaker.Auto) // half-open
	call(t, b, 0, atomicbreaker.Success)
	require.Equal(t, []string{"transition, and 0 known", "transition, and 1 known", "probe", "transition, and 2 known"}, order)
	require.EqualValues(t, 4, b.Snapshot().ListenerPanics)
	r := w.Read(nil)[0]
	p, _ := r.Probes()
	require.EqualValues(t, 1, p.Succeeded, "the user's panic hid the probe")
	require.Len(t, w.Events(0), 3)
}

// TestListenersAreToldOn after the Watch has recorded, until they stop.
func TestListenersAreToldOn(t *testing.T) {
	var w Watch
	b := w.made(t, "b")
	var heard []string
	stop := w.Listen(func(e atomicbreaker.Transition) {
		heard = append(heard, fmt.Sprint("one ", e.To, " ", len(w.Events(0))))
	}, nil)
	stopOther := w.Listen(nil, func(p atomicbreaker.Probe) { heard = append(heard, fmt.Sprint("other ", p.Outcome)) })
	b.SetMode(atomicbreaker.ForcedOpen)
	b.SetMode(atomicbreaker.Auto)
	stop()
	stop()
	call(t, b, 0, atomicbreaker.Success)
	stopOther()
	b.SetMode(atomicbreaker.ForcedOpen)
	b.SetMode(atomicbreaker.Auto)
	call(t, b, 0, atomicbreaker.Success)
	require.Equal(t, []string{"one open 1", "one half-open 2", "other success"}, heard)
}

func TestANameIsReadOnce(t *testing.T) {
	var w Watch
	b := w.made(t, "b")
	twin := atomicbreaker.MustNew(config("b"))
	require.ErrorContains(t, w.Add(twin), `a breaker named "b" is there already`)
	require.ErrorContains(t, w.Add(b), "names must differ")
	other := atomicbreaker.MustNew(config("other"))
	require.ErrorContains(t, w.Add(nil, other), "nil Breaker")
	w.AddAll(slices.Values([]*atomicbreaker.Breaker{twin, b, other, nil, atomicbreaker.MustNew(config("third"))}))

	require.Equal(t, []string{"b", "other", "third"}, names(w.Read(nil)))
	require.Equal(t, Stats{Breakers: 3, Clashes: 1}, w.Stats(), "twin clashes; b and other are the same ones")

	require.True(t, w.Remove(b))
	require.False(t, w.Remove(b))
	require.Equal(t, Stats{Breakers: 3, Clashes: 1}, w.Stats(), "of the last reading")
	readings := w.Read(nil)
	require.Equal(t, []string{"other", "b", "third"}, names(readings))
	require.Same(t, twin, readings[1].Breaker)
}

// TestFieldReplacedBreakerIsTheOneShown: a breaker that takes another's place in
// a Group takes it in the readings too, and leaves them with the Group.
//
// Field: S123, resilience4j/resilience4j#1514 and PR#1515 (2021-08-10), #1116.
func TestFieldReplacedBreakerIsTheOneShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		registry, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{Config: w.Config(config(""))})
		require.NoError(t, err)
		remove := w.AddAll(Values(registry.All()))
		state := func() atomicbreaker.State { return w.Read(nil)[0].State }

		call(t, registry.Get("a"), 0, atomicbreaker.Failure)
		require.Equal(t, atomicbreaker.StateOpen, state())
		require.False(t, w.Read(nil)[0].LastOutcome.IsZero())
		time.Sleep(time.Second)
		require.True(t, registry.Remove("a"))
		registry.Get("a")
		r := w.Read(nil)[0]
		require.Equal(t, atomicbreaker.StateClosed, r.State)
		require.Equal(t, time.Now(), r.Changed)
		require.True(t, r.LastOutcome.IsZero(), "that of another breaker is shown")
		call(t, registry.Get("a"), 0, atomicbreaker.Failure)
		require.Equal(t, atomicbreaker.StateOpen, state())
		registry.Remove("a")
		require.Empty(t, w.Read(nil))

		registry.Get("a")
		require.Len(t, w.Read(nil), 1)
		remove()
		require.Empty(t, w.Read(nil))
	})
}

// TestRecordsAreBounded: neither breakers that are gone nor ones that were
// never added leave anything behind, and neither does never reading.
func TestRecordsAreBounded(t *testing.T) {
	var w Watch
	records := func() (n int) {
		for range w.records.Range {
			n++
		}
		return n
	}
	for i := range 3 * maxStrangers {
		w.Transition(atomicbreaker.Transition{Name: fmt.Sprint("stranger ", i)})
	}
	require.Equal(t, maxStrangers, records())
	require.EqualValues(t, 2*maxStrangers, w.Stats().Unrecorded)
	require.Len(t, w.Events(0), maxEvents)
	require.EqualValues(t, 3*maxStrangers, w.Events(0)[maxEvents-1].Number)

	w.Read(nil)
	require.Equal(t, maxStrangers, records(), "one reading is not enough to tell that a breaker is gone")
	w.Read(nil)
	require.Zero(t, records())

	for round := range 100 { // in and out
		b := w.made(t, fmt.Sprint("guest ", round))
		b.Trip()
		require.Len(t, w.Read(nil), 1)
		w.Remove(b)
	}
	w.Read(nil)
	w.Read(nil)
	require.Zero(t, records())
	require.Zero(t, w.known)
	require.Zero(t, w.strangers.Load())
	w.Transition(atomicbreaker.Transition{Name: "last"})
	require.Equal(t, 1, records())
}

func TestABreakerThatIsReadCanBeCollected(t *testing.T) {
	var w Watch
	registry := map[int]*atomicbreaker.Breaker{1: atomicbreaker.MustNew(w.Config(config("b")))}
	w.AddAll(Values(maps.All(registry)))
	registry[1].Trip()
	w.Read(nil)
	held := weak.Make(registry[1])
	delete(registry, 1)
	for range 10 {
		runtime.GC()
		if held.Value() == nil {
			return
		}
	}
	t.Error("the Watch keeps a breaker that its iterator no longer gives")
}

// TestConcurrentUse is for the race detector, and counts what was told.
func TestConcurrentUse(t *testing.T) {
	const goroutines, rounds = 8, 200
	var w Watch
	b := w.made(t, "shared")
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				w.Transition(atomicbreaker.Transition{Name: "shared", Reason: atomicbreaker.ReasonStreak})
				w.Probe(atomicbreaker.Probe{Name: "shared"})
				switch i % 4 {
				case 0:
					guest := atomicbreaker.MustNew(w.Config(config(fmt.Sprint(g, " ", i))))
					if err := w.Add(guest); err != nil {
						t.Error(err)
					}
					guest.Trip()
					w.Read(nil)
					w.Remove(guest)
				case 1:
					remove := w.AddAll(slices.Values([]*atomicbreaker.Breaker{b}))
					w.Read(nil)
					remove()
				case 2:
					w.Stats()
				case 3:
					w.Events(uint64(i))
				}
			}
		})
	}
	wg.Wait()
	r := w.Read(nil)[0]
	p, _ := r.Probes()
	require.EqualValues(t, goroutines*rounds, r.Transitions[0].Count)
	require.EqualValues(t, goroutines*rounds, p.Succeeded)
	w.Read(nil)
	w.Read(nil)
	require.Equal(t, 1, w.known)
	require.Zero(t, w.strangers.Load())
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprint("breakers=", n), func(b *testing.B) {
			var w Watch
			for i := range n {
				c := atomicbreaker.MustNew(w.Config(atomicbreaker.Config{Name: fmt.Sprint("breaker ", i)}))
				if err := w.Add(c); err != nil {
					b.Fatal(err)
				}
			}
			var buf []Reading
			b.ReportAllocs()
			for b.Loop() {
				buf = w.Read(buf[:0])
			}
		})
	}
}
