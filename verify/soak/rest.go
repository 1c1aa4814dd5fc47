package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// rest checks every guarantee that shows when nobody uses the breaker. Probes
// whose tickets were dropped are still out.
func (s *subject) rest() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	s.m.Advance(0)
	x := s.b.Snapshot()

	// G3, G6: each ticket that was settled is in one of five counters.
	if got := x.Succeeded + x.Failed + x.Ignored + x.Cancelled + x.Late; got != s.settled {
		fault("%d outcomes counted, %d tickets settled", got, s.settled)
	}
	if x.Refused() != s.refused {
		fault("%d refusals counted, %d given", x.Refused(), s.refused)
	}
	if x.Slow > x.Succeeded+x.Failed || x.Rolling.Failures > x.Rolling.Calls || x.Rolling.Calls > x.Succeeded+x.Failed {
		fault("counts that cannot be: %+v", x)
	}
	// G5: asking changes nothing.
	for range 100 {
		s.b.Ready()
		_ = s.b.RetryAfter()
	}
	if again := s.b.Snapshot(); again != x {
		fault("asked again, it shows %+v after %+v", again, x)
	}
	faults = append(faults, s.rose(x)...)

	// G4, G13: in time it comes to rest by itself, and then nothing runs.
	s.b.SetMode(atomicbreaker.Auto)
	for range 4 {
		s.m.Advance(30 * time.Hour)
	}
	x = s.b.Snapshot()
	if x.State == atomicbreaker.StateOpen || x.ProbesInFlight != 0 {
		fault("after days of silence %v with %d probes in flight", x.State, x.ProbesInFlight)
	}
	if n := s.m.Timers(); n != 0 {
		fault("%d timers run in an idle breaker", n)
	}
	// G8: all was announced. A Reset of a closed breaker is not.
	switch h := &s.hearing; {
	case h.fault != nil:
		faults = append(faults, h.fault)
	case h.to != x.State:
		fault("announced %v, the state is %v", h.to, x.State)
	case h.opened != x.Opened:
		fault("announced %d openings of %d", h.opened, x.Opened)
	case h.gaps+uint64(x.Generation-h.generation) > s.resets:
		fault("%d generations without announcement, %d calls of Reset", h.gaps, s.resets)
	case x.ListenerPanics != h.told/17:
		fault("%d panics of the listener counted, %d made", x.ListenerPanics, h.told/17)
	}
	// G2, G11: a reset breaker is closed, empty and admits.
	s.b.Reset()
	s.resets++
	t, err := s.b.Acquire()
	x = s.b.Snapshot()
	if err != nil || x.State != atomicbreaker.StateClosed || x.Rolling != (atomicbreaker.Counts{}) {
		fault("after Reset it answers %v and shows %+v", err, x)
	}
	s.admitted++
	s.settled++
	if !t.Cancel() || t.Cancel() {
		fault("a ticket was not settled exactly once")
	}
	s.last = s.b.Snapshot()
	return errors.Join(faults...)
}

// rose checks that what only rises has not fallen since the last rest.
func (s *subject) rose(x atomicbreaker.Snapshot) (faults []error) {
	old := s.last
	for name, v := range map[string][2]uint64{
		"succeeded": {old.Succeeded, x.Succeeded}, "failed": {old.Failed, x.Failed}, "late": {old.Late, x.Late},
		"opened": {old.Opened, x.Opened}, "abandoned": {old.Abandoned, x.Abandoned}, "slow": {old.Slow, x.Slow},
		"time open": {uint64(old.TimeOpen), uint64(x.TimeOpen)}, "generation": {uint64(old.Generation), uint64(x.Generation)},
	} {
		if v[1] < v[0] {
			faults = append(faults, fmt.Errorf("%s fell from %d to %d", name, v[0], v[1]))
		}
	}
	if x.TimeOpen > x.At {
		faults = append(faults, fmt.Errorf("open for %v of %v", x.TimeOpen, x.At))
	}
	return faults
}
