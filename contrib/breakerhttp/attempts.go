package breakerhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/local"
)

// attempts is one request's way through the backends.
type attempts struct {
	pool     *Pool
	req      *http.Request
	body     *heldBody
	tried    []*Backend
	sent     int  // tries that may have reached a backend
	repeated bool // the present try is a repetition that the budget paid
}

// verdict is what a try means for the request.
type verdict int

const (
	final   verdict = iota // it is answered, or nothing else is to be done
	notSent                // the backend got nothing of it
	failed                 // the backend may have got it, and another may do better
)

func (a *attempts) run() (*http.Response, error) {
	p := a.pool
	p.budget.request(p.clock.Now())
	b, way := p.choose(a.req, nil)
	if b == nil {
		return nil, ErrNoBackend
	}
	for {
		resp, err := a.try(b, way)
		v := a.judge(b, resp, err)
		if v == final {
			if err == nil && resp.StatusCode < 500 {
				p.budget.served(a.repeated)
			}
			return resp, err
		}
		a.tried = append(a.tried, b)
		next, nextWay := p.choose(a.req, a.tried)
		if nextWay == refused || !a.mayGoOn(v) {
			return resp, err
		}
		discard(resp)
		b, way = next, nextWay
	}
}

// try sends the request to one backend.
func (a *attempts) try(b *Backend, w way) (*http.Response, error) {
	out := a.request(b)
	start := a.pool.clock.Now()
	transport := &b.transport
	if w == beyond {
		transport = &b.beyond
	}
	resp, err := transport.RoundTrip(out)
	if !refusedBy(b, err) && a.req.Context().Err() == nil && !errors.Is(err, ErrRequest) && !local.Exhausted(err) {
		now := a.pool.clock.Now()
		a.pool.measured(b, now, now-start, err != nil || resp != nil && resp.StatusCode >= 500)
	}
	return resp, err
}

// judge says what a try means for the request.
func (a *attempts) judge(b *Backend, resp *http.Response, err error) verdict {
	switch {
	case a.req.Context().Err() != nil:
		return final
	case err == nil:
		a.sent++
		switch resp.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return failed
		}
		return final
	case errors.Is(err, ErrRequest):
		return final // no backend could do better
	case refusedBy(b, err) || notDialled(err):
		return notSent
	case atomicbreaker.IsRejected(err):
		return final // by a breaker that Base asks
	}
	a.sent++
	return failed
}

// mayGoOn reports whether the request may be sent to another backend.
func (a *attempts) mayGoOn(v verdict) bool {
	if v == failed && (!repeatable(a.req) || a.sent >= a.pool.config.Attempts) {
		return false
	}
	if a.body != nil && !a.body.rewind(a.req.GetBody) {
		return false
	}
	if v == notSent {
		return true
	}
	a.repeated = a.pool.budget.take(a.pool.clock.Now())
	return a.repeated
}

// repeatable is net/http's own rule, and PUT and DELETE, which RFC 9110,
// section 9.2.2, calls idempotent too.
func repeatable(req *http.Request) bool {
	switch req.Method {
	case "", "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return req.Header.Get("Upgrade") == ""
	}
	_, key := req.Header["Idempotency-Key"]
	_, xkey := req.Header["X-Idempotency-Key"]
	return key || xkey
}

// request is the request as one backend gets it.
func (a *attempts) request(b *Backend) *http.Request {
	out := *a.req
	u := *a.req.URL
	out.URL = &u
	rewrite := httputil.ProxyRequest{Out: &out}
	rewrite.SetURL(b.url)
	switch {
	case a.pool.config.PreserveHost:
		out.Host = a.req.Host
		if out.Host == "" {
			out.Host = a.req.URL.Host
		}
	case b.host != "":
		out.Host = b.host
	}
	if a.body != nil {
		out.Body = a.body
	}
	return &out
}

// discard closes an answer that nobody gets. A short one is read first, so
// that its connection can be used again.
func discard(resp *http.Response) {
	if resp == nil || resp.Body == nil {
		return
	}
	const short, patience = 4096, 50 * time.Millisecond
	if 0 <= resp.ContentLength && resp.ContentLength <= short {
		late := time.AfterFunc(patience, func() { resp.Body.Close() })
		defer late.Stop()
		io.Copy(io.Discard, io.LimitReader(resp.Body, short))
	}
	resp.Body.Close()
}

// refusedBy reports whether the error is the refusal of the backend's own
// breaker, and not one that a Base passed on.
func refusedBy(b *Backend, err error) bool {
	refusal, ok := errors.AsType[*atomicbreaker.RejectedError](err)
	return ok && refusal.Name() == b.breaker.Name()
}

// notDialled reports whether no connection came about, so that nothing of the
// request was sent.
func notDialled(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial" && !errors.Is(err, context.Canceled)
}
