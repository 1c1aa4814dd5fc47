// Package clock tells a circuit breaker what time it is.
//
// A breaker needs two things from a clock: the time elapsed since some fixed
// instant, and timers. [System] is the ordinary one, [TSC] is a cheaper one
// for breakers that time every call, and [Manual] is for tests and
// simulations: it stands still until told to advance.
//
// There is no package-level state. A clock made inside a testing/synctest
// bubble lives on the bubble's time.
package clock

import "time"

// A Clock measures time and sets timers. Implementations must be safe for
// concurrent use.
type Clock interface {
	// Now returns the time elapsed since the clock's own epoch. It is
	// monotonic: it never steps back, whatever happens to the wall clock.
	Now() time.Duration

	// AfterFunc arranges for f to run once, d from now; a d of zero or less
	// means as soon as possible. f runs on a goroutine that holds no lock.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer is one appointment made with [Clock.AfterFunc]. Both methods are
// safe for concurrent use and allocate nothing.
type Timer interface {
	// Reset moves the appointment to d from now, making it again if it was
	// kept or cancelled. It reports whether the timer had been running.
	Reset(d time.Duration) bool

	// Stop cancels the appointment. It reports whether the timer had been
	// running; a callback that has started is not waited for.
	Stop() bool
}

// System returns a clock that reads the runtime's monotonic time. Its epoch is
// the moment of this call, so that a clock made inside a testing/synctest
// bubble follows the bubble's time.
func System() Clock { return system{epoch: time.Now()} }

type system struct{ epoch time.Time }

func (s system) Now() time.Duration { return time.Since(s.epoch) }

func (s system) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Real reports whether c is one of this package's clocks that run with real
// time, whose timers come late on a busy machine.
func Real(c Clock) bool {
	switch c.(type) {
	case system, tsc:
		return true
	}
	return false
}
