package atomicbreaker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// epochs are instants that a clock may begin at.
var epochs = []time.Duration{
	math.MinInt64 + 24*time.Hour, math.MinInt64 / 2, -1000 * time.Hour, -time.Second, -1, 0, 1, time.Hour, math.MaxInt64 / 2,
	math.MaxInt64 - 100_000*time.Hour,
}

// beginning returns a clock that begins at an instant.
func beginning(at time.Duration) *skewed {
	s := new(skewed)
	s.by.Store(int64(at))
	return s
}

// life plays a breaker's life from a seed, on a clock that begins at epoch, and
// returns what is seen of it, instants counted from the epoch. The clock steps
// if steps is set.
func life(t *testing.T, c Config, epoch time.Duration, seed uint64, steps bool) (seen []string) {
	random := rand.New(rand.NewPCG(seed, 14))
	s := beginning(epoch)
	say := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	c.Clock = s
	c.OnTransition = func(tr Transition) {
		tr.At -= epoch
		say("%+v", tr)
	}
	b := madeOn(t, c)
	var out []*Ticket
	modes := []Mode{Auto, Auto, Auto, ForcedOpen, ForcedClosed, Shadow}
	for range 400 {
		switch p := random.IntN(40); {
		case p < 14:
			ticket, err := b.Acquire()
			say("acquire %v", err)
			if err == nil {
				out = append(out, &ticket)
			}
		case p < 26 && len(out) > 0:
			i := random.IntN(len(out))
			out[i].Report(Outcome(random.IntN(3)))
			out = append(out[:i], out[i+1:]...)
		case p == 26:
			b.Trip()
		case p == 27:
			b.Reset()
		case p == 28:
			b.SetMode(modes[random.IntN(len(modes))])
		case p == 29 && steps:
			s.by.Add(int64(random.IntN(20)-10) * int64(time.Second))
		default:
			s.Advance(time.Duration(random.IntN(1200)) * time.Millisecond)
		}
		shot := b.Snapshot()
		shot.At -= epoch
		shot.Since -= epoch
		rest := b.rest()
		say("%+v idle %v keep %v state %v ready %v retry %v", shot, rest.idle, rest.keep, b.State(), b.Ready(), b.RetryAfter())
	}
	return seen
}

// TestLifeDoesNotDependOnWhereTheClockBegins: no instant is special, not zero,
// and none is taken to come before all others.
func TestLifeDoesNotDependOnWhereTheClockBegins(t *testing.T) {
	for name, c := range map[string]Config{
		"default": {ConsecutiveFailures: 3},
		"timed":   {ConsecutiveFailures: 3, SlowCallDuration: time.Second},
		"classic": {ConsecutiveFailures: 3, Recovery: Recovery{Probes: 3, Successes: 2}},
		"factor":  {ConsecutiveFailures: 3, Cooldown: Cooldown{Factor: 2}},
	} {
		for seed := range seeds(30) {
			for _, steps := range []bool{false, true} {
				want := life(t, c, 0, seed, steps)
				for _, epoch := range epochs {
					for i, got := range life(t, c, epoch, seed, steps) {
						require.Equal(t, want[i], got, "%s, seed %d, from %d", name, seed, epoch)
					}
				}
			}
		}
	}
}

func TestClocksThatJumpFarStopNothing(t *testing.T) {
	for _, from := range epochs {
		for _, to := range epochs {
			if passed(from, to) == never {
				continue // longer than a Duration; see passed
			}
			s := beginning(from)
			b := madeOn(t, Config{Clock: s, ConsecutiveFailures: 1})
			calls(t, b, 1, Failure)
			s.Advance(0)
			s.by.Store(int64(to)) // forward: the cooldown is over; back: it is not
			b.kick()
			s.Advance(0)
			if passed(from, to) >= 500*time.Millisecond {
				require.Equal(t, StateHalfOpen, b.State(), "from %d to %d", from, to)
			} else {
				require.Equal(t, StateOpen, b.State(), "from %d to %d", from, to)
				require.GreaterOrEqual(t, b.RetryAfter(), time.Millisecond)
			}
			s.by.Store(int64(from)) // as it was
			b.kick()
			s.Advance(time.Second)
			require.Equal(t, StateHalfOpen, b.State(), "from %d to %d and back", from, to)
		}
	}
}

func TestInstantsDoNotOverflow(t *testing.T) {
	const least, most = time.Duration(math.MinInt64), time.Duration(math.MaxInt64)
	require.Equal(t, never, later(most, 1))
	require.Equal(t, never, later(1, most))
	require.Equal(t, time.Duration(-1), later(least, most))
	require.Equal(t, time.Duration(3), later(1, 2))
	require.Equal(t, never, passed(least, most))
	require.Equal(t, never, passed(-2, most))
	require.Equal(t, most, passed(0, most))
	require.Zero(t, passed(most, least))
	require.Zero(t, passed(5, 5))
	require.Equal(t, time.Duration(2), passed(-1, 1))
}

func TestGroupWorksWhereverTheClockBegins(t *testing.T) {
	play := func(epoch time.Duration) (seen []string) {
		s := beginning(epoch)
		g, err := NewGroup[int](GroupConfig[int]{Config: Config{Clock: s, Cooldown: Cooldown{Jitter: Off}}, Max: 3, IdleTime: time.Minute})
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(14, 14))
		for range 500 {
			b := g.Get(random.IntN(6))
			ticket, err := b.Acquire()
			if err == nil {
				ticket.Report(Outcome(random.IntN(2)))
			}
			s.Advance(time.Duration(random.IntN(30)) * time.Second)
			seen = append(seen, fmt.Sprintf("%+v %v", g.Stats(), err))
		}
		return seen
	}
	want := play(0)
	for _, epoch := range epochs {
		require.Equal(t, want, play(epoch), "from %d", epoch)
	}
}

var _ clock.Clock = (*skewed)(nil)
