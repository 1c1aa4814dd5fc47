package atomicbreaker_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// A probe that says nothing about health gives its place back, so that places
// in use and places free always add up to the limit.
//
// Field: S001, resilience4j/resilience4j#544 (2019-07-15).
func TestFieldIgnoredProbeGivesItsPlaceBack(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, end := range map[string]func(*ab.Ticket) bool{
		"ignored":   func(b *ab.Ticket) bool { return b.Report(ab.Ignored) },
		"cancelled": func(b *ab.Ticket) bool { return b.Cancel() },
		"abandoned": func(b *ab.Ticket) bool { return b.Done(cancelled, context.Canceled) },
	} {
		t.Run(name, func(t *testing.T) {
			c := streakConfig()
			c.Recovery.Probes, c.Recovery.Successes, c.Recovery.Concurrent = 2, 2, 2
			p := examine(t, c)
			p.trip()
			p.at(5)
			p.places(0, 2)
			first, second := p.acquire(), p.acquire()
			p.places(2, 2)
			first.Report(ab.Success)
			if !end(second) {
				t.Fatal("the second probe was not settled")
			}
			p.is(ab.StateHalfOpen)
			p.places(0, 1) // one success still to come, one probe left for it
			third := p.acquire()
			p.refused(ab.ErrProbeLimit)
			third.Report(ab.Success)
			p.is(ab.StateClosed)
		})
	}
}

// A probe that comes back after it was given up moves neither the state nor
// the place of the probe that took over.
//
// Field: S003, diegosouzapw/OmniRoute#13836 (2026-09-16; one breaker stuck six days, about 50
// 000 local refusals).
func TestFieldProbeGivenUpFreesNobodysPlace(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(5)
	lost := p.acquire()
	p.at(7)
	p.is(ab.StateOpen)
	p.refused(ab.ErrOpen)
	if got := p.Snapshot().Abandoned; got != 1 {
		t.Errorf("%d probes counted as given up, want 1", got)
	}
	p.at(12)
	second := p.acquire()
	if !lost.Report(ab.Success) {
		t.Error("the lost probe's ticket was not settled by its own outcome")
	}
	p.books(settled{failed: 3, late: 1})
	p.is(ab.StateHalfOpen)
	p.places(1, 1)
	p.refused(ab.ErrProbeLimit)
	second.Report(ab.Success)
	p.is(ab.StateClosed)
	p.story("open(streak) half-open(cooldown) open(probe-timeout) half-open(cooldown) closed(recovered)")
}

// A probe is judged by itself: the minimum of calls is a matter of the closed
// state.
//
// Field: S004, nodeshift/opossum#276 (2019-02-20).
func TestFieldFailedProbeReopensBelowTheMinimum(t *testing.T) {
	c := rateConfig()
	c.Window = 3 * time.Second
	p := examine(t, c)
	p.calls(10, ab.Failure)
	p.at(5)
	p.call(ab.Failure)
	p.is(ab.StateOpen)
	p.at(5.1)
	p.refused(ab.ErrOpen)
	p.at(10)
	p.acquire()
}

// A failed probe reopens however many successes lie in the window behind it.
//
// Field: S005, nodeshift/opossum#119 and PR#120 (2017-12-12).
func TestFieldFailedProbeReopensWhateverTheWindowHeld(t *testing.T) {
	c := rateConfig()
	c.Window = time.Minute
	p := examine(t, c)
	var long []*ab.Ticket
	for range 20 {
		long = append(long, p.acquire())
	}
	p.calls(10, ab.Failure)
	p.is(ab.StateOpen)
	p.at(2)
	for _, ticket := range long {
		ticket.Report(ab.Success)
	}
	p.books(settled{failed: 10, late: 20})
	p.at(5)
	p.call(ab.Failure)
	p.is(ab.StateOpen)
	p.at(5.1)
	p.refused(ab.ErrOpen)
	p.at(10)
	p.acquire()
}

// A probe that was vetoed behind the breaker costs nothing if it is cancelled,
// and its deadline if that is forgotten.
//
// Field: S007, alibaba/sentinel-golang#202 (commit d12f611, 2020-08-24).
func TestFieldVetoedProbeIsNoAnswer(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(5)
	p.acquire().Cancel()
	p.books(settled{failed: 3, cancelled: 1})
	p.acquire() // the next one is vetoed too, and forgotten
	p.refused(ab.ErrProbeLimit)
	p.at(7)
	p.is(ab.StateOpen)
	p.at(12)
	p.call(ab.Success)
	p.is(ab.StateClosed)
}

// A question never takes a place: however often it is asked, the next caller
// is the first probe.
//
// Field: S009, linkerd/linkerd2-proxy#2371 (2023-03-31); Netflix/Hystrix#1568 (2017-05) split
// the two for the same reason.
func TestFieldQuestionsTakeNoPlace(t *testing.T) {
	law := func(ready func(*patient) bool) error {
		p := examine(t, streakConfig())
		p.trip()
		p.at(5)
		before := p.Snapshot()
		for range 100 {
			if !ready(p) {
				return errors.New("a breaker that would admit a call says it is not ready")
			}
			p.State()
			p.Name()
			p.RetryAfter()
			if _, err := json.Marshal(p.Snapshot()); err != nil {
				t.Fatal(err)
			}
		}
		if after := p.Snapshot(); after != before {
			t.Errorf("asking changed the snapshot from %+v to %+v", before, after)
		}
		p.acquire()
		if ready(p) {
			return errors.New("ready with the only place taken")
		}
		p.refused(ab.ErrProbeLimit)
		return nil
	}
	if err := law((*patient).Ready); err != nil {
		t.Error(err)
	}
	claims := func(p *patient) bool {
		_, err := p.Acquire()
		return err == nil
	}
	if law(claims) == nil {
		t.Error("a question that takes the place goes unnoticed")
	}
}

// An outcome that the user's rule leaves open gives the place back and leaves
// the breaker half-open, for the next caller to probe at once.
//
// Field: S010, App-vNext/Polly#1991 (commit de6eb20f, 2024-02-24).
func TestFieldUnclassifiedProbeLeavesTheNextOneToProbe(t *testing.T) {
	odd := errors.New("neither well nor ill")
	c := streakConfig()
	c.Classify = func(err error) ab.Outcome {
		if err == odd {
			return ab.Ignored
		}
		return ab.Failure
	}
	p := examine(t, c)
	p.trip()
	p.at(5)
	p.acquire().Done(context.Background(), odd)
	p.is(ab.StateHalfOpen)
	p.acquire().Done(context.Background(), odd)
	p.at(10)
	p.is(ab.StateHalfOpen)
	p.acquire().Done(context.Background(), nil)
	p.is(ab.StateClosed)
}

// A caller who cancels a probe gives its place back at once.
//
// Field: S011, Netflix/Hystrix#1621 (2017-07-06) and #1723 (2017-11-30).
func TestFieldCallerMayCancelAProbe(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(5)
	ctx, cancel := context.WithCancel(t.Context())
	err := p.Do(ctx, func(ctx context.Context) error {
		p.at(5.5)
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Do returned %v, want the cancellation", err)
	}
	p.is(ab.StateHalfOpen)
	p.call(ab.Success)
	p.is(ab.StateClosed)
	p.books(settled{succeeded: 1, failed: 3, ignored: 1})
}

// Ignored outcomes use up neither the number of probes nor the time for them.
//
// Field: S012, erpc/erpc#1118 (2026-09-01; a cache with about 80% misses latched open at 1.7%
// real failures).
func TestFieldIgnoredProbesUseUpNoBudget(t *testing.T) {
	for _, pause := range []float64{0.01, 1, 60} {
		c := streakConfig()
		c.Recovery.Probes, c.Recovery.Successes = 5, 5
		p := examine(t, c)
		p.trip()
		calls := 0
		for now := 5.0; p.State() != ab.StateClosed && calls < 100; now += pause {
			p.at(now)
			calls++
			if calls%5 == 0 {
				p.call(ab.Success)
			} else {
				p.call(ab.Ignored)
			}
		}
		if calls != 25 {
			t.Errorf("with a call every %v s it took %d calls to close, want 25", pause, calls)
		}
	}
}
