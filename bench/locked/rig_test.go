package locked_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/lockstep"
	"github.com/atomicbreaker/breaker/clock"
)

const (
	ms = time.Millisecond

	closed   = atomicbreaker.StateClosed
	open     = atomicbreaker.StateOpen
	halfOpen = atomicbreaker.StateHalfOpen

	off = atomicbreaker.Off
)

var errBroken = errors.New("broken")

// rig is a breaker on a clock that stands still, and the record of what it
// announced.
type rig struct {
	lockstep.Breaker
	t      *testing.T
	clock  *clock.Manual
	events []atomicbreaker.Transition
}

// each runs a test against both breakers. Unless the configuration says
// otherwise, cooldowns are exact.
func each(t *testing.T, c atomicbreaker.Config, test func(t *testing.T, r *rig)) {
	t.Helper()
	for _, kind := range []lockstep.Implementation{lockstep.Mutex(), lockstep.RWMutex()} {
		t.Run(kind.Name, func(t *testing.T) {
			r := &rig{t: t, clock: new(clock.Manual)}
			r.clock.Advance(7 * ms) // a breaker's time is not its clock's
			c := c
			c.Clock = r.clock
			if c.Cooldown.Jitter == 0 {
				c.Cooldown.Jitter = off
			}
			listener := c.OnTransition
			c.OnTransition = atomicbreaker.Transitions(func(e atomicbreaker.Transition) { r.events = append(r.events, e) }, listener)
			b, err := kind.New(c)
			if err != nil {
				t.Fatal(err)
			}
			r.Breaker = b
			test(t, r)
		})
	}
}

// admit acquires a ticket that must be granted.
func (r *rig) admit() lockstep.Ticket {
	r.t.Helper()
	ticket, err := r.Acquire()
	if err != nil {
		r.t.Fatalf("refused (%v) in %+v", err, r.Snapshot())
	}
	return ticket
}

// refuse acquires a ticket that must not be granted.
func (r *rig) refuse(want error) {
	r.t.Helper()
	if _, err := r.Acquire(); !errors.Is(err, want) {
		r.t.Fatalf("Acquire: %v, want %v, in %+v", err, want, r.Snapshot())
	}
}

// report settles n calls of their own, which must be admitted.
func (r *rig) report(n int, o atomicbreaker.Outcome) {
	r.t.Helper()
	for range n {
		r.admit().Report(o)
	}
}

func (r *rig) succeed(n int) { r.t.Helper(); r.report(n, atomicbreaker.Success) }
func (r *rig) fail(n int)    { r.t.Helper(); r.report(n, atomicbreaker.Failure) }

// flight acquires n tickets and takes d until they are to be settled.
func (r *rig) flight(n int, d time.Duration) []lockstep.Ticket {
	r.t.Helper()
	var all []lockstep.Ticket
	for range n {
		all = append(all, r.admit())
	}
	r.clock.Advance(d)
	return all
}

func settle(all []lockstep.Ticket, o atomicbreaker.Outcome) {
	for _, ticket := range all {
		ticket.Report(o)
	}
}

// want checks the state.
func (r *rig) want(s atomicbreaker.State) {
	r.t.Helper()
	if got := r.State(); got != s {
		r.t.Fatalf("state %v, want %v: %+v", got, s, r.Snapshot())
	}
}

// window checks the probe window and the number of probes in flight.
func (r *rig) window(window, inFlight int) {
	r.t.Helper()
	if s := r.Snapshot(); s.ProbeWindow != window || s.ProbesInFlight != inFlight {
		r.t.Fatalf("probe window %d with %d in flight, want %d with %d", s.ProbeWindow, s.ProbesInFlight, window, inFlight)
	}
}

// probing opens the breaker and lets the cooldown pass.
func (r *rig) probing() {
	r.t.Helper()
	r.Trip()
	r.want(open)
	r.clock.Advance(r.RetryAfter())
	r.want(halfOpen)
}

// reasons checks why the state changed, in order, and that the events tell one
// story.
func (r *rig) reasons(want ...atomicbreaker.Reason) {
	r.t.Helper()
	var got []atomicbreaker.Reason
	for i, e := range r.events {
		got = append(got, e.Reason)
		if i > 0 && (e.From != r.events[i-1].To || e.At < r.events[i-1].At || e.Generation <= r.events[i-1].Generation) {
			r.t.Errorf("event %+v does not follow %+v", e, r.events[i-1])
		}
	}
	if !slices.Equal(got, want) {
		r.t.Fatalf("reasons %v, want %v", got, want)
	}
}

// last is the latest event.
func (r *rig) last() atomicbreaker.Transition {
	r.t.Helper()
	if len(r.events) == 0 {
		r.t.Fatal("nothing was announced")
	}
	return r.events[len(r.events)-1]
}
