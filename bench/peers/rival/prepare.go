package rival

import (
	"fmt"
	"runtime"
	"time"
)

// A Prepared breaker is in the state that a row is about.
type Prepared struct {
	Op       Call   // what to measure
	Tenth    Call   // what every tenth operation is instead; nil: the same
	Admitted bool   // whether the operations must be admitted, or refused
	Close    func() // gives back what the breaker holds
}

// Prepare builds the subject and brings it into the state of the row. The error
// wraps ErrLacks if the subject cannot do the row.
func (s Subject) Prepare(row Row) (Prepared, error) {
	if why, lacks := s.Lacks[row]; lacks {
		return Prepared{}, fmt.Errorf("%w: %s", ErrLacks, why)
	}
	in := s.Build(JobOf(row))
	p := Prepared{Op: in.Success, Admitted: true, Close: in.Release}
	switch row {
	case RefusedOpen:
		p.Op, p.Admitted = in.Failure, false
		if err := in.Trip(s.ByChance); err != nil {
			return Prepared{}, fmt.Errorf("%s: %w", s.Key(), err)
		}
	case RefusedHalfOpen:
		p.Op, p.Admitted = in.Failure, false
		if s.Ramps {
			if err := in.Trip(false); err != nil {
				return Prepared{}, fmt.Errorf("%s: %w", s.Key(), err)
			}
			time.Sleep(2 * JobOf(row).Cooldown)
			break
		}
		release, err := in.holdProbe()
		if err != nil {
			return Prepared{}, fmt.Errorf("%s: %w", s.Key(), err)
		}
		p.Close = func() { release(); in.Release() }
	case ClosedTenth:
		p.Tenth = in.Failure
	case ErrorReturned:
		p.Op = in.Failure
	case DoClosure:
		p.Op = in.Closure
	}
	return p, nil
}

// Release gives back what the breaker holds, if it holds anything.
func (in Instance) Release() {
	if in.Close != nil {
		in.Close()
	}
}

// patience bounds every wait for a breaker to change its state.
const patience = 5 * time.Second

// Trip makes failing calls until the breaker refuses. One that refuses by chance
// gets enough of them to refuse nearly everything.
func (in Instance) Trip(byChance bool) error {
	if byChance {
		for range 200_000 {
			in.Failure()
		}
	}
	for start := time.Now(); time.Since(start) < patience; {
		for range 1000 {
			if !in.Failure() {
				return nil
			}
		}
		runtime.Gosched() // for breakers that judge on a goroutine of their own
	}
	return fmt.Errorf("did not open within %v of failures", patience)
}

// holdProbe trips the breaker, waits for the cooldown and keeps the first probe
// under way until release is called.
func (in Instance) holdProbe() (release func(), err error) {
	if err := in.Trip(false); err != nil {
		return nil, err
	}
	started, finish, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		body := func() { close(started); <-finish }
		for start := time.Now(); !in.Probe(body); time.Sleep(time.Millisecond) {
			if time.Since(start) > patience {
				return
			}
		}
	}()
	select {
	case <-started:
		return func() { close(finish); <-over }, nil
	case <-over:
		return nil, fmt.Errorf("admitted no probe within %v", patience)
	}
}
