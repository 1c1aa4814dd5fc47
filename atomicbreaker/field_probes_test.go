package atomicbreaker_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

func succeed(context.Context) error { return nil }

// However many callers meet the end of the cooldown, as many are admitted as
// there are places: seeing that time is up is not the same as winning.
//
// Field: S035, resilience4j/resilience4j#1432 (2021-05-19).
func TestFieldOneWinnerWhenTheCooldownEnds(t *testing.T) {
	for _, places := range []int{1, 3} {
		c := streakConfig()
		c.Recovery.Probes, c.Recovery.Successes, c.Recovery.Concurrent = places, places, places
		p := examine(t, c)
		for round := range 500 {
			p.Trip()
			var admitted atomic.Int64
			crowd(65, func(i int) {
				if i == 0 {
					p.clock.Advance(5 * time.Second)
					return
				}
				for range 1000 {
					_, err := p.Acquire() // what is admitted goes on running
					if err == nil {
						admitted.Add(1)
					}
					if !errors.Is(err, ab.ErrOpen) {
						return
					}
					runtime.Gosched()
				}
			})
			p.is(ab.StateHalfOpen)
			if _, err := p.Acquire(); err == nil {
				admitted.Add(1) // all callers were too early
			}
			if n := int(admitted.Load()); n > places || n == 0 {
				t.Fatalf("round %d: %d admitted, want at most %d", round, n, places)
			}
			p.Reset()
		}
	}
}

// While a slow probe runs nobody else enters, and the refusal says that the
// breaker is not dead but busy.
//
// Field: S037, jaseci-labs/jac#7909 and #8064 (2026-08; 17 round trips instead of 1);
// danielfm/pybreaker commit 03f38cf (2010-10-20); heznpc/AirMCP#249.
func TestFieldSlowProbeKeepsOthersOut(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(5)
	probe := p.acquire()
	for _, now := range []float64{5, 5.5} {
		p.at(now)
		crowd(9, func(int) {
			if _, err := p.Acquire(); !errors.Is(err, ab.ErrProbeLimit) || errors.Is(err, ab.ErrOpen) {
				t.Errorf("at %v s: %v, want ErrProbeLimit alone", now, err)
			}
		})
	}
	if s := p.Snapshot(); s.RefusedHalfOpen != 18 || s.RefusedOpen != 0 {
		t.Errorf("%d refusals counted as half-open and %d as open, want 18 and 0", s.RefusedHalfOpen, s.RefusedOpen)
	}
	probe.Report(ab.Success)
	p.is(ab.StateClosed)
}

// Concurrent bounds the probes in flight and Probes those of an episode: with
// five of five to succeed, two at a time, never more than two are out, and the
// fifth success closes.
//
// Field: S038, failsafe-lib/failsafe#391 (2025-02-19), #44 (2016-07-29).
func TestFieldConcurrentProbesAndProbesInAll(t *testing.T) {
	c := streakConfig()
	c.Recovery.Probes, c.Recovery.Successes, c.Recovery.Concurrent = 5, 5, 2
	p := examine(t, c)
	p.trip()
	p.at(5)
	out := []*ab.Ticket{p.acquire(), p.acquire()}
	for successes := 1; successes < 5; successes++ {
		p.refused(ab.ErrProbeLimit)
		out[0].Report(ab.Success)
		out = out[1:]
		p.is(ab.StateHalfOpen)
		if successes+len(out) < 5 {
			out = append(out, p.acquire())
		}
	}
	p.refused(ab.ErrProbeLimit) // four successes and the fifth probe under way
	out[0].Report(ab.Success)
	p.is(ab.StateClosed)

	c.Recovery.Probes = 4
	wantFaults(t, c, "Recovery.Successes is 5", "Recovery.Probes 4")
}

// With all of five to succeed the first failure is the verdict. The other four
// are late, and the next probe goes after another cooldown.
//
// Field: S040, sony/gobreaker#53, #49 (2023-06-20), #30 (2020-11-07).
func TestFieldFirstFailureDecidesWhenAllMustSucceed(t *testing.T) {
	c := streakConfig()
	c.Recovery.Probes, c.Recovery.Successes, c.Recovery.Concurrent = 5, 5, 5
	p := examine(t, c)
	p.trip()
	p.at(5)
	var probes []*ab.Ticket
	for range 5 {
		probes = append(probes, p.acquire())
	}
	p.refused(ab.ErrProbeLimit)
	p.at(5.5)
	probes[0].Report(ab.Failure)
	p.is(ab.StateOpen)
	for _, late := range probes[1:] {
		late.Report(ab.Success)
	}
	p.is(ab.StateOpen)
	p.books(settled{failed: 4, late: 4})
	p.at(10.4)
	p.refused(ab.ErrOpen)
	p.at(10.5)
	p.acquire()
}

// Successes of an earlier episode are forgotten when a new one begins.
//
// Field: S042, Shopify/semian#192 (2018-09-13).
func TestFieldEveryEpisodeCountsFromZero(t *testing.T) {
	c := streakConfig()
	c.Recovery.Probes, c.Recovery.Successes = 3, 3
	p := examine(t, c)
	p.trip()
	p.at(5)
	p.call(ab.Success, ab.Success, ab.Failure)
	p.is(ab.StateOpen)
	p.at(10)
	p.call(ab.Success, ab.Success)
	p.is(ab.StateHalfOpen)
	p.call(ab.Success)
	p.is(ab.StateClosed)
}

// A ticket counts once, however often its outcome is reported.
//
// Field: S043, looplj/axonhub#644 review (2026-01-22).
func TestFieldSecondReportOfATicketDoesNothing(t *testing.T) {
	c := streakConfig()
	c.Recovery.Probes, c.Recovery.Successes = 5, 5
	p := examine(t, c)
	p.trip()
	p.at(5)
	probe := p.acquire()
	for i := range 5 {
		if first := probe.Report(ab.Success); first != (i == 0) {
			t.Errorf("report %d returned %v", i+1, first)
		}
	}
	if probe.Cancel() || probe.Done(t.Context(), nil) || probe.Done(t.Context(), errors.New("late")) || probe.ReportAfter(ab.Failure, 1) {
		t.Error("a settled ticket was settled again")
	}
	p.books(settled{succeeded: 1, failed: 3})
	p.places(0, 1)
	p.acquire()
	p.refused(ab.ErrProbeLimit)
}

// Every ticket is counted exactly once under stress, however many times and
// from however many goroutines it is settled.
//
// Field: S045, cep21/circuit#152 (2026-02-27); exaring/hoglet commit 9b76c66 (2026-06-26).
func TestFieldEveryTicketIsCountedOnce(t *testing.T) {
	const goroutines, each = 64, 1563 // a little over 100 000
	c := countingConfig(10*time.Second, 10)
	c.Stripes = 16
	p := examine(t, c)
	var wins [3]atomic.Uint64
	crowd(goroutines, func(i int) {
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		for range each {
			ticket := p.acquire()
			settle := func(o ab.Outcome) {
				if ticket.Report(o) {
					wins[o].Add(1)
				}
			}
			first, second := ab.Outcome(rnd.IntN(3)), ab.Outcome(rnd.IntN(3))
			if rnd.IntN(8) > 0 {
				settle(first)
				settle(second)
				continue
			}
			var wg sync.WaitGroup
			wg.Go(func() { settle(first) })
			settle(second)
			wg.Wait()
		}
	})
	want := settled{succeeded: wins[ab.Success].Load(), failed: wins[ab.Failure].Load(), ignored: wins[ab.Ignored].Load()}
	if want.sum() != goroutines*each {
		t.Errorf("%d tickets were settled by somebody, want %d", want.sum(), goroutines*each)
	}
	p.books(want)
	p.rolling(want.succeeded+want.failed, want.failed)
	p.places(0, 0)
}

// One call is one admission and runs once, in the call that closes the breaker
// too.
//
// Field: S047, resilience4j/resilience4j#1003; danielfm/pybreaker 0.3.2 changelog (2017-06).
func TestFieldOneCallRunsOnce(t *testing.T) {
	runs := 0
	for name, do := range map[string]func(*ab.Breaker) error{
		"method": func(b *ab.Breaker) error {
			return b.Do(t.Context(), func(context.Context) error { runs++; return nil })
		},
		"function": func(b *ab.Breaker) error {
			n, err := ab.Do(t.Context(), b, func(context.Context) (int, error) { runs++; return 7, nil })
			if n != 7 {
				t.Errorf("Do returned %d, want the function's 7", n)
			}
			return err
		},
	} {
		p := examine(t, streakConfig())
		p.trip()
		p.at(5)
		runs = 0
		if err := do(p.Breaker); err != nil || runs != 1 {
			t.Errorf("%s: ran %d times and returned %v, want once and nil", name, runs, err)
		}
		p.is(ab.StateClosed)
		p.books(settled{succeeded: 1, failed: 3})
	}
}
