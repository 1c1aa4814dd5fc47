package breakerhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Transport is an [http.RoundTripper] that asks a breaker before every
// exchange and tells it how the exchange went. It works below redirects and
// authentication: each hop is a call of its own.
//
// A refused call does not reach Base: its request body is closed and the
// caller gets no response and the breaker's refusal, for which
// [atomicbreaker.IsRejected] is true, also through the client's *url.Error.
//
// What an exchange says about health is decided when its headers are there:
//
//   - an error (dialling, TLS, a reset, any timeout) is a Failure, unless the
//     request's own context was cancelled: then it is Ignored. The breaker's
//     Classify may decide otherwise.
//   - statuses 500 to 599 but 501 and 505 are Failures, every other status is
//     a Success: the server answered. FailureStatuses and Classify change
//     that. A Failure by its status is Ignored if the caller had cancelled.
//   - a Retry-After of a response that is a Failure is the least cooldown of
//     an opening that this response causes.
//   - a panic in Base is a Failure, and passes through.
//
// A request whose context is done before it starts is not sent and not
// counted. The request goes to Base as it came, its context included; no
// deadline is added. A deadline on the context is cheaper than
// [http.Client.Timeout], for which net/http starts a goroutine per request
// as soon as its transport is wrapped.
//
// A Transport may be used concurrently; its fields must not change once it is
// in use. One that is wrongly set up, see [Transport.Validate], sends nothing
// and returns the fault from every call.
type Transport struct {
	// Base makes the exchanges. Default: http.DefaultTransport.
	Base http.RoundTripper

	// Breaker guards every request for which BreakerFor names no other. It
	// may be nil if BreakerFor always does.
	Breaker *atomicbreaker.Breaker

	// BreakerFor chooses the breaker of a request, for instance by its host,
	// and is asked once per hop of a redirect. It may run concurrently and
	// must not change the request. Where it returns nil, Breaker is used.
	// Default: nil.
	BreakerFor func(*http.Request) *atomicbreaker.Breaker

	// FailureStatuses are Failures whatever Classify says, each 200 to 599;
	// 429 is a usual one. Default: none.
	FailureStatuses []int

	// Classify decides what a response says about health if its status is not
	// in FailureStatuses, in place of the rule above. It may run concurrently
	// and must not read or close the body. A panic in it makes a Failure,
	// closes the response's body and passes through. It is not asked for a
	// 101 response nor for another breaker's refusal. Default: nil, the rule
	// above.
	Classify func(*http.Response) atomicbreaker.Outcome

	// JudgeBody waits with a Success until the body has ended: an error while
	// reading then makes it a Failure, or Ignored if the caller had cancelled;
	// the end of the body, or closing it early, a Success. A probe keeps its
	// place that long, and slow calls are timed to the end of the body; a body
	// that is neither read to its end nor closed is a probe without an answer.
	// It costs one allocation per call. Responses without a body, responses
	// that are no Success and bodies that can be written to (a protocol
	// upgrade) are always judged at the headers. Default: false.
	JudgeBody bool

	// Respond503 makes a refusal a response in place of an error, for callers
	// that understand only responses: status 503 with a Retry-After, which
	// [Refusal] recognises. Default: false.
	Respond503 bool
}

// Validate reports every fault of the settings, or nil.
func (t *Transport) Validate() error {
	var faults []error
	if t.Breaker == nil && t.BreakerFor == nil {
		faults = append(faults, errors.New("breakerhttp: Transport.Breaker is nil and so is BreakerFor: set one, see atomicbreaker.New"))
	}
	faults = append(faults, statusFaults("Transport", t.FailureStatuses)...)
	return errors.Join(faults...)
}

func statusFaults(of string, statuses []int) (faults []error) {
	for i, status := range statuses {
		if status < 200 || status > 599 {
			faults = append(faults, fmt.Errorf("breakerhttp: %s.FailureStatuses[%d] is %d, want 200 to 599", of, i, status))
		}
	}
	return faults
}

// RoundTrip sends the request through Base if the breaker admits it.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := t.breakerOf(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if t.JudgeBody {
		body := &judgedBody{ctx: req.Context()}
		if body.ticket, err = b.Acquire(); err != nil {
			return t.refuse(req, err)
		}
		return t.exchange(req, &body.ticket, body)
	}
	ticket, err := b.Acquire()
	if err != nil {
		return t.refuse(req, err)
	}
	return t.exchange(req, &ticket, nil)
}

// CloseIdleConnections passes on the call of the same name of an http.Client.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// breakerOf returns the breaker to ask, or why the request is not to be sent
// at all.
func (t *Transport) breakerOf(req *http.Request) (*atomicbreaker.Breaker, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if ctx := req.Context(); ctx.Err() != nil {
		return nil, context.Cause(ctx) // as http.Transport does
	}
	if t.BreakerFor != nil {
		if b := t.BreakerFor(req); b != nil {
			return b, nil
		}
	}
	if t.Breaker == nil {
		return nil, fmt.Errorf("breakerhttp: Transport.BreakerFor returned nil for %s, and Transport.Breaker is nil", req.URL.Redacted())
	}
	return t.Breaker, nil
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

// exchange makes the call and settles the ticket, or leaves that to body,
// which is nil unless JudgeBody is set and then holds the ticket.
func (t *Transport) exchange(req *http.Request, ticket *atomicbreaker.Ticket, body *judgedBody) (resp *http.Response, err error) {
	judged := false
	defer func() {
		if judged {
			return
		}
		// A panic or runtime.Goexit in Base or in Classify passes through.
		ticket.Report(atomicbreaker.Failure)
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
	}()
	resp, err = t.base().RoundTrip(req)
	t.judge(req, ticket, body, resp, err)
	judged = true
	return resp, err
}

func (t *Transport) judge(req *http.Request, ticket *atomicbreaker.Ticket, body *judgedBody, resp *http.Response, err error) {
	ctx := req.Context()
	if err != nil {
		ticket.Done(ctx, err)
		return
	}
	outcome := atomicbreaker.Failure // of a Base that returns neither response nor error
	if resp != nil {
		outcome = t.outcomeOf(resp)
	}
	switch {
	case outcome == atomicbreaker.Success && body != nil && worthJudging(req, resp):
		body.ReadCloser = resp.Body
		resp.Body = body
	case outcome == atomicbreaker.Failure && errors.Is(ctx.Err(), context.Canceled):
		ticket.Report(atomicbreaker.Ignored)
	case outcome == atomicbreaker.Failure && resp != nil:
		ticket.ReportAfter(outcome, retryAfter(resp.Header))
	default:
		ticket.Report(outcome)
	}
}

// outcomeOf classifies a response by its header.
func (t *Transport) outcomeOf(resp *http.Response) atomicbreaker.Outcome {
	switch code := resp.StatusCode; {
	case Refusal(resp) != nil:
		return atomicbreaker.Ignored // a breaker below refused: no server was asked
	case code == http.StatusSwitchingProtocols:
		return atomicbreaker.Success
	case slices.Contains(t.FailureStatuses, code):
		return atomicbreaker.Failure
	case t.Classify != nil:
		return t.Classify(resp)
	}
	return outcomeOfStatus(resp.StatusCode)
}

// outcomeOfStatus is the rule where the user gave none.
func outcomeOfStatus(code int) atomicbreaker.Outcome {
	switch {
	case code == http.StatusNotImplemented || code == http.StatusHTTPVersionNotSupported:
		return atomicbreaker.Success // an answer about the request, not about the server's health
	case code >= 500 && code <= 599:
		return atomicbreaker.Failure
	}
	return atomicbreaker.Success
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
