// Caddy is Caddy with circuit breakers. In this folder, which has a Caddyfile:
//
//	go run . run
//
// Caddy requires many modules, so that this example has a workspace of its own.
package main

import (
	_ "github.com/atomicbreaker/breaker/contrib/breakercaddy"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
)

func main() { caddycmd.Main() }
