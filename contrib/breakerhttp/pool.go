package breakerhttp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// PoolConfig describes a [Pool].
type PoolConfig struct {
	// Backends are the base URLs of the backends, at least one, each once:
	// http or https with a host, and neither user, query nor fragment. A path
	// is put before the request's.
	Backends []string

	// Breaker is the configuration of each backend's breaker but for its
	// name, which is Breaker.Name, if set, a space, and the backend's URL.
	Breaker atomicbreaker.Config

	// Choice is how a backend is chosen. Default: RoundRobin.
	Choice Choice

	// Transport is how requests are sent and judged: its Base,
	// FailureStatuses, Classify and JudgeBody hold for every backend. Its
	// other fields must be unset. Default: http.DefaultTransport, judged as
	// [Transport] says.
	Transport Transport

	// PreserveHost sends the request's Host header on as it is, in place of the
	// backend's host. Default: false.
	PreserveHost bool
}

// Choice is how a [Pool] chooses among the backends whose breakers are ready.
type Choice int

const (
	RoundRobin    Choice = iota // each in turn
	LeastInFlight               // the one with the fewest requests in flight, to the end of their bodies
)

// Backend is one member of a [Pool].
type Backend struct {
	url       *url.URL
	breaker   *atomicbreaker.Breaker
	transport Transport
	inFlight  atomic.Int64
}

// URL returns the base URL. It must not be changed.
func (b *Backend) URL() *url.URL { return b.url }

// Breaker returns the backend's breaker.
func (b *Backend) Breaker() *atomicbreaker.Breaker { return b.breaker }

// InFlight returns how many requests are in flight, to the end of their
// bodies, protocol upgrades included. Only a pool that chooses by
// LeastInFlight counts them; otherwise it is 0.
func (b *Backend) InFlight() int { return int(b.inFlight.Load()) }

// Pool spreads requests over backends with a breaker each. It chooses by
// [atomicbreaker.Breaker.Ready], a pure question, so that a backend which is
// not chosen keeps its probe, and then claims.
//
// A request goes to the next backend if one refuses it after all or cannot be
// dialled, as long as its body has not been read or can be had anew by
// GetBody; each backend is tried once. It does not go on after
// anything else: the first backend may have acted on it. Every try counts for its own backend.
//
// If no backend is ready, the request is refused at once, by the breaker that
// will be ready first: there is no limit on how many may be open. The refusal
// is an error for which [atomicbreaker.IsRejected] is true.
//
// A Pool is an [http.RoundTripper], for an [http.Client] whose requests name
// any host, and the heart of [Pool.Proxy]. It may be used concurrently.
type Pool struct {
	backends     []*Backend
	choice       Choice
	preserveHost bool
	turn         atomic.Uint32
}

// NewPool makes a pool. The error joins every fault of the configuration.
func NewPool(c PoolConfig) (*Pool, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Pool{choice: c.Choice, preserveHost: c.PreserveHost}
	for _, base := range c.Backends {
		u, err := url.Parse(base)
		if err != nil {
			return nil, err
		}
		config := c.Breaker
		config.Name = backendName(c.Breaker.Name, base)
		breaker, err := atomicbreaker.New(config)
		if err != nil {
			return nil, fmt.Errorf("breakerhttp: backend %s: %w", base, err)
		}
		b := &Backend{url: u, breaker: breaker, transport: c.Transport}
		b.transport.Breaker = breaker
		p.backends = append(p.backends, b)
	}
	return p, nil
}

func backendName(name, base string) string {
	if name == "" {
		return base
	}
	return name + " " + base
}

// Validate reports every fault of the settings, or nil.
func (c PoolConfig) Validate() error {
	var faults []error
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerhttp: PoolConfig."+format, args...))
	}
	if len(c.Backends) == 0 {
		add("Backends is empty, want at least one URL")
	}
	seen := map[Origin]int{}
	for i, base := range c.Backends {
		u, err := url.Parse(base)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			if u != nil {
				base = u.Redacted()
			}
			add("Backends[%d] is %q, want http:// or https:// and a host, without user, query or fragment", i, base)
			continue
		}
		o := OriginOf(u)
		if first, twice := seen[o]; twice {
			add("Backends[%d] is %s, as Backends[%d] is, want each once", i, o, first)
			continue
		}
		seen[o] = i
	}
	if err := c.Breaker.Validate(); err != nil {
		faults = append(faults, err)
	}
	if c.Choice != RoundRobin && c.Choice != LeastInFlight {
		add("Choice is %d, want RoundRobin or LeastInFlight", c.Choice)
	}
	if t := c.Transport; t.Breaker != nil || t.BreakerFor != nil || t.Respond503 {
		add("Transport sets Breaker, BreakerFor or Respond503, want none: the pool has a breaker per backend and refuses by error")
	}
	faults = append(faults, statusFaults("PoolConfig.Transport", c.Transport.FailureStatuses)...)
	return errors.Join(faults...)
}

// Backends returns the backends in the order in which they were given.
func (p *Pool) Backends() []*Backend { return slices.Clone(p.backends) }

// Ready reports whether a backend would be tried now. It is a pure question.
func (p *Pool) Ready() bool {
	for _, b := range p.backends {
		if b.breaker.Ready() {
			return true
		}
	}
	return false
}

// RoundTrip sends the request to a backend.
func (p *Pool) RoundTrip(req *http.Request) (*http.Response, error) {
	a := attempts{pool: p, req: req, turn: p.turn.Add(1) - 1}
	if req.Body != nil && req.Body != http.NoBody {
		a.body = &heldBody{ReadCloser: req.Body}
	}
	resp, err := a.run()
	if a.body != nil {
		a.body.release(err != nil)
	}
	return resp, err
}

// CloseIdleConnections passes on the call of the same name of an http.Client.
func (p *Pool) CloseIdleConnections() { p.backends[0].transport.CloseIdleConnections() }
