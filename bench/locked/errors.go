package locked

import (
	"errors"
	"fmt"
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

// Is reports whether target is ErrOpen for a breaker that is forced open.
func (e *RejectedError) Is(target error) bool {
	return target == atomicbreaker.ErrOpen && e.kind == atomicbreaker.ErrForced
}

// rejected reports whether err is, or wraps, the refusal of any breaker.
func rejected(err error) bool {
	_, own := errors.AsType[*RejectedError](err)
	return own || atomicbreaker.Rejected(err)
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
