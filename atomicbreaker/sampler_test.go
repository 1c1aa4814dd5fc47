package atomicbreaker

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atomicbreaker/breaker/clock"
)

// sampling is a breaker that takes samples: one call, and the worker has allowed some.
func sampling(t testing.TB, c Config) (*Breaker, *clock.Manual) {
	t.Helper()
	b, manual := made(t, c)
	calls(t, b, 1, Success)
	manual.Advance(0)
	require.Equal(t, samplesPerTick, b.load().samples())
	return b, manual
}

// slotsInUse is how many samples are out or wait for the worker.
func slotsInUse(b *Breaker) int {
	n := 0
	for i := range b.sampler.Load().slots {
		if b.sampler.Load().slots[i].state.Load() != slotFree {
			n++
		}
	}
	return n
}

// traffic makes calls one after the other, in a steady rate for a while, each of
// which is settled after the latency that answer says; a negative one fails.
func traffic(b *Breaker, manual *clock.Manual, rate float64, length time.Duration, answer func() time.Duration) (failed, refused int) {
	for end := manual.Now() + length; manual.Now() < end; manual.Advance(time.Duration(float64(time.Second) / rate)) {
		t, err := b.Acquire()
		if err != nil {
			refused++
			continue
		}
		latency, o := answer(), Success
		if latency < 0 {
			latency, o = -latency, Failure
			failed++
		}
		manual.AfterFunc(latency, func() { t.Report(o) })
	}
	return failed, refused
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// However a sampled call ends, it is settled once, and its slot is free at the next look.
func TestSampleEndsOnEveryPath(t *testing.T) {
	for name, end := range map[string]func(b *Breaker, manual *clock.Manual){
		"success":   func(b *Breaker, _ *clock.Manual) { x, _ := b.Acquire(); x.Done(context.Background(), nil) },
		"failure":   func(b *Breaker, _ *clock.Manual) { x, _ := b.Acquire(); x.Done(context.Background(), errFailed) },
		"ignored":   func(b *Breaker, _ *clock.Manual) { x, _ := b.Acquire(); x.Report(Ignored) },
		"local":     func(b *Breaker, _ *clock.Manual) { x, _ := b.Acquire(); x.Report(Local) },
		"cancelled": func(b *Breaker, _ *clock.Manual) { x, _ := b.Acquire(); x.Cancel() },
		"answered":  func(b *Breaker, _ *clock.Manual) { x, _ := b.Acquire(); x.Answered(); x.Report(Success) },
		"Do": func(b *Breaker, _ *clock.Manual) {
			_ = b.Do(context.Background(), func(context.Context) error { return nil })
		},
		"panic": func(b *Breaker, _ *clock.Manual) {
			defer func() { _ = recover() }()
			_ = b.Do(context.Background(), func(context.Context) error { panic("f") })
		},
		"Goexit": func(b *Breaker, _ *clock.Manual) {
			alone(func() { _ = b.Do(context.Background(), func(context.Context) error { runtime.Goexit(); return nil }) })
		},
		"abandoned": func(b *Breaker, manual *clock.Manual) { _, _ = b.Acquire(); manual.Advance(sampleOutFor) },
		"after a Reset": func(b *Breaker, _ *clock.Manual) {
			x, _ := b.Acquire()
			b.Reset()
			x.Report(Success)
			_, _ = b.Acquire()
		},
		"out over a Reset": func(b *Breaker, _ *clock.Manual) { _, _ = b.Acquire(); b.Reset(); calls2(b) },
	} {
		t.Run(name, func(t *testing.T) {
			b, manual := sampling(t, Config{})
			for range 3 * sampleSlots { // it would run out of slots
				end(b, manual)
				manual.Advance(longestTick)
				require.Zero(t, slotsInUse(b))
			}
			manual.Advance(time.Hour)
			require.Zero(t, manual.Timers(), "nobody calls: nothing ticks")
		})
	}
}

func calls2(b *Breaker) { x, _ := b.Acquire(); x.Cancel(); b.kick() }

// A ticket that outlives its slot does no harm to the call that has the slot now.
func TestSampleThatHasLostItsSlot(t *testing.T) {
	b, manual := sampling(t, Config{})
	old := admitted(t, b)
	manual.Advance(sampleOutFor)
	next := admitted(t, b)
	require.Equal(t, old.claim.others(), next.claim.others(), "the same slot")
	for _, settle := range []func() bool{func() bool { return old.Report(Ignored) }, next.Cancel} {
		require.True(t, settle())
		manual.Advance(longestTick)
	}
	require.Zero(t, slotsInUse(b))

	// Its latency is learnt all the same.
	old = admitted(t, b)
	for range learntAfter {
		manual.Advance(2 * sampleOutFor)
		require.True(t, old.Report(Success))
		manual.Advance(longestTick)
		old = admitted(t, b)
	}
	require.Equal(t, 2*sampleOutFor, b.Snapshot().Latency.Usual)
}

// No more than so many calls are timed in a tick, however many there are.
func TestSamplesAreFew(t *testing.T) {
	b, manual := made(t, Config{})
	timed := 0
	for range 1000 { // ten seconds of 10,000 calls a second
		for range 100 {
			ticket := admitted(t, b)
			if ticket.claim.has(claimTimed) {
				timed++
			}
			ticket.Report(Success)
		}
		manual.Advance(10 * time.Millisecond)
	}
	require.InDelta(t, 400, timed, 10)
}

// What is usual is the median and the 95th per cent of the successes, to a tenth, for answers of any shape.
func TestUsualLatencyIsLearnt(t *testing.T) {
	for name, draw := range map[string]func(*rand.Rand) float64{
		"constant":    func(*rand.Rand) float64 { return 50 },
		"exponential": func(r *rand.Rand) float64 { return 5 + 45*r.ExpFloat64() },
		"bimodal":     func(r *rand.Rand) float64 { return []float64{10, 10, 10, 200}[r.IntN(4)] * (0.9 + 0.2*r.Float64()) },
		"heavy tail":  func(r *rand.Rand) float64 { return 20 * math.Pow(1-r.Float64(), -1/1.5) },
		"fast":        func(r *rand.Rand) float64 { return 0.02 + 0.02*r.Float64() },
	} {
		t.Run(name, func(t *testing.T) {
			b, manual := sampling(t, Config{Deadline: Off})
			random := rand.New(rand.NewPCG(1, 2))
			next := func() time.Duration { return time.Duration(draw(random) * float64(time.Millisecond)) }
			var all []time.Duration
			for range 100_000 {
				all = append(all, next())
			}
			slices.Sort(all)
			traffic(b, manual, 100, 10*time.Minute, next)
			got := b.Snapshot().Latency
			require.InEpsilon(t, float64(all[len(all)/2]), float64(got.Usual), 0.1)
			if name != "heavy tail" { // of which the 95th per cent is five times the median, and reached slowly
				require.InEpsilon(t, float64(all[len(all)*95/100]), float64(got.High), 0.15)
			}
		})
	}
}

// Nothing is known of latency before there are enough samples.
func TestUsualLatencyNeedsSamples(t *testing.T) {
	b, manual := sampling(t, Config{})
	for n := range learntAfter {
		require.Zero(t, b.Snapshot().Latency, "after %d", n)
		ticket := admitted(t, b)
		manual.Advance(30 * time.Millisecond)
		ticket.Report(Success)
		manual.Advance(longestTick)
	}
	require.Equal(t, Latency{Usual: 30 * time.Millisecond, High: 30 * time.Millisecond}, b.Snapshot().Latency)
}
