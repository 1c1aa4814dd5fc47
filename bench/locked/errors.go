package locked

import (
	"fmt"
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// RejectedError is a refusal by a breaker of this package. It is made once
// per breaker and kind. For errors.Is it is the same as the refusal of an
// [atomicbreaker.Breaker].
type RejectedError struct {
	kind       error
	name, text string
	retryAfter func() time.Duration
}

// Error tells the kind of refusal and the breaker's name.
func (e *RejectedError) Error() string { return e.text }

// Name returns the name of the breaker that refused.
func (e *RejectedError) Name() string { return e.name }

// RetryAfter returns how long the breaker will go on refusing, as known at
// the moment of this call.
func (e *RejectedError) RetryAfter() time.Duration { return e.retryAfter() }

// Unwrap returns atomicbreaker.ErrOpen, ErrProbeLimit or ErrForced.
func (e *RejectedError) Unwrap() error { return e.kind }

// rejected reports whether err is, or wraps, the refusal of any breaker. One
// that joins several is a refusal if all of them are.
func rejected(err error) bool { return rejectedWithin(err, 1000) }

// rejectedWithin looks at no chain longer than depth: an error may wrap itself.
func rejectedWithin(err error, depth int) bool {
	if depth == 0 {
		return false
	}
	switch e := err.(type) {
	case *RejectedError:
		return e != nil
	case *atomicbreaker.RejectedError:
		return e != nil
	case interface{ Unwrap() error }:
		return rejectedWithin(e.Unwrap(), depth-1)
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		real := func(part error) bool { return !rejectedWithin(part, depth-1) }
		return len(all) > 0 && !slices.ContainsFunc(all, real)
	}
	return false
}

// refusals makes the errors for every kind of refusal.
func refusals(name string, retryAfter func() time.Duration) (all [verdicts]error) {
	kinds := [verdicts]error{
		refusedOpen:     atomicbreaker.ErrOpen,
		refusedHalfOpen: atomicbreaker.ErrProbeLimit,
		refusedForced:   atomicbreaker.ErrForced,
	}
	for v, kind := range kinds {
		if kind == nil {
			continue
		}
		text := kind.Error()
		if name != "" {
			text = fmt.Sprintf("%s: %s", name, text)
		}
		all[v] = &RejectedError{kind: kind, name: name, text: text, retryAfter: retryAfter}
	}
	return all
}
