package breakercaddy

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// CircuitBreaker is for the circuit_breaker hook of Caddy's reverse proxy,
// which only JSON can name:
//
//	{"handler": "reverse_proxy", "circuit_breaker": {"type": "atomicbreaker", "failure_rate": 0.3}, ...}
//
// The hook has limits that no module can lift. There is one breaker for a
// handler with all its upstreams: when it opens, every request gets 503, with
// no Retry-After. It sees responses only, at their headers, never an
// upstream that cannot be dialled, a timeout, or a body that breaks off. It is asked whether
// requests may go, by anybody and often, Caddy's own metrics included, and
// does not learn whether a request was sent. So while half-open it says yes once in
// ProbeInterval; an answer that nobody uses costs one interval. Prefer
// [Transport] and [Policy] wherever they can be used.
type CircuitBreaker struct {
	Settings

	// ProbeInterval is the time between two requests that a half-open breaker
	// lets through, 1 ms to 1 h. Default: 1 s.
	ProbeInterval caddy.Duration `json:"probe_interval,omitempty"`

	breaker *atomicbreaker.Breaker
	slow    time.Duration
	key     setKey
	base    time.Time
	granted atomic.Int64 // when it last said yes while half-open, since base; 0 is never
}

// CaddyModule is for Caddy.
func (*CircuitBreaker) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.reverse_proxy.circuit_breakers.atomicbreaker", New: func() caddy.Module { return new(CircuitBreaker) }}
}

// Provision is for Caddy.
func (c *CircuitBreaker) Provision(ctx caddy.Context) error {
	if c.ProbeInterval == 0 {
		c.ProbeInterval = caddy.Duration(time.Second)
	}
	if d := time.Duration(c.ProbeInterval); d < time.Millisecond || d > time.Hour {
		return errors.New("breakercaddy: probe_interval is " + d.String() + ", want 1ms to 1h")
	}
	set, key, err := openSet(ctx, "handler", &c.Settings)
	if err != nil {
		return err
	}
	c.key, c.base = key, time.Now()
	c.slow = time.Duration(c.SlowCallDuration)
	// Handlers with other upstreams have other breakers, whatever their settings.
	var upstreams []string
	for _, m := range ctx.Modules() {
		if h, ok := m.(*reverseproxy.Handler); ok {
			for _, u := range h.Upstreams {
				upstreams = append(upstreams, u.Dial)
			}
		}
	}
	slices.Sort(upstreams)
	c.breaker = set.breakers.Get(strings.Join(upstreams, ", "))
	return nil
}

// Cleanup is for Caddy.
func (c *CircuitBreaker) Cleanup() error { return closeSet(c.key) }

// OK is for Caddy.
func (c *CircuitBreaker) OK() bool {
	if !c.breaker.Ready() {
		return false
	}
	if c.breaker.State() != atomicbreaker.StateHalfOpen {
		return true
	}
	now := int64(time.Since(c.base)) + 1
	last := c.granted.Load()
	return (last == 0 || now-last >= int64(c.ProbeInterval)) && c.granted.CompareAndSwap(last, now)
}

// RecordMetric is for Caddy.
func (c *CircuitBreaker) RecordMetric(status int, latency time.Duration) {
	ticket, err := c.breaker.Acquire()
	if err != nil {
		return // open by now: this response is of before
	}
	outcome := c.outcome(status)
	if c.slow > 0 && latency >= c.slow {
		outcome = atomicbreaker.Failure // the breaker cannot time a call that is over
	}
	ticket.Report(outcome)
}

var (
	_ caddy.Provisioner           = (*CircuitBreaker)(nil)
	_ caddy.CleanerUpper          = (*CircuitBreaker)(nil)
	_ reverseproxy.CircuitBreaker = (*CircuitBreaker)(nil)
)
