// Package breakerexpvar publishes circuit breakers under /debug/vars.
//
// Use it when you already read /debug/vars, and want nothing else. A first program:
//
//	package main
//
//	import (
//		"log"
//		"net/http"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerexpvar"
//		"github.com/atomicbreaker/breaker/contrib/breakerwatch"
//	)
//
//	func main() {
//		var watch breakerwatch.Watch
//		b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
//		if err := watch.Add(b); err != nil {
//			log.Fatal(err)
//		}
//		if err := breakerexpvar.Publish("breakers", &watch); err != nil {
//			log.Fatal(err)
//		}
//		log.Fatal(http.ListenAndServe("localhost:8080", nil)) // see http://localhost:8080/debug/vars
//	}
//
// The variable is an object with a member for each breaker, by name: its
// snapshot, its changes of state and its probes.
//
// # Choices
//
// [Publish] gives the variable a name; [Var] is the variable alone. It is a package
// of its own, because importing expvar adds a handler to http.DefaultServeMux.
package breakerexpvar
