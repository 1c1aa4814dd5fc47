package breakerhttp

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
)

// Pool spreads requests over backends with a breaker each. It chooses by
// [atomicbreaker.Breaker.Ready], a pure question, so that a backend which is
// not chosen keeps its probe, and then claims.
//
// A request goes on to another backend, each of which is tried once:
//
//   - whatever its method, if a backend's breaker refuses it after all or the
//     backend cannot be dialled: nothing was sent.
//   - if it may be repeated, after 502, 503 or 504, an error such as a reset,
//     or [PoolConfig].ResponseTimeout. A request may be repeated if its method
//     is GET, HEAD, OPTIONS, TRACE, PUT or DELETE, or if it has an
//     Idempotency-Key or X-Idempotency-Key header, as net/http itself has it.
//     How often is bounded by Attempts and RetryShare.
//
// It goes on only if its body has not been read or can be had again from GetBody,
// and never once the request's context is done. Any other request, a POST
// above all, is sent to one backend only: that one may have acted on it.
// Every try counts for its own backend.
//
// If no backend may be asked, the request is refused at once by the breaker
// that will be ready first. The refusal is an error for which
// [atomicbreaker.IsRejected] is true. [PoolConfig].MaxOpen says how many may refuse.
//
// A member that is much slower than its peers or fails more often gets less,
// down to a tenth of its share, long before its breaker opens: see
// [PoolConfig].Outlier.
//
// A Pool is an [http.RoundTripper], for an [http.Client] whose requests name
// any host, and the heart of [Pool.Proxy]. A redirect that such a client
// follows to another host goes there, past the pool and its breakers. A Pool
// may be used concurrently. It starts no goroutine; [Pool.Follow] and
// [Pool.Check] run on the caller's.
type Pool struct {
	config  PoolConfig
	clock   clock.Clock
	members atomic.Pointer[[]*Backend]
	budget  *budget
	peers   peers

	setting sync.Mutex // one Set at a time
	turning sync.Mutex // guards Backend.turn
}

// ErrNoBackend is the error of a request for which the pool has no member that
// takes requests: all are drained.
var ErrNoBackend = errors.New("breakerhttp: no backend takes requests: all are drained")

// NewPool makes a pool. The error joins every fault of the configuration.
func NewPool(c PoolConfig) (*Pool, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	c.Transport.FailureStatuses = slices.Clone(c.Transport.FailureStatuses)
	p := &Pool{config: c, clock: c.Breaker.Clock}
	p.budget = newBudget(c.RetryShare, p.clock.Now())
	p.members.Store(new([]*Backend))
	return p, p.Set(c.allMembers()...)
}

// Set changes the members while the pool runs. A member whose URL is that of
// a present one is that one: it keeps its breaker, its figures and its
// requests, and takes over weight, Drain and Host. One that is no longer named gets no more
// requests; those that it has go on to their end. The order is that of the
// arguments. The error joins every fault; the members are then unchanged.
func (p *Pool) Set(members ...Member) error {
	if err := errors.Join(memberFaults("Members", members)...); err != nil {
		return err
	}
	p.setting.Lock()
	defer p.setting.Unlock()
	old := *p.members.Load()
	next := make([]*Backend, len(members))
	for i, m := range members {
		k := slices.IndexFunc(old, func(b *Backend) bool { return b.address == addressOf(m.URL) && b.host == m.Host })
		if k >= 0 {
			next[i] = old[k]
		} else {
			b, err := p.newBackend(m)
			if err != nil {
				return err
			}
			next[i] = b
		}
	}
	for i, m := range members {
		next[i].set(m)
	}
	p.members.Store(&next)
	for _, b := range old {
		if !slices.Contains(next, b) {
			b.remove()
		}
	}
	return nil
}

// Backends returns the members in the order in which they were given.
func (p *Pool) Backends() []*Backend { return slices.Clone(*p.members.Load()) }

// Ready reports whether a backend would be tried now. It is a pure question.
func (p *Pool) Ready() bool {
	_, way := p.choose(nil, nil)
	return way != refused
}

// RoundTrip sends the request to a backend.
func (p *Pool) RoundTrip(req *http.Request) (*http.Response, error) {
	if b := p.foreign(req); b != nil {
		return b.send.base.RoundTrip(req)
	}
	a := attempts{pool: p, req: req}
	if req.Body != nil && req.Body != http.NoBody {
		a.body = &heldBody{ReadCloser: req.Body}
	}
	resp, err := a.run()
	if a.body != nil {
		a.body.release(err != nil)
	}
	if resp != nil {
		// To the caller the exchange is with whom it named; its client
		// follows redirects from there.
		resp.Request = req
		if b, ok := resp.Body.(*judgedBody); ok {
			resp.Request = b.mark(req)
		}
	}
	return resp, err
}

// CloseIdleConnections passes on the call of the same name of an http.Client.
func (p *Pool) CloseIdleConnections() {
	for _, b := range *p.members.Load() {
		b.closeIdle()
	}
}

// foreign returns a backend by whose transport to send a request that a client
// made by following a redirect to a host which is neither the one that it
// asked first nor a member, or nil for every other request.
func (p *Pool) foreign(req *http.Request) *Backend {
	if req.Response == nil {
		return nil
	}
	first := req
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	to := OriginOf(req.URL)
	members := *p.members.Load()
	if to == OriginOf(first.URL) || slices.ContainsFunc(members, func(b *Backend) bool { return OriginOf(b.url) == to }) {
		return nil
	}
	return members[0]
}

// withDefaults fills in what is not set.
func (c PoolConfig) withDefaults() PoolConfig {
	if c.Breaker.Clock == nil {
		c.Breaker.Clock = clock.System()
	}
	c.Attempts = cmp.Or(c.Attempts, 3)
	c.RetryShare = cmp.Or(c.RetryShare, 0.2)
	if c.ResponseTimeout == 0 {
		c.ResponseTimeout = 30 * time.Second
	}
	c.MaxOpen = cmp.Or(c.MaxOpen, maxopen.Default)
	c.Breaker.ConsecutiveFailures = cmp.Or(c.Breaker.ConsecutiveFailures, maxopen.Streak)
	c.Outlier = cmp.Or(c.Outlier, 3)
	return c
}

func backendName(name, base string) string {
	if name == "" {
		return base
	}
	return name + " " + base
}

// isOff reports whether a setting was switched off.
func isOff[T ~int64 | ~float64](v T) bool { return v == atomicbreaker.Off }
