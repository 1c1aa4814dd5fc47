package breakercaddy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// Policy is a selection policy: it leaves out the upstreams whose breakers
// are not ready, and on a retry those that the request has tried, and lets
// another policy choose among the rest. It only asks; the handler's
// [Transport], which it needs, claims.
//
// If no upstream is ready, none is selected: the handler ends with 503, and
// the response has a Retry-After, unless an operator holds every breaker open.
// [Settings].MaxOpen says how many may refuse at once.
//
// The weights of weighted_round_robin belong to positions; with an upstream
// left out, the others have the shares that a few more rounds give them.
type Policy struct {
	// SelectRaw is the policy that chooses. Default: round_robin.
	SelectRaw json.RawMessage `json:"select,omitempty" caddy:"namespace=http.reverse_proxy.selection_policies inline_key=policy"`

	inner     reverseproxy.Selector
	positions bool // inner goes by positions in the pool
	transport *Transport
	addresses map[string]string // of the upstreams that are known from the start, by dial text
	tried     string            // the request's variable for what was tried
}

// CaddyModule is for Caddy.
func (*Policy) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.reverse_proxy.selection_policies.atomicbreaker", New: func() caddy.Module { return new(Policy) }}
}

// Provision is for Caddy. A handler provisions its transport before its
// selection policy.
func (p *Policy) Provision(ctx caddy.Context) error {
	for _, m := range ctx.Modules() {
		if h, ok := m.(*reverseproxy.Handler); ok {
			p.transport, _ = h.Transport.(*Transport)
			p.addresses = make(map[string]string, len(h.Upstreams))
			for _, u := range h.Upstreams {
				if !strings.Contains(u.Dial, "{") {
					p.addresses[u.Dial] = addressOfDial(u.Dial)
				}
			}
		}
	}
	if p.transport == nil {
		return errors.New("breakercaddy: selection policy atomicbreaker without the transport of that name: add 'transport atomicbreaker' to the same reverse_proxy")
	}
	if p.SelectRaw == nil {
		p.SelectRaw = json.RawMessage(`{"policy":"round_robin"}`)
	}
	mod, err := ctx.LoadModule(p, "SelectRaw")
	if err != nil {
		return fmt.Errorf("loading the policy that chooses: %w", err)
	}
	inner, ok := mod.(reverseproxy.Selector)
	if !ok {
		return fmt.Errorf("breakercaddy: %T is no selection policy", mod)
	}
	p.inner = inner
	p.tried = fmt.Sprintf("atomicbreaker.tried.%p", p)
	_, p.positions = inner.(*reverseproxy.WeightedRoundRobinSelection)
	return nil
}

// Select is for Caddy.
func (p *Policy) Select(pool reverseproxy.UpstreamPool, r *http.Request, w http.ResponseWriter) *reverseproxy.Upstream {
	ready, wait := p.ready(pool, r)
	ready, going := p.goOn(pool, ready, r)
	if len(ready) == 0 && len(pool) > 0 {
		tell(r, w, wait)
		return nil
	}
	untell(r, w)
	tried, _ := caddyhttp.GetVar(r.Context(), p.tried).([]*reverseproxy.Upstream)
	ready = without(ready, tried)
	var u *reverseproxy.Upstream
	if p.positions && len(ready) < len(pool) {
		u = p.selectByPosition(pool, ready, r, w)
	} else {
		u = p.inner.Select(ready, r, w)
	}
	if u != nil {
		caddyhttp.SetVar(r.Context(), p.tried, append(tried, u))
	}
	if slices.Contains(going, u) {
		caddyhttp.SetVar(r.Context(), beyondKey, p.address(u, r))
	} else if caddyhttp.GetVar(r.Context(), beyondKey) != nil { // of an earlier try
		caddyhttp.SetVar(r.Context(), beyondKey, nil)
	}
	return u
}

// beyondKey is a variable of the request: the address that it goes to past the
// breaker.
const beyondKey = "atomicbreaker.beyond"

// goOn adds the least sick of those that refuse if they are too many, and
// returns these too.
func (p *Policy) goOn(pool, ready reverseproxy.UpstreamPool, r *http.Request) (_, going reverseproxy.UpstreamPool) {
	if len(ready) == len(pool) {
		return ready, nil
	}
	var sick reverseproxy.UpstreamPool
	for _, u := range pool {
		if b := p.breaker(u, r); !slices.Contains(ready, u) && !maxopen.HeldOpen(b) && u.Available() {
			sick = append(sick, u)
		}
	}
	over := len(sick) - maxopen.Allowed(p.transport.maxOpen, len(pool))
	if over <= 0 {
		return ready, nil
	}
	going = maxopen.LeastSick(sick, over, func(u *reverseproxy.Upstream) (*atomicbreaker.Breaker, int64) {
		return p.transport.set.past.Get(p.address(u, r)), int64(u.NumRequests())
	})
	return append(slices.Clone(ready), going...), going
}

// without leaves out what was tried, unless nothing else is there. Caddy asks
// again only after a try that failed, and random policies would choose the same again.
func without(ready reverseproxy.UpstreamPool, tried []*reverseproxy.Upstream) reverseproxy.UpstreamPool {
	if len(tried) == 0 {
		return ready
	}
	fresh := make(reverseproxy.UpstreamPool, 0, len(ready))
	for _, u := range ready {
		if !slices.Contains(tried, u) && u.Available() {
			fresh = append(fresh, u)
		}
	}
	if len(fresh) == 0 {
		return ready
	}
	return fresh
}

// ready returns the upstreams whose breakers are ready, the pool itself if
// all are, and how long the first of the others will not be.
func (p *Policy) ready(pool reverseproxy.UpstreamPool, r *http.Request) (ready reverseproxy.UpstreamPool, wait time.Duration) {
	wait = unknown
	left := false
	for i, u := range pool {
		b := p.breaker(u, r)
		switch {
		case !b.Ready():
			if !left {
				left = true
				ready = append(make(reverseproxy.UpstreamPool, 0, len(pool)-1), pool[:i]...)
			}
			wait = min(wait, waitFor(b))
		case left:
			ready = append(ready, u)
		}
	}
	if !left {
		return pool, 0
	}
	return ready, wait
}

// selectByPosition asks a policy that needs the whole pool until it chooses
// an upstream that is ready.
func (p *Policy) selectByPosition(pool, ready reverseproxy.UpstreamPool, r *http.Request, w http.ResponseWriter) *reverseproxy.Upstream {
	for range 4 * len(pool) {
		u := p.inner.Select(pool, r, w)
		if u == nil || slices.Contains(ready, u) {
			return u
		}
	}
	for _, u := range ready {
		if u.Available() {
			return u
		}
	}
	return nil
}

// breaker returns the breaker that the transport will ask for an upstream.
func (p *Policy) breaker(u *reverseproxy.Upstream, r *http.Request) *atomicbreaker.Breaker {
	return p.transport.set.breakers.Get(p.address(u, r))
}

// address is by what the transport knows an upstream.
func (p *Policy) address(u *reverseproxy.Upstream, r *http.Request) string {
	addr, known := p.addresses[u.Dial]
	if !known {
		dial := u.Dial
		if repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
			dial = repl.ReplaceAll(dial, "")
		}
		addr = addressOfDial(dial)
	}
	return addr
}

// addressOfDial writes an address as Caddy does in a DialInfo, by whose text
// the transport chooses the breaker.
func addressOfDial(dial string) string {
	addr, err := caddy.ParseNetworkAddress(dial)
	if err != nil {
		return dial
	}
	return caddy.JoinNetworkAddress(addr.Network, addr.Host, strconv.Itoa(int(addr.StartPort)))
}

// unknown is the wait for a breaker that an operator holds open.
const unknown = time.Duration(1<<63 - 1)

func waitFor(b *atomicbreaker.Breaker) time.Duration {
	if maxopen.HeldOpen(b) {
		return unknown
	}
	return b.RetryAfter()
}

// toldKey is a variable of the request: this policy has set a Retry-After.
const toldKey = "atomicbreaker.retry_after"

// tell sets a Retry-After on the response that Caddy is going to make.
func tell(r *http.Request, w http.ResponseWriter, wait time.Duration) {
	if w == nil || wait == unknown {
		return
	}
	seconds := max(1, int64((wait+time.Second-1)/time.Second))
	w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	caddyhttp.SetVar(r.Context(), toldKey, true)
}

// untell takes it back when a retry finds an upstream after all.
func untell(r *http.Request, w http.ResponseWriter) {
	if w != nil && caddyhttp.GetVar(r.Context(), toldKey) != nil {
		w.Header().Del("Retry-After")
		caddyhttp.SetVar(r.Context(), toldKey, nil)
	}
}

// UnmarshalCaddyfile reads
//
//	lb_policy atomicbreaker [<policy> [<its arguments...>]]
func (p *Policy) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module's name
	if !d.NextArg() {
		return nil
	}
	name := d.Val()
	mod, err := caddyfile.UnmarshalModule(d, "http.reverse_proxy.selection_policies."+name)
	if err != nil {
		return err
	}
	inner, ok := mod.(reverseproxy.Selector)
	if !ok {
		return d.Errf("module %s is no selection policy", name)
	}
	p.SelectRaw = caddyconfig.JSONModuleObject(inner, "policy", name, nil)
	return nil
}

var (
	_ caddy.Provisioner     = (*Policy)(nil)
	_ caddyfile.Unmarshaler = (*Policy)(nil)
	_ reverseproxy.Selector = (*Policy)(nil)
)
