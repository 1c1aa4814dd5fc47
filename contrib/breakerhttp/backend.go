package breakerhttp

import (
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
)

// Backend is one member of a [Pool].
type Backend struct {
	url     *url.URL
	address string // the key of its state
	host    string

	breaker   *atomicbreaker.Breaker
	transport Transport // asks the breaker
	beyond    Transport // goes past it, see PoolConfig.MaxOpen
	send      *sender   // below both

	weight  atomic.Uint64 // the bits of a float64
	drained atomic.Bool
	gone    atomic.Bool // no longer a member
	down    atomic.Bool // by an active check
	peer    peer
	turn    float64 // of RoundRobin, guarded by Pool.turning
}

// URL returns the base URL. It must not be changed.
func (b *Backend) URL() *url.URL { return b.url }

// Breaker returns the backend's breaker.
func (b *Backend) Breaker() *atomicbreaker.Breaker { return b.breaker }

// Beyond returns the breaker that counts, and refuses nothing of, what is sent
// past the backend's own because of [PoolConfig].MaxOpen.
func (b *Backend) Beyond() *atomicbreaker.Breaker { return b.beyond.Breaker }

// InFlight returns how many requests are in flight, to the end of their
// bodies, protocol upgrades included.
func (b *Backend) InFlight() int { return int(b.send.inFlight.Load()) }

// Weight returns the member's weight.
func (b *Backend) Weight() float64 { return math.Float64frombits(b.weight.Load()) }

// Drained reports whether new requests are kept away from it.
func (b *Backend) Drained() bool { return b.drained.Load() }

// Down reports whether the last active checks of [Pool.Check] failed.
func (b *Backend) Down() bool { return b.down.Load() }

// Share returns how much of its share of requests the backend gets, 0.1 to 1:
// less than 1 if it is much slower or fails more often than its peers.
func (b *Backend) Share() float64 { return b.peer.share() }

func (p *Pool) newBackend(m Member) (*Backend, error) {
	u, err := url.Parse(m.URL)
	if err != nil {
		return nil, err
	}
	config := p.config.Breaker
	config.Name = backendName(p.config.Breaker.Name, m.URL)
	breaker, err := atomicbreaker.New(config)
	if err != nil {
		return nil, fmt.Errorf("breakerhttp: backend %s: %w", m.URL, err)
	}
	beyond, err := atomicbreaker.New(maxopen.Of(config))
	if err != nil {
		return nil, fmt.Errorf("breakerhttp: backend %s: %w", m.URL, err)
	}
	b := &Backend{url: u, address: addressOf(m.URL), host: m.Host, breaker: breaker}
	b.send = &sender{base: p.config.Transport.Base, limit: p.config.ResponseTimeout}
	if b.send.base == nil {
		own := ownTransport(p.config.ResponseTimeout, m.Host)
		b.send.base = own
		b.send.idle = func() {
			if b.gone.Load() {
				own.CloseIdleConnections()
			}
		}
	}
	b.transport = p.config.Transport
	b.transport.Base, b.transport.Breaker = b.send, breaker
	b.beyond = b.transport
	b.beyond.Breaker = beyond
	return b, nil
}

// ownTransport is a transport for one backend alone.
func ownTransport(limit time.Duration, host string) *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if ok {
		t = t.Clone()
	} else {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second}
	}
	dial := 2 * time.Second
	if limit > 0 {
		dial = min(dial, limit/2)
	}
	t.DialContext = (&net.Dialer{Timeout: dial, KeepAlive: 30 * time.Second}).DialContext
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = 0, 1024, 50*time.Second
	t.DisableCompression = true
	if host != "" {
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{}
		}
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			name = host
		}
		t.TLSClientConfig.ServerName = name
	}
	return t
}

func (b *Backend) set(m Member) {
	weight := m.Weight
	if weight == 0 {
		weight = 1
	}
	b.weight.Store(math.Float64bits(weight))
	b.drained.Store(m.Drain)
}

// remove makes it let go of its connections, those in use when they are free.
func (b *Backend) remove() {
	b.gone.Store(true)
	if b.send.idle != nil {
		b.send.idle()
	}
}

func (b *Backend) closeIdle() {
	if base, ok := b.send.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// addressOf is the base URL in one spelling.
func addressOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return OriginOf(u).String() + strings.TrimSuffix(u.EscapedPath(), "/")
}

// past tells the breaker that counts what goes past the backend's own, and how
// much may be in flight there.
func (b *Backend) past() (*atomicbreaker.Breaker, int64) {
	return b.beyond.Breaker, b.send.inFlight.Load()
}
