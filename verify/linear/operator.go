package linear

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func (s *state) setMode(m atomicbreaker.Mode, at time.Duration, r rule) {
	if m == s.mode {
		return
	}
	was, wasForced := s.mode, s.isForced()
	s.mode = m
	move := func(p atomicbreaker.State) {
		if s.phase != p {
			s.to(p, at, r)
		}
		s.opened = at
	}
	asked := s.command
	switch {
	case m == atomicbreaker.ForcedOpen:
		move(atomicbreaker.StateOpen)
		return
	case m == atomicbreaker.ForcedClosed:
		move(atomicbreaker.StateClosed)
		return
	case !wasForced:
		return
	}
	s.command = commandNone
	switch {
	case asked == commandTrip:
		move(atomicbreaker.StateOpen)
	case asked == commandReset:
		s.to(atomicbreaker.StateClosed, at, r)
	case was == atomicbreaker.ForcedOpen:
		move(atomicbreaker.StateHalfOpen)
	}
}
