package atomicbreaker

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inside is everything that a breaker goes by and shows, in words, late
// outcomes left out.
func inside(b *Breaker) string {
	hidden := hidden(b)
	s := b.Snapshot()
	s.Late = 0
	return fmt.Sprintf("%s\n%+v", hidden, s)
}

// hidden is what a breaker goes by, read without asking it.
func hidden(b *Breaker) string {
	e := b.ring.Edge()
	return fmt.Sprintf("word %x evidence %x full %x asked %x heard %d fastest %x calls %x %x %x\n"+
		"since %d tripped %d opened %d cool from %d cool %x wait %x streak %x epoch %x kicks %d turned %d counted %v",
		b.word.Load(), b.evidence.Load(), b.full.Load(), b.asked.Load(), b.heard.Load(), b.fastest.v.Load(),
		b.calls.v.Load(), b.failures.v.Load(), b.slow.v.Load(),
		b.since.Load(), b.trippedAt.Load(), b.openedAt.Load(), b.coolFrom.Load(), b.cool.v.Load(), b.wait.v.Load(),
		b.streak.v.Load(), e, b.kicks.Load(), b.turned.Load(), b.ring.Totals())
}

// settlings are all ways to settle a ticket.
var settlings = map[string]func(*Ticket) bool{
	"Done(nil)":       func(t *Ticket) bool { return t.Done(context.Background(), nil) },
	"Done(error)":     func(t *Ticket) bool { return t.Done(context.Background(), errFailed) },
	"Report(Success)": func(t *Ticket) bool { return t.Report(Success) },
	"Report(Failure)": func(t *Ticket) bool { return t.Report(Failure) },
	"Report(Ignored)": func(t *Ticket) bool { return t.Report(Ignored) },
	"ReportAfter":     func(t *Ticket) bool { return t.ReportAfter(Failure, time.Hour) },
	"Cancel":          (*Ticket).Cancel,
}

// G2.
func TestLateOutcomeChangesNothingButItsCounter(t *testing.T) {
	slow := Config{ConsecutiveFailures: 1, SlowCallDuration: time.Millisecond}
	for name, late := range map[string]func(t *testing.T) (*Breaker, []*Ticket){
		"closed, then open": func(t *testing.T) (*Breaker, []*Ticket) {
			b, manual := made(t, slow)
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			calls(t, b, 1, Failure)
			manual.Advance(time.Second / 4)
			return b, tickets
		},
		"closed, then half-open": func(t *testing.T) (*Breaker, []*Ticket) {
			b, manual := made(t, slow)
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			calls(t, b, 1, Failure)
			manual.Advance(time.Second)
			admitted(t, b) // a probe, whose place must not be given away
			return b, tickets
		},
		"closed, then closed again": func(t *testing.T) (*Breaker, []*Ticket) {
			b, manual := made(t, Config{ConsecutiveFailures: 2})
			calls(t, b, 1, Failure)
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			b.Trip()
			manual.Advance(500 * time.Millisecond)
			recoverBy(t, b, manual)
			calls(t, b, 1, Failure)
			return b, tickets
		},
		"closed, then Reset": func(t *testing.T) (*Breaker, []*Ticket) {
			b, _ := made(t, Config{ConsecutiveFailures: 2})
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			b.Reset()
			calls(t, b, 1, Failure)
			return b, tickets
		},
		"last calls, then Reset": func(t *testing.T) (*Breaker, []*Ticket) {
			b, _ := made(t, Config{ConsecutiveFailures: 2, WindowCalls: 10})
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			b.Reset()
			calls(t, b, 1, Failure)
			return b, tickets
		},
		"probe, then open": func(t *testing.T) (*Breaker, []*Ticket) {
			b, manual := halfOpened(t, Config{})
			calls(t, b, 1, Success)
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			b.Trip()
			manual.Advance(100 * time.Millisecond)
			return b, tickets
		},
		"probe, then the next half-open": func(t *testing.T) (*Breaker, []*Ticket) {
			b, manual := halfOpened(t, Config{})
			calls(t, b, 1, Success)
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			b.Trip()
			manual.Advance(b.RetryAfter())
			calls(t, b, 1, Success)
			admitted(t, b)
			return b, tickets
		},
		"probe, given up": func(t *testing.T) (*Breaker, []*Ticket) {
			b, manual := halfOpened(t, Config{})
			tickets := []*Ticket{admitted(t, b)}
			manual.Advance(time.Second) // the silence lets one more in
			tickets = append(tickets, admitted(t, b))
			manual.Advance(29 * time.Second)
			require.Equal(t, ReasonProbeTimeout, b.Snapshot().Reason)
			return b, tickets
		},
		"probe of a trial, then closed": func(t *testing.T) (*Breaker, []*Ticket) {
			b, manual := halfOpened(t, Config{ConsecutiveFailures: 2, Recovery: Recovery{Probes: 3, Successes: 1}})
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			calls(t, b, 1, Success)
			require.Equal(t, StateClosed, b.State())
			calls(t, b, 1, Failure)
			manual.Advance(time.Millisecond)
			return b, tickets
		},
		"any, then forced open": func(t *testing.T) (*Breaker, []*Ticket) {
			b, _ := made(t, slow)
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			b.SetMode(ForcedOpen)
			return b, tickets
		},
		"probe, then forced closed": func(t *testing.T) (*Breaker, []*Ticket) {
			b, _ := halfOpened(t, Config{})
			calls(t, b, 1, Success)
			tickets := []*Ticket{admitted(t, b), admitted(t, b)}
			b.SetMode(ForcedClosed)
			calls(t, b, 1, Failure)
			return b, tickets
		},
	} {
		for how, settle := range settlings {
			t.Run(name+"/"+how, func(t *testing.T) {
				b, tickets := late(t)
				for _, ticket := range tickets {
					before, lateBefore := inside(b), b.Snapshot().Late
					require.True(t, settle(ticket), "this call did settle it")
					require.Equal(t, before, inside(b))
					require.Equal(t, lateBefore+1, b.Snapshot().Late)
				}
			})
		}
	}
}

// G3.
func TestTicketIsSettledOnce(t *testing.T) {
	for first, settle := range settlings {
		for second, again := range settlings {
			for _, kind := range []string{"ordinary", "timed", "probe", "let through by Shadow"} {
				var b *Breaker
				switch kind {
				case "ordinary":
					b, _ = made(t, tripAfter(100))
				case "timed":
					b, _ = made(t, Config{ConsecutiveFailures: 100, SlowCallDuration: time.Second})
				case "probe":
					b, _ = halfOpened(t, Config{Recovery: Recovery{Probes: 9, Successes: 5}})
				default:
					b, _ = opened(t, Config{Mode: Shadow})
				}
				ticket := admitted(t, b)
				require.True(t, settle(ticket), first)
				before := inside(b)
				require.False(t, again(ticket), "%s after %s", second, first)
				require.Equal(t, before, inside(b), "%s after %s of a ticket that was %s", second, first, kind)
			}
		}
	}
}

func TestTicketIsSettledOnceByManyGoroutines(t *testing.T) {
	b, manual := made(t, Config{ConsecutiveFailures: Off, MinimumCalls: 1_000_000_000})
	half, _ := halfOpened(t, Config{})
	ways := make([]func(*Ticket) bool, 0, len(settlings))
	for _, settle := range settlings {
		ways = append(ways, settle)
	}
	const rounds = 500
	for round := range rounds {
		for _, b := range []*Breaker{b, half} {
			ticket := admitted(t, b)
			var won atomic.Int64
			settle := func(i int) func() {
				return func() {
					if ways[(round+i)%len(ways)](ticket) {
						won.Add(1)
					}
				}
			}
			race(round, settle(0), settle(1), settle(2))
			require.Equal(t, int64(1), won.Load())
			if b == half {
				b.Reset()
				b.Trip()
				b.word.Store(uint64(b.load().to(phaseHalfOpen, 1)))
			}
		}
		manual.Advance(time.Millisecond)
	}
	s := b.Snapshot()
	require.Equal(t, uint64(rounds), s.Succeeded+s.Failed+s.Ignored+s.Cancelled+s.Late)
}

// TestEachOfManyTicketsIsSettledOnce has goroutines go through the same tickets
// side by side: they meet at each of them.
func TestEachOfManyTicketsIsSettledOnce(t *testing.T) {
	const n, goroutines = 20_000, 4
	b, _ := made(t, Config{ConsecutiveFailures: Off, MinimumCalls: 1_000_000_000})
	tickets := make([]*Ticket, n)
	for i := range tickets {
		tickets[i] = admitted(t, b)
	}
	var won atomic.Int64
	together(goroutines, func(int) {
		mine := int64(0)
		for _, ticket := range tickets {
			if ticket.Report(Ignored) {
				mine++
			}
		}
		won.Add(mine)
	})
	require.Equal(t, int64(n), won.Load())
	require.Equal(t, uint64(n), b.Snapshot().Ignored)
}

func TestTicketThatWasNeverGivenCountsAsSettled(t *testing.T) {
	for how, settle := range settlings {
		var zero Ticket
		require.False(t, settle(&zero), how)
	}
}

// TestCopyingATicketIsAVetFailure runs go vet on a package that does so.
func TestCopyingATicketIsAVetFailure(t *testing.T) {
	out, err := exec.Command("go", "vet", "./testdata/copied").CombinedOutput()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "go vet found nothing: %v %s", err, out)
	require.Contains(t, string(out), "copies lock value")
	require.Equal(t, 2, strings.Count(string(out), "Ticket contains"), string(out))
}

func TestDroppedTicketOfAClosedBreakerLeavesNoTrace(t *testing.T) {
	b, manual := made(t, Config{})
	before := inside(b)
	for range 1000 {
		admitted(t, b)
	}
	require.Equal(t, before, inside(b))
	require.Zero(t, manual.Timers())
}

func TestOutcomeCountsInTheBucketOfItsSettling(t *testing.T) {
	b, manual := made(t, Config{})
	ticket := admitted(t, b)
	manual.Advance(time.Hour)
	require.True(t, ticket.Report(Failure))
	require.Equal(t, Counts{Calls: 1, Failures: 1}, b.Snapshot().Rolling)
}
