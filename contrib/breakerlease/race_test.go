package breakerlease

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/stretchr/testify/require"
)

// Whatever happens at once: every lease that is granted ends, once, and is
// told of a success at most once.
func TestEveryGrantEndsOnce(t *testing.T) {
	grants := 0
	for seed := range uint64(40) {
		l := newLaterLease()
		if seed%2 == 0 {
			l.gone = nil
		}
		b, manual := made(t, l, atomicbreaker.Config{ConsecutiveFailures: 2, OnTransition: func(atomicbreaker.Transition) {}},
			Options{Timeout: 5 * time.Millisecond})
		random := rand.New(rand.NewPCG(seed, 9))
		l.script = append(l.script, l.grant, refuse(time.Millisecond), failing, l.grant)
		steps := []func(random *rand.Rand){
			func(*rand.Rand) { manual.Advance(100 * time.Millisecond) },
			func(random *rand.Rand) {
				if ticket, err := b.Acquire(); err == nil {
					ticket.Report(atomicbreaker.Outcome(random.IntN(2)))
				}
			},
			func(*rand.Rand) { StatusOf(b, b.Snapshot()) },
			func(*rand.Rand) {
				if f := l.take(); f != nil {
					f()
				}
			},
			func(random *rand.Rand) {
				switch random.IntN(300) {
				case 0:
					b.Reset()
				case 1:
					b.Trip()
				case 2:
					b.SetMode(atomicbreaker.Mode(random.IntN(4)))
				case 3, 4, 5, 6, 7, 8, 9:
					b.SetMode(atomicbreaker.Auto)
				case 10, 11, 12, 13:
					b.EndCooldown()
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
		b.SetMode(atomicbreaker.Auto)
		b.Reset()
		manual.Advance(0)
		l.run()
		answered, ended := map[Token]int{}, map[Token]int{}
		for _, n := range l.told() {
			switch {
			case n.Alone:
				require.Contains(t, []Verdict{Answered, Recovered}, n.Verdict)
			case n.Verdict == Answered:
				answered[n.Token]++
			default:
				ended[n.Token]++
			}
		}
		s := status(t, b)
		require.False(t, s.Held)
		if s.Error == errStuck.Error() {
			continue // news that was not told: of calls that had not come back
		}
		require.Len(t, ended, int(l.tokens), "leases that were granted, and ended")
		grants += len(ended)
		for token, n := range ended {
			require.Equal(t, 1, n, "lease %v", token)
			require.LessOrEqual(t, answered[token], 1)
		}
	}
	require.Greater(t, grants, 100)
	t.Logf("%d leases", grants)
}
