package atomicbreaker

import (
	"errors"
	"time"
)

// The kinds of refusal, for errors.Is. What a breaker returns is a
// [*RejectedError].
var (
	// ErrOpen: the breaker is open. ErrForced is also ErrOpen.
	ErrOpen = errors.New("circuit breaker is open")

	// ErrProbeLimit: the breaker is half-open and enough probes are under way.
	ErrProbeLimit = errors.New("circuit breaker is half-open and its probes are under way")

	// ErrForced: an operator holds the breaker open.
	ErrForced = errors.New("circuit breaker is forced open")
)

// Rejected reports whether err is, or wraps, a breaker's refusal: the call was
// not made.
func Rejected(err error) bool {
	_, ok := errors.AsType[*RejectedError](err)
	return ok
}

// RejectedError is a breaker's refusal. It is made once per breaker and kind,
// so that refusing allocates nothing; what it tells of the present is told by
// methods.
type RejectedError struct {
	breaker *Breaker
	kind    refusal
}

// refusal is the kind of a refusal.
type refusal uint8

const (
	refusedOpen refusal = iota
	refusedProbe
	refusedForced
	refusals
)

var refusalErrors = [refusals]error{ErrOpen, ErrProbeLimit, ErrForced}

// Error tells the breaker's name and the kind of refusal.
func (e *RejectedError) Error() string {
	if name := e.breaker.cfg.Name; name != "" {
		return "atomicbreaker: " + name + ": " + e.Unwrap().Error()
	}
	return "atomicbreaker: " + e.Unwrap().Error()
}

// Name returns the name of the breaker that refused.
func (e *RejectedError) Name() string { return e.breaker.Name() }

// RetryAfter returns how long the breaker will go on refusing, as known at
// the moment of this call. See [Breaker.RetryAfter].
func (e *RejectedError) RetryAfter() time.Duration { return e.breaker.RetryAfter() }

// Unwrap returns ErrOpen, ErrProbeLimit or ErrForced.
func (e *RejectedError) Unwrap() error { return refusalErrors[e.kind] }

// Is reports whether target is ErrOpen for a breaker that is forced open.
func (e *RejectedError) Is(target error) bool {
	return target == ErrOpen && e.kind == refusedForced
}
