package breakerhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Handler is server middleware: it asks a breaker before every request, and
// tells it how the request went. A request that the breaker refuses does not
// reach Next; it is answered with 503 and, unless an operator holds the
// breaker open, a Retry-After.
//
// What a request says about health is decided when Next returns:
//
//   - statuses 500 to 599 but 501 and 505 are Failures, every other one is a
//     Success. FailureStatuses and Classify change that. A Retry-After that
//     Next set on a Failure is the least cooldown of an opening that it causes.
//   - a client that has left by then makes the request Ignored, whatever was
//     answered.
//   - a panic is a Failure, and passes through. So is [http.ErrAbortHandler],
//     by which a reverse proxy tells that a backend's answer broke off, unless the client had left.
//   - a protocol upgrade is a Success at the moment of the upgrade: a session
//     is not a call.
//
// The ResponseWriter that Next gets can do what the server's own can, by
// [http.ResponseController] and by type assertion: flush, hijack, push, and
// io.ReaderFrom.
//
// A Handler may be used concurrently; its fields must not change once it is
// in use. One that is wrongly set up, see [Handler.Validate], panics with the
// fault at the first request.
type Handler struct {
	// Next serves the requests that are admitted.
	Next http.Handler

	// Breaker guards every request for which BreakerFor names no other. It
	// may be nil if BreakerFor always does.
	Breaker *atomicbreaker.Breaker

	// BreakerFor chooses the breaker of a request, for instance by its path.
	// It may run concurrently. Where it returns nil, Breaker is used. Default: nil.
	BreakerFor func(*http.Request) *atomicbreaker.Breaker

	// FailureStatuses are Failures whatever Classify says, each 200 to 599.
	// Default: none.
	FailureStatuses []int

	// Classify decides what an answer says about health if its status is not
	// in FailureStatuses, in place of the rule above. It gets the status and
	// the header that Next answered with, and may run concurrently. A panic in
	// it makes a Failure and passes through. Default: nil, the rule above.
	Classify func(status int, header http.Header) atomicbreaker.Outcome

	// Refuse answers a request that was refused, by an error for which
	// [atomicbreaker.IsRejected] is true. Default: [WriteRefusal].
	Refuse func(w http.ResponseWriter, r *http.Request, refusal error)
}

// Validate reports every fault of the settings, or nil.
func (h *Handler) Validate() error {
	var faults []error
	if h.Next == nil {
		faults = append(faults, errors.New("breakerhttp: Handler.Next is nil: set the handler to guard"))
	}
	if h.Breaker == nil && h.BreakerFor == nil {
		faults = append(faults, errors.New("breakerhttp: Handler.Breaker is nil and so is BreakerFor: set one, see atomicbreaker.New"))
	}
	faults = append(faults, statusFaults("Handler", h.FailureStatuses)...)
	return errors.Join(faults...)
}

// ServeHTTP passes the request to Next if the breaker admits it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var s served
	var err error
	if s.ticket, err = h.breakerOf(r).Acquire(); err != nil {
		if h.Refuse != nil {
			h.Refuse(w, r, err)
			return
		}
		WriteRefusal(w, err)
		return
	}
	s.ResponseWriter = w
	defer h.settle(&s, r)
	h.Next.ServeHTTP(s.writer(), r)
	s.returned = true
}

func (h *Handler) breakerOf(r *http.Request) *atomicbreaker.Breaker {
	if err := h.Validate(); err != nil {
		panic(err)
	}
	if h.BreakerFor != nil {
		if b := h.BreakerFor(r); b != nil {
			return b
		}
	}
	if h.Breaker == nil {
		panic(fmt.Errorf("breakerhttp: Handler.BreakerFor returned nil for %s, and Handler.Breaker is nil", r.URL.Path))
	}
	return h.Breaker
}

// settle runs when Next has returned, panicked or ended its goroutine.
func (h *Handler) settle(s *served, r *http.Request) {
	defer s.ticket.Report(atomicbreaker.Failure) // if the context, the writer or Classify panics
	left := errors.Is(r.Context().Err(), context.Canceled)
	if !s.returned {
		// Recovered and raised again from within the deferred call, a panic
		// keeps its value and its stack. nil is runtime.Goexit.
		cause := recover()
		outcome := atomicbreaker.Failure
		if left && cause == http.ErrAbortHandler { // as the server compares it
			outcome = atomicbreaker.Ignored
		}
		s.ticket.Report(outcome)
		if cause != nil {
			panic(cause)
		}
		return
	}
	if left {
		s.ticket.Report(atomicbreaker.Ignored)
		return
	}
	header := s.Header()
	s.ticket.ReportAfter(h.outcomeOf(s.status, header), retryAfter(header))
}

func (h *Handler) outcomeOf(status int, header http.Header) atomicbreaker.Outcome {
	if status == 0 { // nothing written: the server sends 200
		status = http.StatusOK
	}
	switch {
	case slices.Contains(h.FailureStatuses, status):
		return atomicbreaker.Failure
	case h.Classify != nil:
		return h.Classify(status, header)
	}
	return outcomeOfStatus(status)
}

// WriteRefusal answers a request with a breaker's refusal: 503, and a
// Retry-After of the time left, rounded up to seconds and at least one, unless
// an operator holds the breaker open.
func WriteRefusal(w http.ResponseWriter, refusal error) {
	if after := retryAfterSeconds(refusal); after > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(after, 10))
	}
	http.Error(w, "service unavailable: circuit breaker is open", http.StatusServiceUnavailable)
}
