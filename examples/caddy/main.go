// Caddy is Caddy with circuit breakers. Build it, then run it beside the
// Caddyfile of this folder:
//
//	go build -o caddy . && ./caddy run
package main

import (
	_ "github.com/atomicbreaker/breaker/contrib/breakercaddy"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
)

func main() { caddycmd.Main() }
