package atomicbreaker_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// A listener may ask the breaker anything, by whatever way the change that it
// hears of came about.
//
// Field: S048, sony/gobreaker#37 and PR#119 (2026-05-09); gastownhall/gascity#4839
// (2026-07-29).
func TestFieldListenerMayAsk(t *testing.T) {
	var p *patient
	c := streakConfig()
	c.OnTransition = func(tr ab.Transition) {
		s := p.Snapshot()
		if p.State() != tr.To || s.State != tr.To || s.Generation != tr.Generation || p.Name() != tr.Name {
			t.Errorf("told of %+v, and the breaker says %v, %+v", tr, p.State(), s)
		}
		p.Ready()
		p.RetryAfter()
	}
	within(t, func() {
		p = examine(t, c)
		p.trip()
		p.at(5)
		p.acquire().Done(context.Background(), nil)
		p.trip()
		p.at(10)
		p.acquire() // is given up
		p.at(12)
		p.Reset()
		p.Trip()
		p.SetMode(ab.ForcedClosed)
		p.SetMode(ab.ForcedOpen)
		p.SetMode(ab.Auto)
		p.Trip()
	})
	p.story("open(streak) half-open(cooldown) closed(recovered) open(streak) half-open(cooldown) open(probe-timeout)" +
		" closed(reset-called) open(trip-called) closed(set-mode-called) open(set-mode-called) half-open(set-mode-called) open(trip-called)")
}

// A listener may change the breaker: what it causes is announced when it has
// returned, so that it is never called within itself, and the events follow on
// each other.
//
// Field: S049, failsafe-go/failsafe-go commit d1f1d81 (2025-12-13); cep21/circuit#159
// (2026-08-18).
func TestFieldListenerMayChangeTheBreaker(t *testing.T) {
	var p *patient
	var inside, calls int
	c := streakConfig()
	c.OnTransition = func(tr ab.Transition) {
		if inside++; inside > 1 {
			t.Error("the listener is called within itself")
		}
		defer func() { inside-- }()
		if calls++; calls > 20 {
			return
		}
		switch tr.To {
		case ab.StateOpen:
			if tr.Reason == ab.ReasonStreak {
				p.Reset()
			}
		case ab.StateClosed:
			p.call(ab.Success)
		case ab.StateHalfOpen:
			p.Trip()
		}
	}
	within(t, func() {
		p = examine(t, c)
		p.calls(3, ab.Failure)
		p.is(ab.StateClosed)
		p.Trip()
		p.at(5)
		p.is(ab.StateOpen)
	})
	p.story("open(streak) closed(reset-called) open(trip-called) half-open(cooldown) open(trip-called)")
	chained(t, p.events())
}

// A listener that does not return holds back the announcements and the one
// caller that announces. Nobody else waits, and nothing is lost.
//
// Field: S050, cockroachdb/circuitbreaker#4 (commit 4379391, 2019-01-08).
func TestFieldBlockedListenerHoldsBackOneCaller(t *testing.T) {
	unread := make(chan ab.Transition, 1)
	var p *patient
	c := streakConfig()
	c.OnTransition = func(tr ab.Transition) { unread <- tr }
	p = examine(t, c)
	p.Trip() // fills the channel
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		p.Reset() // blocks in the listener, now or when another has announced it
	}()
	within(t, func() {
		for len(p.events()) < 2 {
			runtime.Gosched() // until the listener has the event and blocks on the channel
		}
		crowd(3, func(int) {
			for range 250 {
				p.Trip()
				p.Reset()
			}
		})
	})
	select {
	case <-stuck:
		t.Error("the listener did not block")
	default:
	}
	within(t, func() {
		for {
			select {
			case <-unread:
			case <-stuck:
				return
			}
		}
	})
	chained(t, p.events())
	last := p.events()[len(p.events())-1]
	if s := p.Snapshot(); s.State != last.To {
		t.Errorf("the last event says %v and the breaker is %v", last.To, s.State)
	}
}

// Under contention every change is announced once, in order, and nothing else
// is: each event begins where the one before ended, and their generations have
// no gap.
//
// Field: S052, cep21/circuit#151 and #159 (2026).
func TestFieldEventsAreOrderedUnderContention(t *testing.T) {
	p := examine(t, streakConfig())
	crowd(64, func(i int) {
		rnd := rand.New(rand.NewPCG(2, uint64(i)))
		for range 2000 {
			if ticket, err := p.Acquire(); err != nil {
				p.clock.Advance(500 * time.Millisecond)
			} else {
				ticket.Report(ab.Outcome(rnd.IntN(3)))
			}
		}
	})
	told := p.events()
	chained(t, told)
	if n := int(p.Snapshot().Generation); n != len(told) || n < 10 {
		t.Errorf("%d events of %d changes, want all of at least 10", len(told), n)
	}
}

// What changes nothing is not announced: neither successes nor a Reset of a
// closed breaker, nor a mode or command that it has obeyed already.
//
// Field: S054, App-vNext/Polly#96 (2016-03-17); rubyist/circuitbreaker commit 17d0e75
// (2014-08-20).
func TestFieldNothingChangedNothingAnnounced(t *testing.T) {
	p := examine(t, streakConfig())
	p.calls(100, ab.Success)
	p.Reset()
	p.Reset()
	p.SetMode(ab.Auto)
	p.SetMode(ab.Shadow)
	p.SetMode(ab.Auto)
	p.story("")
	p.Trip()
	p.Trip()
	p.story("open(trip-called)")
}

// An event carries the evidence for it, as it was before it was cleared: the
// window that tripped, or the probes of the episode.
//
// Field: S056, sony/gobreaker#72 (2024-11-11); failsafe-go/failsafe-go#59 (2024-07-18);
// ccadllc/cedi-circuitbreakers#5 (2017-01-04).
func TestFieldEventCarriesItsEvidence(t *testing.T) {
	c := rateConfig()
	c.Recovery.Probes, c.Recovery.Successes = 3, 3
	p := examine(t, c)
	p.calls(5, ab.Success)
	p.calls(5, ab.Failure)
	p.at(5)
	p.calls(3, ab.Success)
	told := p.events()
	for i, want := range []ab.Counts{{Calls: 10, Failures: 5}, {}, {Calls: 3}} {
		if told[i].Counts != want {
			t.Errorf("the event of %v carries %+v, want %+v", told[i].To, told[i].Counts, want)
		}
	}
	p.story("open(failure-rate) half-open(cooldown) closed(recovered)")
	p.rolling(0, 0)
}
