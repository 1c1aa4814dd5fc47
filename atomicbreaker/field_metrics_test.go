package atomicbreaker_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// An open breaker becomes half-open when its cooldown ends, and everybody who
// looks is told so, with no call and no look before. Looking changes nothing.
//
// Field: S122, danielfm/pybreaker#15 (2017-05-18); App-vNext/Polly#481 (2018-07-11);
// Shopify/semian#189 (2018-08-08); failsafe-go/failsafe-go#97 (2025-04-14).
func TestFieldStateIsTrueWithoutTraffic(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	p.at(5)
	p.story("open(streak) half-open(cooldown)") // before anybody has looked
	p.at(6)
	p.is(ab.StateHalfOpen)
	if s := p.Snapshot(); s.RetryAfter != 0 || p.RetryAfter() != 0 || s.Since != 5*time.Second || !s.Unprobed || !p.Ready() {
		t.Errorf("a second after the cooldown: %+v", s)
	}
	p.acquire()
	p.is(ab.StateHalfOpen)
	if p.Snapshot().Unprobed || p.Ready() {
		t.Error("the probe under way does not show")
	}
	p.story("open(streak) half-open(cooldown)")
}

// Openings shorter than the time between two looks are counted, and so are
// their refusals and their length.
//
// Field: S128, resilience4j/resilience4j#163 and #164 (2017-09-29).
func TestFieldShortOpeningsShowInTotals(t *testing.T) {
	c := streakConfig()
	c.Cooldown.Min, c.Cooldown.Max = 100*time.Millisecond, 100*time.Millisecond
	c.Recovery.ProbeTimeout = 100 * time.Millisecond
	p := examine(t, c)
	before := p.Snapshot()
	for range 20 {
		p.trip()
		for range 3 {
			p.refused(ab.ErrOpen)
		}
		p.clock.Advance(150 * time.Millisecond)
		p.call(ab.Success)
	}
	p.is(ab.StateClosed)
	after := p.Snapshot()
	if opened := after.Opened - before.Opened; opened != 20 {
		t.Errorf("%d openings counted, want 20", opened)
	}
	if refused := after.RefusedOpen - before.RefusedOpen; refused != 60 {
		t.Errorf("%d refusals counted, want 60", refused)
	}
	if open := after.TimeOpen - before.TimeOpen; open != 2*time.Second {
		t.Errorf("open for %v, want 20 x 100 ms", open)
	}
}

// Every refusal is counted, by its reason, and admitted and refused calls are
// all calls.
//
// Field: S130, exaring/hoglet commit aeea64a (2024-01-24); resilience4j/resilience4j#942.
func TestFieldRefusalsAreCountedByReason(t *testing.T) {
	p := examine(t, streakConfig())
	p.trip()
	for range 100 {
		p.refused(ab.ErrOpen)
	}
	p.at(5)
	probe := p.acquire()
	for range 10 {
		p.refused(ab.ErrProbeLimit)
	}
	probe.Cancel()
	p.SetMode(ab.ForcedOpen)
	for range 5 {
		p.refused(ab.ErrForced)
		if err := p.Do(t.Context(), succeed); !errors.Is(err, ab.ErrForced) {
			t.Fatal(err)
		}
	}
	s := p.Snapshot()
	if s.RefusedOpen != 100 || s.RefusedHalfOpen != 10 || s.RefusedForced != 10 || s.Refused() != 120 {
		t.Errorf("refusals: %d open, %d half-open, %d forced, %d in all, want 100, 10, 10, 120",
			s.RefusedOpen, s.RefusedHalfOpen, s.RefusedForced, s.Refused())
	}
	p.books(settled{failed: 3, cancelled: 1})
}

// A share of nothing is zero, a number that compares and encodes.
//
// Field: S131, ccadllc/cedi-circuitbreakers#5 (2017-01-04); cep21/circuit#152 (NaN index).
func TestFieldShareOfNothingIsZero(t *testing.T) {
	p := examine(t, rateConfig())
	look := func(when string) {
		t.Helper()
		s := p.Snapshot()
		text, err := json.Marshal(s)
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
		var back ab.Snapshot
		if err := json.Unmarshal(text, &back); err != nil || back != s {
			t.Errorf("%s: %s reads back as %+v, %v", when, text, back, err)
		}
		if f, slow := s.Rolling.FailureRate(), s.Rolling.SlowRate(); f != 0 || slow != 0 {
			t.Errorf("%s: failure rate %v, slow rate %v, want 0", when, f, slow)
		}
	}
	look("fresh")
	p.calls(5, ab.Ignored)
	look("with ignored calls only")
	p.calls(5, ab.Failure)
	p.at(11)
	look("with an expired window")
	p.calls(5, ab.Failure)
	p.Reset()
	look("after a reset")
	p.Trip()
	look("open")
}

// Everything that a breaker tells has its name in it, and nobody else's.
//
// Field: S132, traefik/traefik#3590 (2018-07-10); resilience4j/resilience4j#1062.
func TestFieldEverythingTellsWhichBreaker(t *testing.T) {
	var told []string
	made := map[string]*patient{}
	for _, name := range []string{"orders", "billing", "mail"} {
		c := streakConfig()
		c.Name = name
		c.OnTransition = func(tr ab.Transition) { told = append(told, tr.Name) }
		made[name] = examine(t, c)
	}
	made["billing"].trip()
	if len(told) != 1 || told[0] != "billing" {
		t.Errorf("events came from %q, want one from billing", told)
	}
	_, err := made["billing"].Acquire()
	r, ok := errors.AsType[*ab.RejectedError](err)
	if !ok || r.Name() != "billing" || !strings.Contains(err.Error(), "billing") {
		t.Errorf("the refusal is %v", err)
	}
	for name, p := range made {
		if s := p.Snapshot(); s.Name != name || (s.State == ab.StateOpen) != (name == "billing") {
			t.Errorf("the snapshot of %s says %s, %v", name, s.Name, s.State)
		}
	}
}

// The books balance: what was offered was admitted or refused, and what was
// admitted ended in one of five ways. A call whose context was done before it
// began is in none of them.
//
// Field: S134, 1mb-dev/autobreaker commit 3f8c6ba (2026-01-24).
func TestFieldBooksBalance(t *testing.T) {
	c := rateConfig()
	c.ReadyToTrip = func(n ab.Counts) bool { return n.Failures > 0 && n.Calls%64 == 0 }
	p := examine(t, c)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	var admitted, refused atomic.Uint64
	note := func(err error) {
		if ab.IsRejected(err) {
			refused.Add(1)
		} else {
			admitted.Add(1)
		}
	}
	crowd(16, func(i int) {
		rnd := rand.New(rand.NewPCG(4, uint64(i)))
		for range 3000 {
			switch rnd.IntN(9) {
			case 0:
				p.clock.Advance(time.Duration(rnd.IntN(2000)) * time.Millisecond)
			case 1:
				p.Do(done, succeed)
			case 2:
				var err error
				panicOf(func() {
					err = p.Do(t.Context(), func(context.Context) error { panic("broken client") })
				})
				note(err) // nil after the panic
			case 3:
				ticket, err := p.Acquire()
				if note(err); err == nil {
					ticket.Cancel()
					ticket.Report(ab.Failure)
				}
			case 4:
				ticket, err := p.Acquire()
				if note(err); err == nil {
					p.clock.Advance(time.Duration(rnd.IntN(4)) * time.Second) // a probe may be given up
					ticket.Report(ab.Outcome(rnd.IntN(3)))
				}
			case 5:
				note(leaving(t, p.Breaker, context.Cause))
			case 6:
				p.Snapshot()
			default:
				note(p.Do(t.Context(), succeed))
			}
		}
	})
	s := p.Snapshot()
	if got := settledOf(p.Breaker).sum(); got != admitted.Load() || s.Refused() != refused.Load() {
		t.Errorf("%d settled and %d refused, want %d and %d", got, s.Refused(), admitted.Load(), refused.Load())
	}
	if s.ProbesInFlight != 0 {
		t.Errorf("%d probes in flight at rest", s.ProbesInFlight)
	}
	if s.Late == 0 || s.Ignored == 0 || s.Cancelled == 0 || s.Refused() == 0 || s.Opened < 10 {
		t.Errorf("not everything was tried: %+v", s)
	}
}
