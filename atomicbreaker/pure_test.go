package atomicbreaker

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// situations are breakers in every state and mode, each with something under
// way.
var situations = map[string]func(t testing.TB, c Config) (*Breaker, *clock.Manual){
	"closed": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		b, manual := made(t, c)
		calls(t, b, 1, Success)
		return b, manual
	},
	"closed, new":    made,
	"open":           opened,
	"half-open, new": halfOpened,
	"half-open, full": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		b, manual := halfOpened(t, c)
		for b.Ready() {
			require.LessOrEqual(t, b.Snapshot().ProbesInFlight, 1024)
			admitted(t, b)
		}
		return b, manual
	},
	"half-open, a place left": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		b, manual := halfOpened(t, c)
		calls(t, b, 1, Success)
		admitted(t, b)
		return b, manual
	},
	"forced open": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		b, manual := made(t, c)
		b.SetMode(ForcedOpen)
		return b, manual
	},
	"forced closed": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		b, manual := made(t, c)
		b.SetMode(ForcedClosed)
		calls(t, b, 1, Failure)
		return b, manual
	},
	"shadow, closed": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		c.Mode = Shadow
		return made(t, c)
	},
	"shadow, open": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		c.Mode = Shadow
		return opened(t, c)
	},
	"shadow, half-open, full": func(t testing.TB, c Config) (*Breaker, *clock.Manual) {
		c.Mode = Shadow
		b, manual := halfOpened(t, c)
		admitted(t, b)
		return b, manual
	},
}

// eachSituation runs f for every situation under configurations that take
// different paths.
func eachSituation(t *testing.T, f func(t *testing.T, make func() (*Breaker, *clock.Manual))) {
	for kind, c := range map[string]Config{
		"default":   {},
		"last":      {WindowCalls: 50},
		"timed":     {SlowCallDuration: time.Second},
		"classic":   {Recovery: Recovery{Probes: 3, Successes: 2, Concurrent: 2}},
		"listening": {OnTransition: func(Transition) {}},
	} {
		for name, situation := range situations {
			t.Run(kind+"/"+name, func(t *testing.T) {
				f(t, func() (*Breaker, *clock.Manual) { return situation(t, c) })
			})
		}
	}
}

func ask(t testing.TB, b *Breaker) {
	b.Ready()
	b.State()
	b.RetryAfter()
	b.Name()
	s := b.Snapshot()
	_, err := json.Marshal(s)
	require.NoError(t, err)
}

// G5: of two equal breakers one is asked ten thousand questions, and nobody
// can tell which, neither at once nor after any silence.
func TestQuestionsChangeNothing(t *testing.T) {
	eachSituation(t, func(t *testing.T, make func() (*Breaker, *clock.Manual)) {
		for _, silence := range []time.Duration{0, time.Millisecond, 400 * time.Millisecond, time.Second, 11 * time.Second, 31 * time.Second, time.Hour} {
			asked, clockOfAsked := make()
			other, clockOfOther := make()
			before := hidden(asked)
			rounds := 2000 // of five questions each
			if silence != 0 {
				rounds = 50
			}
			for range rounds {
				asked.Ready()
				asked.State()
				asked.RetryAfter()
				asked.Name()
				asked.Snapshot()
			}
			ask(t, asked)
			require.Equal(t, before, hidden(asked))
			require.Equal(t, clockOfOther.Timers(), clockOfAsked.Timers())

			clockOfAsked.Advance(silence / 2)
			ask(t, asked)
			clockOfAsked.Advance(silence - silence/2)
			clockOfOther.Advance(silence)
			require.Equal(t, hidden(other), hidden(asked), "after %v", silence)
			_, err := asked.Acquire()
			_, errOther := other.Acquire()
			require.Equal(t, errOther == nil, err == nil)
			require.Equal(t, inside(other), inside(asked))
		}
	})
}

func TestReadySaysWhatAcquireWouldDo(t *testing.T) {
	eachSituation(t, func(t *testing.T, make func() (*Breaker, *clock.Manual)) {
		b, manual := make()
		for range 40 {
			ready := b.Ready()
			ticket, err := b.Acquire()
			require.Equal(t, ready, err == nil)
			if err == nil && manual.Now()%2 == 0 {
				ticket.Cancel()
			}
			manual.Advance(333 * time.Millisecond)
		}
	})
}
