package breakerhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Handler is server middleware: it asks a breaker before every request, and
// tells it how the request went. A request that the breaker refuses does not
// reach Next; it is answered with 503 and, unless an operator holds the
// breaker open, a Retry-After.
//
// What a request says about health:
//
//   - statuses 500 to 599 but 501 and 505 are Failures; those that judge the request are Ignored, as
//     [Transport] lists them; every other one is a Success. FailureStatuses and
//     Classify change that. A Retry-After that
//     Next set on a Failure is the least cooldown of an opening that it causes. For a probe the
//     header is the verdict.
//   - if the request's deadline has passed before anything was written, it is a
//     Failure, also where a wrapper, such as [http.TimeoutHandler] around the Handler, answers in Next's stead.
//   - a client that leaves before there is an answer is judged by how long Next had, see
//     [atomicbreaker.Config].Patience. One that leaves while it gets a good answer is Local.
//   - where reading the request's body has failed, as that of a client that has broken off, that is
//     over the limit of an [http.MaxBytesHandler] around the Handler, or for which Next waited until the end, a Failure is
//     Local instead. A limit inside of Next is not seen: answer there with 413.
//   - a panic is a Failure, and passes through. So is [http.ErrAbortHandler],
//     by which a reverse proxy tells that a backend's answer broke off, unless the client had left or its body failed.
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
	// the header that Next answered with, at that moment, and may run concurrently. A panic in
	// it makes a Failure and passes through, in Next. Default: nil, the rule above.
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
	s := served{handler: h, ctx: r.Context()}
	var err error
	if s.ticket, err = h.breakerOf(r).AcquireContext(s.ctx); err != nil {
		if h.Refuse != nil {
			h.Refuse(w, r, err)
			return
		}
		WriteRefusal(w, err)
		return
	}
	s.ResponseWriter = w
	defer h.settle(&s)
	if r.Body != nil && r.Body != http.NoBody {
		// In its place: of a copy of the request the server would not see a form's files.
		s.start, s.upload = time.Now(), &upload{want: -1}
		whole := r.Body
		r.Body = &uploadBody{ReadCloser: whole, upload: s.upload}
		defer func() { r.Body = whole }()
	}
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
func (h *Handler) settle(s *served) {
	defer s.ticket.Report(atomicbreaker.Failure) // if the context, the writer or Classify panics
	if !s.returned {
		// Recovered and raised again from within the deferred call, a panic
		// keeps its value and its stack. nil is runtime.Goexit.
		cause := recover()
		if cause == http.ErrAbortHandler { // as the server compares it
			s.aborted()
		}
		s.ticket.Report(atomicbreaker.Failure)
		if cause != nil {
			panic(cause)
		}
		return
	}
	s.settle()
}

func (h *Handler) outcomeOf(status int, header http.Header) atomicbreaker.Outcome {
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
	http.Error(w, "service unavailable", http.StatusServiceUnavailable)
}
