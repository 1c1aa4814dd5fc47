// Package breakercaddy puts circuit breakers into Caddy's reverse proxy. It is a plugin.
//
// Use it when Caddy stands before several backends. A first program, a Caddy with the
// plugin in it:
//
//	package main
//
//	import (
//		_ "github.com/atomicbreaker/breaker/contrib/breakercaddy"
//		caddycmd "github.com/caddyserver/caddy/v2/cmd"
//		_ "github.com/caddyserver/caddy/v2/modules/standard"
//	)
//
//	func main() {
//		caddycmd.Main()
//	}
//
// and in its Caddyfile:
//
//	reverse_proxy 10.0.0.1:80 10.0.0.2:80 {
//		lb_policy atomicbreaker round_robin
//		lb_retries 2
//		transport atomicbreaker
//	}
//
// # Choices
//
//   - [Transport], http.reverse_proxy.transport.atomicbreaker, wraps any
//     transport and keeps a breaker for every upstream address. It sees
//     dial errors, timeouts, statuses, clients that leave, and bodies that break off.
//
//   - [Policy], http.reverse_proxy.selection_policies.atomicbreaker, wraps any
//     selection policy and leaves out the upstreams whose breakers are not
//     ready. Without it a retry may choose the same open upstream again.
//
//   - [CircuitBreaker], http.reverse_proxy.circuit_breakers.atomicbreaker, is
//     for Caddy's own hook, which knows no upstreams and sees no errors. Prefer the other two.
//
//   - [Page], http.handlers.atomicbreaker_page, shows the breakers on a live page,
//     [Admin] adds endpoints to the admin API, and Caddy's /metrics has the
//     figures of package breakerprom.
//
// # Another upstream
//
// Caddy itself goes on to another upstream after 502, 503 and 504 where it is
// told to:
//
//	lb_retry_match {
//		expression `{method} in ["GET", "HEAD"] && ({rp.is_transport_error} || {rp.status_code} in [502, 503, 504])`
//	}
//
// Breakers survive a reload of the configuration; see [Settings]. examples/caddy of the
// repository runs all of this.
package breakercaddy

import (
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

func init() {
	caddy.RegisterModule(new(Transport))
	caddy.RegisterModule(new(Policy))
	caddy.RegisterModule(new(CircuitBreaker))
	caddy.RegisterModule(new(Admin))
	caddy.RegisterModule(new(Page))
	httpcaddyfile.RegisterHandlerDirective("atomicbreaker_page", parsePage)
	httpcaddyfile.RegisterDirectiveOrder("atomicbreaker_page", httpcaddyfile.Before, "respond")
}
