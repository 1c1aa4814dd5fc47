package atomicbreaker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// made returns a breaker on a Manual clock. Its cooldown is exact unless the
// configuration asks for jitter.
func made(t testing.TB, c Config) (*Breaker, *clock.Manual) {
	t.Helper()
	manual := new(clock.Manual)
	c.Clock = manual
	return madeOn(t, c), manual
}

// madeOn is made for a configuration that brings its clock.
func madeOn(t testing.TB, c Config) *Breaker {
	t.Helper()
	if c.Cooldown.Jitter == 0 {
		c.Cooldown.Jitter = Off
	}
	b, err := New(c)
	require.NoError(t, err)
	return b
}

// admitted claims a ticket from a breaker that has to give one.
func admitted(t testing.TB, b *Breaker) *Ticket {
	t.Helper()
	ticket, err := b.Acquire()
	require.NoError(t, err)
	return &ticket
}

// refused claims a ticket from a breaker that must not give one.
func refused(t testing.TB, b *Breaker, kind error) *RejectedError {
	t.Helper()
	ticket, err := b.Acquire()
	require.ErrorIs(t, err, kind)
	require.False(t, ticket.Report(Failure), "a ticket beside a refusal was settled")
	var rejected *RejectedError
	require.ErrorAs(t, err, &rejected)
	return rejected
}

// calls makes n calls, one after the other, with the same outcome.
func calls(t testing.TB, b *Breaker, n int, o Outcome) {
	t.Helper()
	for range n {
		require.True(t, admitted(t, b).Report(o))
	}
}

// tripAfter is the configuration of a breaker that trips on its n-th failure
// in a row and by nothing else.
func tripAfter(n int) Config {
	return Config{ConsecutiveFailures: n, FailureRate: Off}
}

// opened returns a breaker that failures have opened just now; by one failure,
// unless the configuration says otherwise.
func opened(t testing.TB, c Config) (*Breaker, *clock.Manual) {
	t.Helper()
	if c.ConsecutiveFailures == 0 {
		c.ConsecutiveFailures = 1
	}
	b, manual := made(t, c)
	for n := 0; b.State() == StateClosed; n++ {
		require.Less(t, n, 10_000, "failures do not open it")
		calls(t, b, 1, Failure)
	}
	manual.Advance(0)
	return b, manual
}

// halfOpened returns a breaker at the very instant at which it becomes
// half-open.
func halfOpened(t testing.TB, c Config) (*Breaker, *clock.Manual) {
	t.Helper()
	b, manual := opened(t, c)
	manual.Advance(b.RetryAfter())
	require.Equal(t, StateHalfOpen, b.State())
	return b, manual
}

// recover closes a half-open breaker of the default recovery by its shortest
// way: one success and two quiet ticks, or ten where there is doubt.
func recoverBy(t testing.TB, b *Breaker, manual *clock.Manual) {
	t.Helper()
	calls(t, b, 1, Success)
	manual.Advance(2 * b.cfg().Recovery.Quiet)
	if b.State() != StateClosed {
		calls(t, b, wellBy-1, Success)
		manual.Advance(2 * b.cfg().Recovery.Quiet)
	}
	require.Equal(t, StateClosed, b.State())
}

var errFailed = errors.New("the dependency failed")

// hooked is a clock that runs a function inside its next Now, once: what
// another goroutine does while this one sleeps in the middle of an operation.
type hooked struct {
	clock.Manual
	skip int
	hook func()
	late bool // the reading that ran the hook shows the time before it
}

// onNow sets the function that runs inside the (skip+1)-th reading from now.
func (h *hooked) onNow(skip int, f func()) { h.skip, h.hook = skip, f }

func (h *hooked) Now() time.Duration {
	if h.hook != nil {
		if h.skip == 0 {
			f := h.hook
			h.hook = nil
			before := h.Manual.Now()
			f()
			if h.late {
				return before
			}
		} else {
			h.skip--
		}
	}
	return h.Manual.Now()
}

// unwatched is c with nothing that needs samples: the worker does not watch the breaker
// while it is closed.
func unwatched(c Config) Config {
	c.Deadline, c.Patience, c.ConsecutiveFailures = Off, Off, 1000
	return c
}

// jump puts a breaker into a word, as if a change had led there just now.
func jump(b *Breaker, w word) {
	b.records = records{}
	b.records.start(w, b.cfg().Clock.Now())
	b.word.Store(uint64(w))
}

// counting is a clock that counts how often it is read.
type counting struct {
	clock.Manual
	reads atomic.Int64
}

func (c *counting) Now() time.Duration {
	c.reads.Add(1)
	return c.Manual.Now()
}

// skewed is a Manual clock that shows some other time: that of a clock with
// another epoch, one that steps, or one whose timers are late.
type skewed struct {
	clock.Manual
	by atomic.Int64
}

func (s *skewed) Now() time.Duration { return s.Manual.Now() + time.Duration(s.by.Load()) }

// together runs f on n goroutines that start at once and waits for all.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			f(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// tagsIn returns the digits that follow a prefix in the sources of a
// directory, of its tests or of the rest.
func tagsIn(t testing.TB, dir, prefix string, tests bool) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	tags := make(map[string]bool)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		for rest := string(source); ; {
			var found bool
			_, rest, found = strings.Cut(rest, prefix)
			if !found {
				break
			}
			if rest[0] >= '0' && rest[0] <= '9' {
				tags[rest[:1]] = true
			}
		}
	}
	return tags
}

// seeds returns how many random runs a test of one goroutine makes.
func seeds(n uint64) uint64 {
	if underRace {
		return max(n/10, 1)
	}
	return n
}
