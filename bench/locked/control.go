package locked

import (
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// command is a Trip or Reset given while a mode was forced: what the breaker
// resumes as.
type command uint8

const (
	noCommand command = iota
	tripCommand
	resetCommand
)

func forced(mode atomicbreaker.Mode) bool {
	return mode == atomicbreaker.ForcedOpen || mode == atomicbreaker.ForcedClosed
}

// checkMode panics on a mode that there is not.
func checkMode(mode atomicbreaker.Mode) {
	if mode > atomicbreaker.Shadow {
		panic(fmt.Sprintf("locked: SetMode(%d): the modes are 0 to %d", mode, atomicbreaker.Shadow))
	}
}

// evidence is what a transition away from the present state tells: the
// rolling window of a closed breaker, the probes of a half-open one.
func (m *machine) evidence() atomicbreaker.Counts {
	switch m.state {
	case atomicbreaker.StateClosed:
		return m.window.sum
	case atomicbreaker.StateHalfOpen:
		return m.probing.counts
	default:
		return atomicbreaker.Counts{}
	}
}

// tripCalled opens the breaker on command.
func (m *machine) tripCalled() {
	if forced(m.mode) {
		m.command = tripCommand
		return
	}
	switch m.state {
	case atomicbreaker.StateClosed:
		m.trip(atomicbreaker.ReasonTripCalled, m.window.sum, 0, m.rules.clock.Now())
	case atomicbreaker.StateHalfOpen:
		m.reopen(atomicbreaker.ReasonTripCalled, 0, m.rules.clock.Now())
	}
}

// resetCalled closes the breaker on command and ends the generation in any
// case, so that calls in flight become late everywhere.
func (m *machine) resetCalled() {
	if forced(m.mode) {
		m.command = resetCommand
	} else {
		m.reset(atomicbreaker.ReasonResetCalled, m.rules.clock.Now())
	}
}

func (m *machine) reset(why atomicbreaker.Reason, now time.Duration) {
	if m.state == atomicbreaker.StateClosed { // no change of state, no event
		m.doubt = m.doubtAfter(m.state, why, now)
		m.generation++
		m.forget()
		return
	}
	m.change(atomicbreaker.StateClosed, why, m.evidence(), now)
}

// setMode changes the mode, and the state where the mode commands it.
func (m *machine) setMode(mode atomicbreaker.Mode) {
	before := m.mode
	if mode == before {
		return
	}
	m.mode = mode
	now := m.rules.clock.Now()
	switch {
	case mode == atomicbreaker.ForcedOpen:
		m.force(atomicbreaker.StateOpen, now)
	case mode == atomicbreaker.ForcedClosed:
		m.force(atomicbreaker.StateClosed, now)
	case forced(before):
		m.resume(before, now)
	}
}

// force puts the breaker into the state of a forced mode and stops its timer.
func (m *machine) force(to atomicbreaker.State, now time.Duration) {
	if m.state != to {
		if m.state == atomicbreaker.StateClosed {
			m.trippedAt, m.cool = now, m.rules.cooldown.Min
		}
		m.change(to, atomicbreaker.ReasonSetModeCalled, m.evidence(), now)
	}
	m.deadline = noSuchTime
	m.schedule()
}

// resume leaves a forced mode: for what a command given meanwhile asks, or
// else for evidence after ForcedOpen and an empty window after ForcedClosed.
func (m *machine) resume(from atomicbreaker.Mode, now time.Duration) {
	asked := m.command
	m.command = noCommand
	switch {
	case asked == tripCommand && m.state == atomicbreaker.StateOpen:
		m.trippedAt, m.cool = now, m.rules.cooldown.Min
		m.startCooldown(0, now)
	case asked == tripCommand:
		m.trip(atomicbreaker.ReasonSetModeCalled, m.window.sum, 0, now)
	case asked == resetCommand:
		m.reset(atomicbreaker.ReasonSetModeCalled, now)
	case from == atomicbreaker.ForcedOpen:
		m.halfOpen(atomicbreaker.ReasonSetModeCalled, now)
	default:
		m.forget()
	}
}
