package breakercaddy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// Transport is a reverse proxy transport that asks a breaker before every
// request to an upstream, and sends it through another transport. What counts
// as a failure is as [breakerhttp.Transport] says.
//
// A request that is refused ends with 503, and is tried elsewhere first if the
// handler retries, whatever its method: it was not sent. Use it together with
// [Policy], which chooses an upstream that is ready and, if none is, tells the client when to come
// back. The handler's passive health checks, if it has any, count a refusal as a failure of
// the upstream; with breakers they are not needed. Active health checks pass by the breaker.
type Transport struct {
	Settings

	// JudgeBody waits with a success until the response's body has ended; see
	// [breakerhttp.Transport]. Default: false.
	JudgeBody bool `json:"judge_body,omitempty"`

	// TransportRaw is the transport that makes the exchanges. Default: http.
	TransportRaw json.RawMessage `json:"transport,omitempty" caddy:"namespace=http.reverse_proxy.transport inline_key=protocol"`

	inner     http.RoundTripper
	innerName string // while a Caddyfile is read
	set       *set
	key       setKey
	guard     breakerhttp.Transport
}

// CaddyModule is for Caddy.
func (*Transport) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.reverse_proxy.transport.atomicbreaker", New: func() caddy.Module { return new(Transport) }}
}

// Provision is for Caddy.
func (t *Transport) Provision(ctx caddy.Context) error {
	if t.TransportRaw == nil {
		t.TransportRaw = json.RawMessage(`{"protocol":"http"}`)
	}
	mod, err := ctx.LoadModule(t, "TransportRaw")
	if err != nil {
		return fmt.Errorf("loading the transport to guard: %w", err)
	}
	inner, ok := mod.(http.RoundTripper)
	if !ok {
		return fmt.Errorf("breakercaddy: %T is no transport", mod)
	}
	t.inner = inner
	if t.set, t.key, err = openSet(ctx, "upstreams", &t.Settings); err != nil {
		return err
	}
	t.guard = breakerhttp.Transport{
		Base:            inner,
		BreakerFor:      func(r *http.Request) *atomicbreaker.Breaker { return t.set.breakers.Get(addressOf(r)) },
		FailureStatuses: t.FailureStatuses,
		JudgeBody:       t.JudgeBody,
	}
	return nil
}

// Cleanup is for Caddy.
func (t *Transport) Cleanup() error { return closeSet(t.key) }

// RoundTrip is for Caddy.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(caddyhttp.VarsCtxKey) == nil { // an active health check: no server received it
		return t.inner.RoundTrip(r)
	}
	resp, err := t.guard.RoundTrip(r)
	if atomicbreaker.IsRejected(err) {
		// To Caddy a dial error may be tried elsewhere, and only that for a
		// method that is not GET; a HandlerError has the status to end with.
		return nil, caddyhttp.Error(http.StatusServiceUnavailable, reverseproxy.NewDialError(err))
	}
	return resp, err
}

// addressOf returns the address of the upstream that a request goes to.
func addressOf(r *http.Request) string {
	if info, ok := reverseproxy.GetDialInfo(r.Context()); ok {
		return info.String()
	}
	return r.URL.Host
}

// UnmarshalCaddyfile reads
//
//	transport atomicbreaker {
//		name                 <name>
//		consecutive_failures <count>|off
//		failure_rate         <rate>|off
//		minimum_calls        <count>
//		window               <duration> [<buckets>]
//		window_calls         <count>
//		slow_call            <duration> [<rate>|off]
//		cooldown             <min> [<max>]
//		probes               <count>
//		probe_timeout        <duration>
//		failure_status       <status...>
//		max_upstreams        <count>
//		mode                 auto|shadow|forced-open|forced-closed
//		judge_body
//		transport            <name> { ... }
//	}
func (t *Transport) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the module's name
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		switch d.Val() {
		case "judge_body":
			if d.NextArg() {
				return d.ArgErr()
			}
			t.JudgeBody = true
		case "transport":
			if err := t.unmarshalInner(d); err != nil {
				return err
			}
		default:
			option := d.Val()
			if known, err := t.unmarshalOption(d); err != nil {
				return err
			} else if !known {
				return d.Errf("unrecognized option %s of transport atomicbreaker", option)
			}
		}
	}
	if t.inner == nil {
		t.inner, t.innerName = new(reverseproxy.HTTPTransport), "http"
	}
	t.encodeInner()
	return nil
}

func (t *Transport) unmarshalInner(d *caddyfile.Dispenser) error {
	if t.inner != nil {
		return d.Err("transport already specified")
	}
	if !d.NextArg() {
		return d.ArgErr()
	}
	t.innerName = d.Val()
	mod, err := caddyfile.UnmarshalModule(d, "http.reverse_proxy.transport."+t.innerName)
	if err != nil {
		return err
	}
	inner, ok := mod.(http.RoundTripper)
	if !ok {
		return d.Errf("module %s is no transport", t.innerName)
	}
	t.inner = inner
	return nil
}

// encodeInner keeps what goes into the JSON configuration up to date, while
// there is only a Caddyfile: Caddy changes the transport once it has seen the upstreams' schemes.
func (t *Transport) encodeInner() {
	if t.innerName != "" {
		t.TransportRaw = caddyconfig.JSONModuleObject(t.inner, "protocol", t.innerName, nil)
	}
}

// Caddy asks a transport by type assertion what it can do. Each answer is
// passed on; what the guarded transport cannot do has the answer that Caddy
// takes where the method is missing.

// TLSEnabled is for Caddy.
func (t *Transport) TLSEnabled() bool {
	inner, ok := t.inner.(reverseproxy.TLSTransport)
	return ok && inner.TLSEnabled()
}

// EnableTLS is for Caddy.
func (t *Transport) EnableTLS(base *reverseproxy.TLSConfig) error {
	inner, ok := t.inner.(reverseproxy.TLSTransport)
	if !ok {
		return fmt.Errorf("upstreams are configured for HTTPS but the guarded transport does not support TLS: %T", t.inner)
	}
	err := inner.EnableTLS(base)
	t.encodeInner()
	return err
}

// EnableH2C is for Caddy.
func (t *Transport) EnableH2C() error {
	inner, ok := t.inner.(reverseproxy.H2CTransport)
	if !ok {
		return nil
	}
	err := inner.EnableH2C()
	t.encodeInner()
	return err
}

// DefaultBufferSizes is for Caddy.
func (t *Transport) DefaultBufferSizes() (request, response int64) {
	if inner, ok := t.inner.(reverseproxy.BufferedTransport); ok {
		return inner.DefaultBufferSizes()
	}
	return 0, 0
}

// ProxyProtocolEnabled is for Caddy.
func (t *Transport) ProxyProtocolEnabled() bool {
	inner, ok := t.inner.(reverseproxy.ProxyProtocolTransport)
	return ok && inner.ProxyProtocolEnabled()
}

// OverrideHealthCheckScheme is for Caddy.
func (t *Transport) OverrideHealthCheckScheme(base *url.URL, port string) {
	if inner, ok := t.inner.(reverseproxy.HealthCheckSchemeOverriderTransport); ok {
		inner.OverrideHealthCheckScheme(base, port)
	}
}

// RequestHeaderOps is for Caddy.
func (t *Transport) RequestHeaderOps() *headers.HeaderOps {
	if inner, ok := t.inner.(reverseproxy.RequestHeaderOpsTransport); ok {
		return inner.RequestHeaderOps()
	}
	return nil
}

// RequiresContentLength is for Caddy.
func (t *Transport) RequiresContentLength() bool {
	inner, ok := t.inner.(reverseproxy.ContentLengthRequiredTransport)
	return ok && inner.RequiresContentLength()
}

var (
	_ caddy.Provisioner                                = (*Transport)(nil)
	_ caddy.CleanerUpper                               = (*Transport)(nil)
	_ caddyfile.Unmarshaler                            = (*Transport)(nil)
	_ http.RoundTripper                                = (*Transport)(nil)
	_ reverseproxy.TLSTransport                        = (*Transport)(nil)
	_ reverseproxy.H2CTransport                        = (*Transport)(nil)
	_ reverseproxy.BufferedTransport                   = (*Transport)(nil)
	_ reverseproxy.ProxyProtocolTransport              = (*Transport)(nil)
	_ reverseproxy.HealthCheckSchemeOverriderTransport = (*Transport)(nil)
	_ reverseproxy.RequestHeaderOpsTransport           = (*Transport)(nil)
	_ reverseproxy.ContentLengthRequiredTransport      = (*Transport)(nil)
)
