package atomicbreaker

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A copied Ticket is misuse. It must stay contained: the word keeps its mode,
// window and generation, and changes are announced as before.

func TestReleaseOfNothingInFlightChangesNothing(t *testing.T) {
	for _, m := range []Mode{Auto, Shadow} {
		for _, window := range []int{1, 7, maxWindow} {
			for _, gen := range []uint32{0, 1, 1<<32 - 1} {
				w := pack(phaseHalfOpen, m, 0, window, gen)
				for _, to := range []int{-1, 0, 1, maxWindow + 1} {
					require.Equal(t, w, w.release(to))
				}
			}
		}
	}
}

// copies are copies of one ticket, each with a flag of its own.
func copies(t *Ticket, n int) []*Ticket {
	all := make([]*Ticket, n)
	for i := range all {
		all[i] = &Ticket{breaker: t.breaker, claim: t.claim, start: t.start}
	}
	return all
}

func TestCopiedTicketsStayContainedInEveryStateAndMode(t *testing.T) {
	for name, settle := range settlings {
		for situation, make := range situations {
			for _, c := range []Config{{}, {SlowCallDuration: time.Second}, {WindowCalls: 10}, {Recovery: Recovery{Probes: 3, Successes: 2}}} {
				told := uint32(0)
				c.ConsecutiveFailures = 1000
				c.OnTransition = func(tr Transition) { told = tr.Generation }
				b, manual := make(t, c)
				manual.Advance(0)
				original, err := b.Acquire()
				if err != nil {
					continue
				}
				mode := b.Snapshot().Mode
				settled := 0
				for _, ticket := range copies(&original, 5) {
					before := b.load()
					require.True(t, settle(ticket))
					settled++
					after := b.load()
					require.LessOrEqual(t, after.generation()-before.generation(), uint32(1), "%s, %s", situation, name)
					require.Equal(t, mode, after.mode())
					require.LessOrEqual(t, after.inFlight(), before.inFlight())
				}
				s := b.Snapshot()
				require.GreaterOrEqual(t, s.Succeeded+s.Failed+s.Ignored+s.Cancelled+s.Late, uint64(settled), "%s, %s: each is in the books", situation, name)
				b.SetMode(Auto)
				b.Reset()
				b.Trip()
				require.Equal(t, b.load().generation(), told, "%s, %s: announcements have stopped", situation, name)
			}
		}
	}
}

func TestACopiedProbeThatComesTwiceIsLate(t *testing.T) {
	b, manual := halfOpened(t, Config{})
	first := copies(admitted(t, b), 3)
	require.True(t, first[0].Report(Success))
	before := hidden(b)
	require.True(t, first[1].Report(Failure))
	require.True(t, first[2].Cancel())
	require.Equal(t, before, hidden(b))
	require.Equal(t, uint64(2), b.Snapshot().Late)
	require.Zero(t, b.Snapshot().ProbesInFlight)
	calls(t, b, 1, Success)
	manual.Advance(2 * b.cfg().Recovery.Quiet)
	require.Equal(t, StateClosed, b.State())
}

func TestCopiedProbesFromSeveralGoroutines(t *testing.T) {
	for seed := range seeds(300) {
		var told []Transition
		c := tripAfter(1)
		c.OnTransition = func(tr Transition) { told = append(told, tr) }
		b, _ := halfOpened(t, c)
		all := copies(admitted(t, b), 4)
		together(len(all), func(i int) {
			switch rand.New(rand.NewPCG(seed, uint64(i))).IntN(3) {
			case 0:
				all[i].Report(Success)
			case 1:
				all[i].Report(Ignored)
			default:
				all[i].Cancel()
			}
		})
		w := b.load()
		require.Equal(t, pack(phaseHalfOpen, Auto, 0, w.window(), 2), w)
		require.LessOrEqual(t, w.window(), 1+growth*len(all))
		s := b.Snapshot()
		require.Equal(t, uint64(len(all))+1, s.Succeeded+s.Failed+s.Ignored+s.Cancelled+s.Late)
		b.Trip()
		require.Len(t, told, 3)
	}
}
