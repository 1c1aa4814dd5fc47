// Package breakercaddy puts circuit breakers into Caddy's reverse proxy. It is
// a plugin: build Caddy with it, as examples/caddy does.
//
//	reverse_proxy 10.0.0.1:80 10.0.0.2:80 {
//		lb_policy atomicbreaker round_robin
//		lb_retries 2
//		transport atomicbreaker
//	}
//
// Three modules:
//
//   - [Transport], http.reverse_proxy.transport.atomicbreaker, wraps any
//     transport and keeps a breaker for every upstream address. It sees what
//     matters: dial errors, timeouts, statuses, clients that leave, and bodies that break off.
//   - [Policy], http.reverse_proxy.selection_policies.atomicbreaker, wraps any
//     selection policy and leaves out the upstreams whose breakers are not
//     ready. Without it a retry may choose the same open upstream again.
//   - [CircuitBreaker], http.reverse_proxy.circuit_breakers.atomicbreaker, is
//     for Caddy's own hook, which knows no upstreams and sees no errors. Prefer the other two.
//
// Breakers survive a reload of the configuration; see [Settings].
package breakercaddy

import "github.com/caddyserver/caddy/v2"

func init() {
	caddy.RegisterModule(new(Transport))
	caddy.RegisterModule(new(Policy))
	caddy.RegisterModule(new(CircuitBreaker))
}
