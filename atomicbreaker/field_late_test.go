package atomicbreaker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
)

// A late outcome settles its ticket and shows in the counter of late ones, and
// in nothing else.
//
// Field: S023, sony/gobreaker#122 (2026-08-06).
func TestFieldLateOutcomeShowsOnlyInItsCounter(t *testing.T) {
	for name, settle := range map[string]func(*ab.Ticket) bool{
		"success":   func(late *ab.Ticket) bool { return late.Done(context.Background(), nil) },
		"failure":   func(late *ab.Ticket) bool { return late.ReportAfter(ab.Failure, time.Hour) },
		"ignored":   func(late *ab.Ticket) bool { return late.Report(ab.Ignored) },
		"cancelled": (*ab.Ticket).Cancel,
	} {
		p := examine(t, streakConfig())
		late := p.acquire()
		p.calls(3, ab.Failure)
		p.at(1)
		before, told := p.Snapshot(), len(p.events())
		if !settle(late) {
			t.Errorf("%s: the late ticket was not settled", name)
		}
		before.Late++
		if after := p.Snapshot(); after != before {
			t.Errorf("%s: the late outcome changed the snapshot to\n%+v, want\n%+v", name, after, before)
		}
		if len(p.events()) != told {
			t.Errorf("%s: the late outcome was announced", name)
		}
	}
}

// The cooldown runs from the opening: late failures do not extend it.
//
// Field: S025, SynkraAI/aiox-core#618 (2026-03-26).
func TestFieldLateFailuresDoNotExtendTheCooldown(t *testing.T) {
	p := examine(t, streakConfig())
	var late []*ab.Ticket
	for range 5 {
		late = append(late, p.acquire())
	}
	p.trip()
	for i, now := range []float64{1, 2, 3, 4, 4.9} {
		p.at(now)
		late[i].Report(ab.Failure)
	}
	p.at(5)
	p.acquire()
	p.books(settled{failed: 3, late: 5})
}

// Only what was admitted as a probe is judged as one, for good and for bad.
// A ticket that asks no more than "is it half-open now?" lets any call decide.
//
// Field: S026, App-vNext/Polly#217 (2017-01-29); valkey-io/valkey-glide#6050 review
// (2026-06-08).
//
// Field: S027, App-vNext/Polly#217 (2017-01-29).
func TestFieldLateOutcomeIsNoProbe(t *testing.T) {
	law := func(report func(*patient, *ab.Ticket, ab.Outcome), o ab.Outcome, concurrent int) error {
		c := streakConfig()
		c.Cooldown.Min, c.Cooldown.Max = time.Second, time.Second
		c.Recovery.Probes, c.Recovery.Successes, c.Recovery.Concurrent = 2, 2, concurrent
		p := examine(t, c)
		x := p.acquire()
		p.trip()
		p.at(1)
		probe := p.acquire()
		p.at(1.5)
		report(p, x, o)
		p.at(1.6)
		probe.Report(ab.Success)
		if got := p.State(); got != ab.StateHalfOpen {
			return fmt.Errorf("%v after one of two probes and a late %v", got, o)
		}
		p.call(ab.Success)
		p.is(ab.StateClosed)
		told := p.events()
		if last := told[len(told)-1]; last.Counts != (ab.Counts{Calls: 2}) {
			return fmt.Errorf("closed on %+v, want two successful probes", last.Counts)
		}
		return nil
	}
	fenced := func(_ *patient, x *ab.Ticket, o ab.Outcome) { x.Report(o) }
	byTheStateNow := func(p *patient, _ *ab.Ticket, o ab.Outcome) {
		if p.State() == ab.StateHalfOpen {
			p.call(o)
		}
	}
	for _, o := range []ab.Outcome{ab.Success, ab.Failure} {
		for concurrent := 1; concurrent <= 2; concurrent++ {
			if err := law(fenced, o, concurrent); err != nil {
				t.Error(err)
			}
		}
		if law(byTheStateNow, o, 2) == nil {
			t.Errorf("a late %v that is taken for a probe goes unnoticed", o)
		}
	}
}

// A late success does not close an open breaker: the cooldown is waited for.
//
// Field: S029, cep21/circuit#159 (2026-08-18) against cockroachdb/circuitbreaker#2 (commit
// 79eae79, 2018-10-19).
func TestFieldLateSuccessDoesNotCutTheCooldown(t *testing.T) {
	law := func(settle func(*patient, *ab.Ticket)) bool {
		p := examine(t, streakConfig())
		late := p.acquire()
		p.trip()
		p.at(1)
		settle(p, late)
		p.at(1.1)
		_, err := p.Acquire()
		p.at(5)
		return err != nil && p.State() == ab.StateHalfOpen
	}
	if !law(func(_ *patient, late *ab.Ticket) { late.Report(ab.Success) }) {
		t.Error("the late success changed the cooldown")
	}
	if law(func(p *patient, late *ab.Ticket) { late.Report(ab.Success); p.Reset() }) {
		t.Error("a late success that closes goes unnoticed")
	}
}

// A probe counts in its own half-open episode only: what is asked is which
// episode, not whether there is one.
//
// Field: S030, cep21/circuit#159 (2026-08-18).
func TestFieldProbeOfAnEarlierEpisodeDecidesNothing(t *testing.T) {
	for _, straggler := range []ab.Outcome{ab.Success, ab.Failure} {
		for verdict, want := range map[ab.Outcome]ab.State{ab.Success: ab.StateClosed, ab.Failure: ab.StateOpen} {
			p := examine(t, streakConfig())
			p.trip()
			p.at(5)
			lost := p.acquire()
			p.at(7)
			p.is(ab.StateOpen)
			p.at(12)
			probe := p.acquire()
			lost.Report(straggler)
			p.is(ab.StateHalfOpen)
			p.places(1, 1)
			probe.Report(verdict)
			p.is(want)
		}
	}
}

// Outcomes of calls from before a Reset are not added to the fresh counts.
//
// Field: S032, lidge-jun/opencodex#4728 review (2026-09-16); scenario derived.
func TestFieldResetMakesEarlierCallsLate(t *testing.T) {
	p := examine(t, streakConfig())
	p.calls(2, ab.Failure)
	late := p.acquire()
	p.Reset()
	late.Report(ab.Failure)
	p.rolling(0, 0)
	p.books(settled{failed: 2, late: 1})
	p.calls(2, ab.Failure)
	p.is(ab.StateClosed)
	p.call(ab.Failure)
	p.is(ab.StateOpen)
}

// A call that hangs in a closed breaker is not seen until it is settled:
// deadlines are the caller's duty. It counts once, when it ends, or as late.
//
// Field: S033, Instawork/llm-proxy#50 (2026-08-12); App-vNext/Polly#216 (2017-01).
func TestFieldHangingCallsCountWhenTheyEnd(t *testing.T) {
	p := examine(t, streakConfig())
	var hanging []*ab.Ticket
	for range 100 {
		hanging = append(hanging, p.acquire())
	}
	p.at(60)
	p.is(ab.StateClosed)
	p.books(settled{})
	for i, ticket := range hanging {
		ticket.Report(ab.Failure)
		if open := p.State() == ab.StateOpen; open != (i >= 2) {
			t.Fatalf("after %d failures: %v", i+1, p.State())
		}
	}
	p.books(settled{failed: 3, late: 97})
	p.story("open(streak)")
}
