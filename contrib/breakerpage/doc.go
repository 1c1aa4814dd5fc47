// Package breakerpage shows circuit breakers on a live web page: which of them
// refuse work, since when and why, which are being tested and with what result, and
// what happened in the last hour.
//
// Use it when people should see the breakers of one process in a browser or a
// terminal, like net/http/pprof. A first program:
//
//	package main
//
//	import (
//		"log"
//		"net/http"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerpage"
//		"github.com/atomicbreaker/breaker/contrib/breakerwatch"
//	)
//
//	func main() {
//		var watch breakerwatch.Watch
//		b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
//		if err := watch.Add(b); err != nil {
//			log.Fatal(err)
//		}
//		page, err := breakerpage.New(&watch, nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer page.Close()
//		http.Handle("/debug/breakers/", page)
//		log.Fatal(http.ListenAndServe("localhost:8080", nil)) // see http://localhost:8080/debug/breakers/
//	}
//
// # Access
//
// Everyone who can reach the page can read the names and figures of all breakers. Put it
// behind the access control of an internal address. It cannot command a breaker
// unless [Options].Authorize is set; each command then has a reason, a mode has an
// end, and all are audited. Set [Options].Hosts to the name under which the page is
// reached. It loads nothing from other servers.
//
// # Choices
//
// ?format=json has everything as JSON, and ?format=text is a table for a terminal.
// A [Fleet] shows the breakers of many processes in one view, as they are now. For their
// past use package breakerprom or breakerotel.
package breakerpage
