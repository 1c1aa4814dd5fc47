package atomicbreaker_test

import (
	"errors"
	"net"
	"testing"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// A breaker that is forced open lets nobody through, a probe neither, and says
// that it is forced.
//
// Field: S175, cep21/circuit#159 (2026-08-18); resilience4j/resilience4j#991.
func TestFieldForcedOpenSendsNoProbe(t *testing.T) {
	p := examine(t, streakConfig())
	p.SetMode(ab.ForcedOpen)
	for second := range 100 {
		p.at(float64(second))
		p.refused(ab.ErrForced)
	}
	if s := p.Snapshot(); s.RefusedForced != 100 || s.Refused() != 100 || s.RetryAfter != 0 || p.clock.Timers() != 0 {
		t.Errorf("after 100 refusals, with %d timers: %+v", p.clock.Timers(), s)
	}
	p.story("open(set-mode-called)")
	p.SetMode(ab.Auto)
	p.is(ab.StateHalfOpen) // evidence decides, not a flood
	p.places(0, 1)
}

// To trip an open breaker is no news: the cooldown goes on as it was, and
// nothing is announced.
//
// Field: S177, nodeshift/opossum#385 and #386 (2019-11-08).
func TestFieldTripOfAnOpenBreakerDoesNothing(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(2)
	before := p.Snapshot()
	p.Trip()
	if after := p.Snapshot(); after != before {
		t.Errorf("Trip of an open breaker changed\n%+v to\n%+v", before, after)
	}
	p.story("open(streak)")
	p.at(5)
	p.acquire()
}

// A command to a forced breaker is obeyed when the force is lifted, whatever
// state it was in before, and not announced until then.
//
// Field: S178, cep21/circuit#159 (2026-08-18).
func TestFieldCommandsToAForcedBreakerAreRemembered(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.SetMode(ab.ForcedClosed)
	p.Reset()
	p.SetMode(ab.Auto)
	p.is(ab.StateClosed)
	p.story("open(streak) closed(set-mode-called)")

	p = examine(t, streakConfig())
	p.SetMode(ab.ForcedOpen)
	p.Reset()
	p.refused(ab.ErrForced)
	p.SetMode(ab.Auto)
	p.is(ab.StateClosed)
	p.story("open(set-mode-called) closed(set-mode-called)")

	p = examine(t, streakConfig())
	p.SetMode(ab.ForcedClosed)
	p.Trip()
	p.story("")
	p.acquire()
	p.SetMode(ab.Auto)
	p.refused(ab.ErrOpen)
	p.story("open(set-mode-called)")
	p.at(5)
	p.call(ab.Success)
	p.is(ab.StateClosed)
}

// A Reset forgets all failures: the next one is the first.
//
// Field: S179, lidge-jun/opencodex#4728 review (2026-09-16).
func TestFieldResetForgetsFailures(t *testing.T) {
	c := streakConfig()
	c.ConsecutiveFailures = 5
	p := examine(t, c)
	p.trip()
	p.Reset()
	p.is(ab.StateClosed)
	p.rolling(0, 0)
	p.call(ab.Failure)
	p.is(ab.StateClosed)
	p.rolling(1, 1)
	p.calls(3, ab.Failure)
	p.is(ab.StateClosed)
	p.call(ab.Failure)
	p.is(ab.StateOpen)
}

// Any number of Resets of a closed breaker leave no trace in what it tells
// later: why it changed last, and why it opens next.
//
// Field: S179, lidge-jun/opencodex#4728 review (2026-09-16).
func TestFieldManyResetsKeepTheReason(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.Reset()
	for _, resets := range []int{1, 32_768, 40_000, 65_536} {
		for range resets {
			p.Reset()
		}
		if got := p.Snapshot().Reason; got != ab.ReasonResetCalled {
			t.Errorf("after %d more resets the last change is told to be by %v, want reset-called", resets, got)
		}
		p.trip()
		if got := p.Snapshot().Reason; got != ab.ReasonStreak {
			t.Errorf("after %d more resets it opened by %v, want streak", resets, got)
		}
		p.Reset()
	}
}

// A refusal is told from a failed call, and one kind from the other: it has
// the breaker's name and the time that is left, and is neither a timeout nor
// temporary to those who ask the old way.
//
// Field: S187, projectbeskar/virtrigaud#70 (2026-05-21); failsafe-lib/failsafe#119
// (2017-12-29); juspay/neurolink#899.
func TestFieldRefusalTellsARetryLoopToStop(t *testing.T) {
	c := streakConfig()
	c.Name = "billing"
	p := examine(t, c)
	refusal := func(kind error) *ab.RejectedError {
		t.Helper()
		p.refused(kind)
		_, err := p.Acquire()
		r, ok := errors.AsType[*ab.RejectedError](err)
		if !ok || r.Name() != "billing" {
			t.Fatalf("refused with %#v, want a RejectedError of billing", err)
		}
		if netErr, ok := errors.AsType[net.Error](err); ok {
			t.Errorf("%v is a net.Error: %v", err, netErr)
		}
		var temporary interface{ Temporary() bool }
		if errors.As(err, &temporary) {
			t.Errorf("%v says whether it is temporary", err)
		}
		return r
	}
	p.trip()
	p.at(1)
	r := refusal(ab.ErrOpen)
	if got := r.RetryAfter(); got != seconds(4) {
		t.Errorf("a second into a cooldown of 5 s the refusal says %v", got)
	}
	p.at(3)
	if got := r.RetryAfter(); got != seconds(2) {
		t.Errorf("two seconds later it says %v", got)
	}
	p.at(5)
	p.acquire()
	if got := refusal(ab.ErrProbeLimit).RetryAfter(); got != 0 {
		t.Errorf("a busy breaker says %v, want 0: nobody knows", got)
	}
	p.SetMode(ab.ForcedOpen)
	if got := refusal(ab.ErrForced).RetryAfter(); got != 0 {
		t.Errorf("a forced breaker says %v, want 0: nobody knows", got)
	}
	// What a retry loop does that has never heard of breakers.
	attempts := 0
	for attempts < 10 {
		attempts++
		if _, err := p.Acquire(); ab.IsRejected(err) {
			break
		}
	}
	if attempts != 1 {
		t.Errorf("the loop made %d attempts", attempts)
	}
}
