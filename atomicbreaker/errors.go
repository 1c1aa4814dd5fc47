package atomicbreaker

import (
	"errors"
	"time"
)

// The kinds of refusal, for errors.Is. What a breaker returns is a
// [*RejectedError].
var (
	// ErrRejected: the call was not made. Every refusal Is it.
	ErrRejected = errors.New("circuit breaker refuses")

	// ErrOpen: the breaker is open. ErrForced is also ErrOpen.
	ErrOpen error = &kind{"circuit breaker is open", ErrRejected}

	// ErrProbeLimit: the breaker is half-open and enough probes are under way.
	ErrProbeLimit error = &kind{"circuit breaker is half-open and its probes are under way", ErrRejected}

	// ErrForced: an operator holds the breaker open.
	ErrForced error = &kind{"circuit breaker is forced open", ErrOpen}
)

// kind is a kind of refusal, and the wider kind that it is one of.
type kind struct {
	text string
	of   error
}

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }

// IsRejected reports whether err is, or wraps, a breaker's refusal: the call was
// not made. An error that joins several, by [errors.Join] or several %w, is a
// refusal only if all of them are: a failover that got one refusal and one real
// failure has failed. What a method Is or As of an error claims does not count,
// nor what lies deeper than 1000 errors.
//
// Done, Do and DoWith use the same rule to tell refusals by other breakers.
func IsRejected(err error) bool {
	visits := 1000 // an error may wrap itself
	return rejected(err, &visits)
}

func rejected(err error, visits *int) bool {
	for *visits > 0 {
		*visits--
		switch e := err.(type) {
		case *RejectedError:
			return e != nil
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			return allRejected(e.Unwrap(), visits)
		default:
			return false
		}
	}
	return false
}

func allRejected(errs []error, visits *int) bool {
	for _, err := range errs {
		if !rejected(err, visits) {
			return false
		}
	}
	return len(errs) > 0
}

// RejectedError is a breaker's refusal. It is made once per breaker and kind,
// so that refusing allocates nothing; its methods say what is true at the
// moment.
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
	if name := e.breaker.cfg().Name; name != "" {
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
