// Package breakerhttp puts circuit breakers around HTTP calls: clients, servers
// and reverse proxies. It uses the standard library only.
//
// Use it when your program calls or serves HTTP. A first program, a client:
//
//	package main
//
//	import (
//		"fmt"
//		"net/http"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerhttp"
//	)
//
//	func main() {
//		b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "billing"})
//		client := &http.Client{Transport: &breakerhttp.Transport{Breaker: b}}
//
//		response, err := client.Get("http://billing.example/invoices")
//		if atomicbreaker.IsRejected(err) {
//			fmt.Println("refused, nothing was sent")
//			return
//		}
//		if err != nil {
//			fmt.Println(err)
//			return
//		}
//		defer response.Body.Close()
//		fmt.Println(response.Status)
//	}
//
// # Choices
//
//   - One service behind one name: [Transport] with a Breaker.
//   - Several hosts: [Transport] with BreakerFor and [PerHost].
//   - Several backends of one service: [Pool], which chooses among them, sends a
//     request that may be repeated to another one, and is also a reverse proxy.
//   - A server that protects itself: [Handler].
//
// A Transport only judges calls; it does not repeat them. Nothing here limits how many
// calls are in flight. Set a deadline on the request's context.
//
// What each status counts as is in docs/statuses.md of the repository; settings
// of nginx, HAProxy, Envoy and Traefik are translated in docs/proxies.md.
package breakerhttp
