package breakertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Outcomes are what a breaker has counted.
type Outcomes struct {
	Succeeded, Failed, Ignored uint64
	Cancelled                  uint64 // settled by Ticket.Cancel
	Late                       uint64 // settled after a change of state or a Reset
	Refused                    uint64 // of every kind
}

// OutcomesOf returns what a snapshot has counted since the breaker was made.
// It is for breakers that this package has not made.
func OutcomesOf(s atomicbreaker.Snapshot) Outcomes {
	return Outcomes{s.Succeeded, s.Failed, s.Ignored, s.Cancelled, s.Late, s.Refused()}
}

func (o Outcomes) minus(p Outcomes) Outcomes {
	return Outcomes{o.Succeeded - p.Succeeded, o.Failed - p.Failed, o.Ignored - p.Ignored,
		o.Cancelled - p.Cancelled, o.Late - p.Late, o.Refused - p.Refused}
}

// String lists what is not zero, or says that there is nothing.
func (o Outcomes) String() string {
	var parts []string
	for _, p := range []struct {
		n    uint64
		what string
	}{{o.Succeeded, "succeeded"}, {o.Failed, "failed"}, {o.Ignored, "ignored"}, {o.Cancelled, "cancelled"}, {o.Late, "late"}, {o.Refused, "refused"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if parts == nil {
		return "no outcome"
	}
	return strings.Join(parts, ", ")
}

// Outcomes returns what the breaker has counted since New.
func (b *Breaker) Outcomes() Outcomes { return OutcomesOf(b.Snapshot()).minus(b.before) }

// Transitions returns the changes of state since New, in order.
func (b *Breaker) Transitions() []atomicbreaker.Transition {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.changes)
}

// WantState fails the test if the breaker is in another state.
func (b *Breaker) WantState(want atomicbreaker.State) {
	b.t.Helper()
	if got := b.State(); got != want {
		b.t.Errorf("the breaker is %v, want %v\n%s", got, want, b.Story())
	}
}

// WantOutcomes fails the test if the breaker has counted anything else since New.
func (b *Breaker) WantOutcomes(want Outcomes) {
	b.t.Helper()
	if got := b.Outcomes(); got != want {
		b.t.Errorf("the breaker counted: %v\nwant:                %v\n%s", got, want, b.Story())
	}
}

// waitFor is how long WaitOutcomes waits.
const waitFor = 5 * time.Second

// WaitOutcomes is WantOutcomes for calls that end on a goroutine of their own,
// such as a gRPC stream: it waits up to 5 s of the time of package time.
func (b *Breaker) WaitOutcomes(want Outcomes) {
	b.t.Helper()
	for deadline := time.Now().Add(waitFor); b.Outcomes() != want && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	b.WantOutcomes(want)
}

// WantTransitions fails the test if the states that the breaker has changed to since
// New, in order, are others. Without a state it wants no change.
func (b *Breaker) WantTransitions(to ...atomicbreaker.State) {
	b.t.Helper()
	var got []atomicbreaker.State
	for _, t := range b.Transitions() {
		got = append(got, t.To)
	}
	if !slices.Equal(got, to) {
		b.t.Errorf("the breaker changed to %v, want %v\n%s", got, to, b.Story())
	}
}

// WantRefused fails the test if err is not a refusal by this breaker.
func (b *Breaker) WantRefused(err error) {
	b.t.Helper()
	refusal, ok := errors.AsType[*atomicbreaker.RejectedError](err)
	switch {
	case err == nil:
		b.t.Errorf("the call was made and got no error, want a refusal\n%s", b.Story())
	case !ok:
		b.t.Errorf("the error is no refusal: %v\n%s", err, b.Story())
	case refusal.Name() != b.Name():
		b.t.Errorf("another breaker refused: %q, want %q\n%s", refusal.Name(), b.Name(), b.Story())
	}
}

// WantNoProbe fails the test if a probe is in flight: the code under test has a
// ticket that it did not settle. It is for half-open breakers; a closed one
// keeps no count of the calls in flight.
func (b *Breaker) WantNoProbe() {
	b.t.Helper()
	if n := b.Snapshot().ProbesInFlight; n > 0 {
		b.t.Errorf("%d probes are in flight, want none: a ticket was not settled\n%s", n, b.Story())
	}
}

// Story tells what has happened to the breaker since New, in lines.
func (b *Breaker) Story() string {
	var text strings.Builder
	s := b.Snapshot()
	fmt.Fprintf(&text, "what happened to the breaker %q:\n", b.Name())
	for _, t := range b.Transitions() {
		fmt.Fprintf(&text, "  %8v  %v -> %v: %v", t.At-b.began, t.From, t.To, t.Reason)
		if t.Counts.Calls > 0 {
			fmt.Fprintf(&text, ", %d of %d failed, %d slow", t.Counts.Failures, t.Counts.Calls, t.Counts.Slow)
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "  %8v  now %v", b.Now(), s.State)
	if s.Mode != atomicbreaker.Auto {
		fmt.Fprintf(&text, ", mode %v", s.Mode)
	}
	if s.RetryAfter > 0 && s.State == atomicbreaker.StateOpen {
		fmt.Fprintf(&text, ", for %v more", s.RetryAfter)
	}
	if s.State == atomicbreaker.StateHalfOpen {
		fmt.Fprintf(&text, ", %d of %d probes in flight", s.ProbesInFlight, s.ProbeWindow)
	}
	if s.Rolling.Calls > 0 {
		fmt.Fprintf(&text, ", %d of %d failed in its window", s.Rolling.Failures, s.Rolling.Calls)
	}
	fmt.Fprintf(&text, "; %v", b.Outcomes())
	return text.String()
}
