package atomicbreaker

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// A beforeProbe answers from a script: the n-th question with the n-th answer,
// further ones with 0.
type beforeProbe struct {
	waits []time.Duration
	asked []CooldownOver
}

func (p *beforeProbe) hold(over CooldownOver) time.Duration {
	over.Breaker = nil
	p.asked = append(p.asked, over)
	if n := len(p.asked); n <= len(p.waits) {
		return p.waits[n-1]
	}
	return 0
}

func TestBeforeProbeHoldsTheBreakerBack(t *testing.T) {
	p := &beforeProbe{waits: []time.Duration{300 * time.Millisecond, 1, time.Hour}}
	b, manual := opened(t, Config{BeforeProbe: p.hold})
	for range 1000 {
		refused(t, b, ErrOpen)
		b.Ready()
		b.Snapshot()
		b.RetryAfter()
	}
	manual.Advance(500*time.Millisecond - 1)
	require.Empty(t, p.asked, "nobody who calls or looks asks")
	manual.Advance(1)
	asked := 1
	for _, wait := range []time.Duration{
		300 * time.Millisecond,
		time.Millisecond, // never shorter
		5 * time.Second,  // never longer than Cooldown.Max
	} {
		require.Equal(t, StateOpen, b.State())
		require.Equal(t, wait, b.RetryAfter())
		require.Equal(t, wait, b.Snapshot().RetryAfter)
		refused(t, b, ErrOpen)
		manual.Advance(wait - 1)
		require.Len(t, p.asked, asked, "before %v are over", wait)
		manual.Advance(1)
		asked++
	}
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, ReasonCooldown, b.Snapshot().Reason)
	const over = 500 * time.Millisecond
	require.Equal(t, CooldownOver{Generation: 1, At: over, Since: over, Cooldown: b.cfg().Cooldown}, p.asked[0])
	require.Equal(t, CooldownOver{Generation: 1, At: over + 301*time.Millisecond, Since: over, Cooldown: b.cfg().Cooldown}, p.asked[2])

	// The next opening asks anew, and shows its own cooldown until then.
	p.waits = nil
	calls(t, b, 1, Failure)
	require.Equal(t, b.cfg().Cooldown.Min, b.RetryAfter().Round(500*time.Millisecond))
	manual.Advance(b.RetryAfter())
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, uint32(3), p.asked[len(p.asked)-1].Generation)
}

// What an earlier opening waited for says nothing of a later one.
func TestWaitOfAnEarlierOpeningIsForgotten(t *testing.T) {
	p := &beforeProbe{waits: []time.Duration{5 * time.Second}}
	b, manual := opened(t, Config{BeforeProbe: p.hold})
	manual.Advance(500 * time.Millisecond)
	require.Equal(t, 5*time.Second, b.RetryAfter())
	require.True(t, b.EndCooldown())
	calls(t, b, 1, Failure)
	require.Equal(t, 500*time.Millisecond, b.RetryAfter())
	manual.Advance(0)
	stale := b.cfg().hold.until.Load()
	require.Equal(t, int64(notHeld), stale)
}

// However long it says, and however often, the breaker is not held back for
// longer than twelve times Cooldown.Max.
func TestBreakerIsNotHeldBackForEver(t *testing.T) {
	asked := 0
	b, manual := opened(t, Config{
		Cooldown:    Cooldown{Max: 2 * time.Second},
		BeforeProbe: func(CooldownOver) time.Duration { asked++; return 7 * time.Second / 4 },
	})
	manual.Advance(500 * time.Millisecond)
	manual.Advance(24*time.Second - 1)
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, 14, asked)
	manual.Advance(1)
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, 14, asked)
}

// A panic lets the breaker go on, and so does the end of the worker's
// goroutine: neither is the end of the breaker.
func TestBeforeProbeThatPanics(t *testing.T) {
	for name, broken := range map[string]func(){"panics": func() { panic("boom") }, "ends its goroutine": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				b := MustNew(Config{
					ConsecutiveFailures: 1, Cooldown: Cooldown{Jitter: Off},
					BeforeProbe: func(CooldownOver) time.Duration { asked++; broken(); return time.Hour },
				})
				for round := range 3 {
					b.Trip()
					time.Sleep(500 * time.Millisecond)
					synctest.Wait()
					require.Equal(t, StateHalfOpen, b.State())
					require.Equal(t, round+1, asked)
					require.Equal(t, uint64(round+1), b.Snapshot().ListenerPanics)
					b.Reset()
				}
			})
		})
	}
}

func TestEndCooldown(t *testing.T) {
	t.Run("open", func(t *testing.T) {
		var told []Transition
		b, manual := opened(t, Config{OnTransition: func(tr Transition) { told = append(told, tr) }})
		require.True(t, b.EndCooldown())
		require.Equal(t, StateHalfOpen, b.State(), "not closed: evidence decides")
		require.Equal(t, 1, b.Snapshot().ProbeWindow)
		require.Equal(t, ReasonEndCooldownCalled, told[len(told)-1].Reason)
		require.False(t, b.EndCooldown())
		manual.Advance(time.Second)
		recoverBy(t, b, manual)
		require.False(t, b.EndCooldown())
	})
	t.Run("forced", func(t *testing.T) {
		b, _ := opened(t, Config{})
		b.SetMode(ForcedOpen)
		require.False(t, b.EndCooldown())
		require.False(t, b.EndCooldownOf(b.Snapshot().Generation))
		require.Equal(t, StateOpen, b.State())
	})
	t.Run("held back", func(t *testing.T) {
		p := &beforeProbe{waits: []time.Duration{time.Second}}
		b, manual := opened(t, Config{BeforeProbe: p.hold})
		manual.Advance(500 * time.Millisecond)
		require.True(t, b.EndCooldownOf(p.asked[0].Generation))
		require.Equal(t, StateHalfOpen, b.State())
		manual.Advance(time.Minute)
		require.Len(t, p.asked, 1)
	})
	t.Run("of a generation that is over", func(t *testing.T) {
		p := &beforeProbe{waits: []time.Duration{time.Second}}
		b, manual := opened(t, Config{BeforeProbe: p.hold})
		manual.Advance(500 * time.Millisecond)
		asked := p.asked[0].Generation
		b.Reset()
		require.False(t, b.EndCooldownOf(asked))
		b.Trip()
		require.False(t, b.EndCooldownOf(asked))
		require.Equal(t, StateOpen, b.State())
		require.Equal(t, 500*time.Millisecond, b.RetryAfter(), "the new cooldown lasts")
	})
}

// Whatever happens at once, at most one change ends an opening, and the
// breaker goes on.
func TestBeforeProbeAmongOthers(t *testing.T) {
	for seed := range seeds(10) {
		var mu sync.Mutex
		over := map[uint32]int{}
		b, manual := made(t, Config{
			ConsecutiveFailures: 2, Cooldown: Cooldown{Min: 50 * time.Millisecond},
			BeforeProbe: func(c CooldownOver) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				if over[c.Generation]++; over[c.Generation] < 3 {
					return 10 * time.Millisecond
				}
				return 0
			},
		})
		var all sync.WaitGroup
		for i := range uint64(4) {
			random := rand.New(rand.NewPCG(seed, i))
			all.Go(func() {
				for range 2000 {
					switch random.IntN(40) {
					case 0:
						b.Trip()
					case 1:
						b.EndCooldownOf(b.Snapshot().Generation)
					case 2:
						b.Reset()
					case 3:
						b.SetMode(Mode(random.IntN(4)))
					case 4, 5, 6:
						b.SetMode(Auto)
					default:
						manual.Advance(time.Millisecond)
						if ticket, err := b.Acquire(); err == nil {
							ticket.Report(Outcome(random.IntN(2)))
						}
					}
				}
			})
		}
		all.Wait()
		b.SetMode(Auto)
		b.Reset()
		b.Trip()
		manual.Advance(time.Minute)
		require.Equal(t, StateHalfOpen, b.State())
		require.NotEmpty(t, over)
	}
}

func TestDroppedBreakerWithABeforeProbeIsCollected(t *testing.T) {
	for state, bring := range realStates {
		t.Run(state, func(t *testing.T) {
			held := func() weak.Pointer[Breaker] {
				return weak.Make(bring(t, Config{BeforeProbe: new(beforeProbe).hold}))
			}()
			waitUntil(t, func() bool { runtime.GC(); return held.Value() == nil })
		})
	}
}
