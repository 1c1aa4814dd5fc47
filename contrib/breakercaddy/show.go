package breakercaddy

import (
	"errors"
	"net/http"

	"github.com/atomicbreaker/breaker/contrib/breakerpage"
	"github.com/atomicbreaker/breaker/contrib/breakerprom"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/prometheus/client_golang/prometheus"
)

// showMetrics adds the breakers to what Caddy's /metrics shows. Each
// configuration has a registry of its own.
func showMetrics(ctx caddy.Context) error {
	registry := ctx.GetMetricsRegistry()
	if registry == nil {
		return nil
	}
	err := registry.Register(breakerprom.New(&watch))
	if _, already := errors.AsType[prometheus.AlreadyRegisteredError](err); already {
		return nil // by another handler
	}
	return err
}

// Page is a handler that shows the breakers of this Caddy on a live page, for
// operators; see [breakerpage]. It only shows: commands are the admin API's.
//
//	route /breakers/* {
//		atomicbreaker_page
//	}
type Page struct{ page *breakerpage.Page }

// CaddyModule is for Caddy.
func (*Page) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.atomicbreaker_page", New: func() caddy.Module { return new(Page) }}
}

// Provision is for Caddy.
func (p *Page) Provision(caddy.Context) (err error) {
	p.page, err = breakerpage.New(&watch, nil)
	return err
}

// Cleanup is for Caddy.
func (p *Page) Cleanup() error {
	if p.page != nil {
		p.page.Close()
	}
	return nil
}

// ServeHTTP is for Caddy.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	p.page.ServeHTTP(w, r)
	return nil
}

// UnmarshalCaddyfile reads
//
//	atomicbreaker_page
func (p *Page) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the directive
	if d.NextArg() || d.NextBlock(0) {
		return d.ArgErr()
	}
	return nil
}

func parsePage(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	p := new(Page)
	return p, p.UnmarshalCaddyfile(h.Dispenser)
}

var (
	_ caddy.Provisioner           = (*Page)(nil)
	_ caddy.CleanerUpper          = (*Page)(nil)
	_ caddyfile.Unmarshaler       = (*Page)(nil)
	_ caddyhttp.MiddlewareHandler = (*Page)(nil)
)
