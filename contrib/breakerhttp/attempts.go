package breakerhttp

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// attempts is one request's way through the backends.
type attempts struct {
	pool  *Pool
	req   *http.Request
	turn  uint32
	body  *heldBody
	tried []*Backend // nil until the second try
}

func (a *attempts) run() (*http.Response, error) {
	for {
		b := a.choose()
		resp, err := a.try(b)
		if err == nil || !a.mayGoOn(b, err) {
			return resp, err
		}
		if a.tried == nil {
			a.tried = make([]*Backend, 0, len(a.pool.backends))
		}
		a.tried = append(a.tried, b)
		if next := a.choose(); len(a.tried) == len(a.pool.backends) || !next.breaker.Ready() {
			return nil, err
		}
	}
}

// choose returns a ready backend that was not tried. If there is none, it
// returns the one that will be ready first, for its refusal.
func (a *attempts) choose() *Backend {
	var first, soonest *Backend
	var ready int
	var wait time.Duration
	for b := range a.untried() {
		if !b.breaker.Ready() {
			if w := waitFor(b.breaker); soonest == nil || w < wait {
				soonest, wait = b, w
			}
			continue
		}
		ready++
		if first == nil || a.pool.choice == LeastInFlight && b.inFlight.Load() < first.inFlight.Load() {
			first = b
		}
	}
	switch {
	case first == nil:
		return soonest
	case ready == 1 || a.pool.choice == LeastInFlight:
		return first
	}
	// The turn goes round those that are ready: taking the next one that is
	// would give a dead backend's share to its neighbour alone.
	turn := int(a.turn % uint32(ready))
	for b := range a.untried() {
		if b.breaker.Ready() {
			first = b
			if turn--; turn < 0 {
				break
			}
		}
	}
	return first
}

// untried ranges over the backends that were not tried. Where the choice is
// by load it begins elsewhere each time, so that equals share.
func (a *attempts) untried() iter.Seq[*Backend] {
	return func(yield func(*Backend) bool) {
		all := a.pool.backends
		var start int
		if a.pool.choice == LeastInFlight {
			start = int(a.turn % uint32(len(all)))
		}
		for i := range all {
			if b := all[(start+i)%len(all)]; !slices.Contains(a.tried, b) && !yield(b) {
				return
			}
		}
	}
}

// waitFor orders breakers that are not ready: half-open, open, forced open.
func waitFor(b *atomicbreaker.Breaker) time.Duration {
	after := b.RetryAfter()
	if after == 0 && b.State() == atomicbreaker.StateOpen {
		return 1<<63 - 1
	}
	return after
}

// try sends the request to one backend.
func (a *attempts) try(b *Backend) (*http.Response, error) {
	out := a.request(b)
	if a.pool.choice != LeastInFlight {
		return b.transport.RoundTrip(out)
	}
	b.inFlight.Add(1)
	landed := false
	defer func() {
		if !landed {
			b.inFlight.Add(-1)
		}
	}()
	resp, err := b.transport.RoundTrip(out)
	if err != nil || resp == nil || resp.Body == nil || resp.Body == http.NoBody {
		return resp, err
	}
	landed = true
	resp.Body = countedBody(resp.Body, &b.inFlight)
	return resp, nil
}

// request is the request as one backend gets it.
func (a *attempts) request(b *Backend) *http.Request {
	out := *a.req
	u := *a.req.URL
	out.URL = &u
	rewrite := httputil.ProxyRequest{Out: &out}
	rewrite.SetURL(b.url)
	if a.pool.preserveHost {
		out.Host = a.req.Host
		if out.Host == "" {
			out.Host = a.req.URL.Host
		}
	}
	if a.body != nil {
		out.Body = a.body
	}
	return &out
}

// mayGoOn reports whether the request did not reach a backend, and can be
// sent to another.
func (a *attempts) mayGoOn(b *Backend, err error) bool {
	if a.req.Context().Err() != nil || !refusedBy(b, err) && !notDialled(err) {
		return false
	}
	return a.body == nil || a.body.rewind(a.req.GetBody)
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
