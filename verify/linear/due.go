package linear

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// due returns what the timer may do now, each as the state after it. A step of
// the clock passes through the instants on its way, so an action is dated to
// the instant at which it fell due.
func (s state) due(r rule) []state {
	var all []state
	can := func(at time.Duration, f func(n *state, at time.Duration)) {
		if s.now >= at {
			next := s
			f(&next, max(at, s.before))
			all = append(all, next)
		}
	}
	switch {
	case s.mode == atomicbreaker.ForcedOpen:
	case s.phase == atomicbreaker.StateOpen:
		can(s.opened+cooldown, func(n *state, at time.Duration) { n.to(atomicbreaker.StateHalfOpen, at, r) })
	case s.phase == atomicbreaker.StateHalfOpen:
		if r.probes == 0 && s.alive {
			can(s.since+quiet, func(n *state, at time.Duration) { n.to(atomicbreaker.StateClosed, at, r) })
			if s.failedProbe { // so many as trip
				can(s.since+quiet, func(n *state, at time.Duration) { n.open(at, r) })
			}
		}
		seen := silence{s.gen, s.inFlight, s.window, true}
		if s.inFlight > 0 {
			can(s.heard+timeout, func(n *state, at time.Duration) { n.giveUp(at, r) })
			can(s.heard+timeout, func(n *state, at time.Duration) { n.silence = seen })
		}
		if s.silence == seen {
			can(s.now, func(n *state, at time.Duration) { n.giveUp(at, r) })
		}
		if s.inFlight >= s.window {
			can(max(s.heard, s.raised)+quiet, func(n *state, at time.Duration) {
				n.window = max(n.window, n.inFlight) + 1
				n.raised = at
			})
		}
	}
	return all
}

// settled reports whether time has nothing left to do.
func (s *state) settled() bool {
	return s.mode == atomicbreaker.ForcedOpen || s.phase == atomicbreaker.StateClosed ||
		s.phase == atomicbreaker.StateHalfOpen && s.inFlight == 0 && (!s.alive || s.relapses > 0 || s.failedProbe)
}
