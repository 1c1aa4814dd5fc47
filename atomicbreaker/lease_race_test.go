package atomicbreaker

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// E9: who ends a half-open generation writes why before the kick that follows.
// A worker that sees the end and no reason yet waits for that kick.
func TestLitmusE9WhyALeaseEnded(t *testing.T) {
	litmus{
		allowed: []string{"told that it closed"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			l := new(fakeLease)
			b, manual, _ := leased(t, l, Config{})
			first = func() { manual.Advance(0) }
			second = func() { b.close(b.load()) }
			if stop != nil {
				second = func() {
					w := b.load()
					b.begin(w, w.to(phaseClosed, 0), ReasonRecovered, manual.Now())
					b.kick()
					stop()
					b.cfg.lease.noteEnd(w.generation(), ReasonRecovered)
				}
			}
			return first, second, func() string {
				manual.Advance(0)
				switch told := l.told(); {
				case len(told) == 0:
					return "not told"
				case len(told) == 1 && told[0].Verdict == LeaseRecovered:
					return "told that it closed"
				}
				return "told something else"
			}
		},
	}.run(t)
}

// A worker that sees that a half-open generation is over, and not yet why,
// tells nothing until it is kicked.
func TestWorkerWaitsToLearnWhyALeaseEnded(t *testing.T) {
	l := new(fakeLease)
	b, manual, _ := leased(t, l, Config{})
	w := b.load()
	require.True(t, b.begin(w, w.to(phaseClosed, 0), ReasonRecovered, manual.Now()))
	b.kick()
	manual.Advance(0)
	require.Empty(t, l.told())
	b.cfg.lease.noteEnd(w.generation(), ReasonRecovered)
	b.kick()
	manual.Advance(0)
	require.Equal(t, []LeaseNews{{Token: 1, Verdict: LeaseRecovered}}, l.told())
}

// Whatever happens at once: every lease that is granted ends, once, and is
// told of its first success before its end, at most once.
func TestEveryGrantEndsOnce(t *testing.T) {
	grants := 0
	for seed := range seeds(20) {
		l := new(fakeLease)
		b, manual := made(t, Config{Lease: l, ConsecutiveFailures: 2, LeaseTimeout: 5 * time.Millisecond, OnTransition: func(Transition) {}})
		random := rand.New(rand.NewPCG(uint64(seed), 9))
		l.script = append(l.script, l.grant, refuse(time.Millisecond), failing, l.grant)
		steps := []func(random *rand.Rand){
			func(*rand.Rand) { manual.Advance(100 * time.Millisecond) },
			func(random *rand.Rand) {
				if ticket, err := b.Acquire(); err == nil {
					ticket.Report(Outcome(random.IntN(2)))
				}
			},
			func(*rand.Rand) { b.Snapshot() },
			func(random *rand.Rand) {
				switch random.IntN(300) {
				case 0:
					b.Reset()
				case 1:
					b.Trip()
				case 2:
					b.SetMode(Mode(random.IntN(4)))
				case 3, 4, 5, 6, 7, 8, 9:
					b.SetMode(Auto)
				case 10, 11, 12, 13:
					b.EndCooldown()
				case 14:
					b.Warn(1, time.Second)
				}
			},
		}
		var all sync.WaitGroup
		for _, step := range steps {
			own := rand.New(rand.NewPCG(random.Uint64(), 1))
			all.Go(func() {
				for range 3000 {
					runtime.Gosched()
					step(own)
				}
			})
		}
		all.Wait()
		b.SetMode(Auto)
		b.Reset()
		manual.Advance(0)
		answered, ended := map[uint64]int{}, map[uint64]int{}
		for _, n := range l.told() {
			if n.Verdict == LeaseAnswered {
				answered[n.Token]++
				require.Zero(t, ended[n.Token], "an answer after the end")
			} else {
				ended[n.Token]++
			}
		}
		require.Len(t, ended, int(l.tokens), "leases that were granted, and ended")
		grants += len(ended)
		for token, n := range ended {
			require.Equal(t, 1, n, "lease %d", token)
			require.LessOrEqual(t, answered[token], 1)
		}
		require.False(t, b.Snapshot().Lease.Held)
	}
	require.Greater(t, grants, 1)
	t.Logf("%d leases", grants)
}

// Whoever ends a half-open generation may sleep before it says why, until
// another lease is granted. The first one ends all the same, and once.
func TestLeaseEndsThoughNobodySaysWhyBeforeTheNext(t *testing.T) {
	l := new(fakeLease)
	b, manual, _ := leased(t, l, Config{})
	w := b.load()
	require.True(t, b.begin(w, w.to(phaseClosed, 0), ReasonRecovered, manual.Now())) // and sleeps
	b.Trip()
	manual.Advance(500 * time.Millisecond)
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, []LeaseNews{{Token: 1}}, l.told())
	b.cfg.lease.noteEnd(w.generation(), ReasonRecovered)
	b.kick()
	manual.Advance(0)
	require.Len(t, l.told(), 1)
	require.True(t, b.Snapshot().Lease.Held)
}
