package breakerhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/local"
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
//   - an error (dialling, TLS, a reset, any timeout) is a Failure. The breaker's
//     Classify may decide otherwise.
//   - if the request's own context has ended, it is judged by how long the server was
//     given, see [atomicbreaker.Config].Patience.
//   - what this process or the request's maker did is Local: a request that cannot be
//     sent (bad method, URL or header), a body that cannot be read or is over a limit, such as that of
//     [http.MaxBytesHandler], a body for which the server was kept waiting until the context
//     ended, and a lack of descriptors, ports or buffers here. The error of the first
//     three Is [ErrRequest].
//   - statuses 500 to 599 but 501 and 505 are Failures. Those that judge the request
//     are Ignored: 400, 401, 403, 405, 406, 411, 413 to 417, 421, 422, 426, 428 and 431.
//     Every other status is a Success: the server looked. FailureStatuses and
//     Classify change that.
//   - a Retry-After of a response that is a Failure is the least cooldown of
//     an opening that this response causes.
//   - a panic in Base is a Failure, and passes through.
//
// 429 is a Success, as a server that keeps one client to its quota is well, and
// refusing all clients for it would be wrong. Where a server says by it that it
// is overloaded for everybody, list it in FailureStatuses; where it means
// both, tell them apart in Classify, by its headers.
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
	// 429 is a usual one, where it means overload. Default: none.
	FailureStatuses []int

	// Classify decides what a response says about health if its status is not
	// in FailureStatuses, in place of the rule above. It may run concurrently
	// and must not read or close the body. A panic in it makes a Failure,
	// closes the response's body and passes through. It is not asked for a
	// 101 response nor for another breaker's refusal. Default: nil, the rule
	// above.
	Classify func(*http.Response) atomicbreaker.Outcome

	// JudgeBody judges the end of a body too, where the header was a Success. A
	// Failure is: an error while reading, by Config.Patience if the caller's context has ended; a Read that waits
	// longer than StallTimeout; and what the reader says by [Fail]. Closing the body, at its end or
	// before, is a Success. Its end is one too if it is not closed within a second.
	// A reader that is slow is no fault of the server: an error after a reader was away for longer than it
	// waited, and for at least a second, is Local.
	//
	// For a probe the header is the verdict in any case, so that long answers do not keep a
	// breaker half-open. Slow calls are timed to the end of the body. It costs some allocations per call.
	// Responses without a body, responses that are no Success and bodies that can be written to (a protocol
	// upgrade) are always judged at the headers. Default: false.
	JudgeBody bool

	// StallTimeout is how long a Read of a response's body may wait before the
	// server has failed, 1 ms to 24 h. It is measured only while a Read waits, and it ends
	// none: that is the caller's to do. Off: any time. Setting a limit turns JudgeBody on.
	// Default: 30 s with JudgeBody.
	StallTimeout time.Duration

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
	if d := t.StallTimeout; d != 0 && !isOff(d) && (d < time.Millisecond || d > 24*time.Hour) {
		faults = append(faults, fmt.Errorf("breakerhttp: Transport.StallTimeout is %v, want 1ms to 24h, 0 for the default of 30s, or Off", d))
	}
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
	if t.JudgeBody || t.StallTimeout > 0 {
		body := &judgedBody{ctx: req.Context(), stall: cmp.Or(t.StallTimeout, 30*time.Second)}
		if body.ticket, err = b.AcquireContext(req.Context()); err != nil {
			return t.refuse(req, err)
		}
		return t.exchange(req, &body.ticket, body)
	}
	ticket, err := b.AcquireContext(req.Context())
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
	out, upload := watchUpload(req)
	var start time.Time
	if upload != nil {
		start = time.Now()
	}
	resp, err = t.base().RoundTrip(out)
	if resp != nil && resp.Request == out {
		resp.Request = req
	}
	if err != nil {
		err = judgeError(req, ticket, upload, start, err)
	} else {
		t.judge(req, ticket, body, upload, resp)
	}
	judged = true
	return resp, err
}

// judgeError settles the ticket of an exchange without an answer, and returns the
// error for the caller.
func judgeError(req *http.Request, ticket *atomicbreaker.Ticket, up *upload, start time.Time, err error) error {
	ctx := local.CallerOf(req.Context())
	switch fault := up.fault(); {
	case fault != nil:
		err = &requestError{"its body cannot be read", cause(err, fault)}
	case atomicbreaker.IsRejected(err):
		ticket.Done(ctx, err)
		return err
	case ctx.Err() != nil && up.hindered(start), local.Exhausted(err):
	case ctx.Err() == nil && unsendable(req, err):
		err = &requestError{"it is malformed", err}
	default:
		ticket.Done(ctx, err)
		return err
	}
	ticket.Report(atomicbreaker.Local)
	return err
}

// cause is the error of an exchange and the fault of its request's body, of which
// net/http tells one or both.
func cause(err, fault error) error {
	if errors.Is(err, fault) {
		return err
	}
	return errors.Join(fault, err)
}

// judge settles the ticket by a response.
func (t *Transport) judge(req *http.Request, ticket *atomicbreaker.Ticket, body *judgedBody, up *upload, resp *http.Response) {
	ctx := req.Context()
	outcome := atomicbreaker.Failure // of a Base that returns neither response nor error
	if resp != nil {
		outcome = t.outcomeOf(resp)
	}
	switch {
	case outcome == atomicbreaker.Success && body != nil && worthJudging(req, resp):
		ticket.Answered()
		body.put(req, resp)
	case outcome == atomicbreaker.Failure && up.fault() != nil:
		ticket.Report(atomicbreaker.Local) // the server answered what it got
	case outcome == atomicbreaker.Failure && ctx.Err() != nil:
		ticket.Done(ctx, errFailed)
	case outcome == atomicbreaker.Failure && resp != nil:
		ticket.ReportAfter(outcome, retryAfter(resp.Header))
	default:
		ticket.Report(outcome)
	}
}

// errFailed stands for a status that is a Failure.
var errFailed = errors.New("breakerhttp: the status is a failure")

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
	switch code {
	case 400, 401, 403, 405, 406, 411, 413, 414, 415, 416, 417, 421, 422, 426, 428, 431:
		// It is about the request, and would be the same from a server that can do nothing else.
		return atomicbreaker.Ignored
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return atomicbreaker.Success // an answer about the request, not about the server's health
	}
	if code >= 500 && code <= 599 {
		return atomicbreaker.Failure
	}
	return atomicbreaker.Success
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
