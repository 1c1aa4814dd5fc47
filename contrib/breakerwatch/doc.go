// Package breakerwatch reads many breakers for the packages that show them:
// breakerprom, breakerotel, breakerexpvar and breakerpage.
//
// Use it together with one of these, or to show breakers in a way of your own. A
// first program:
//
//	package main
//
//	import (
//		"fmt"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerwatch"
//	)
//
//	func main() {
//		var watch breakerwatch.Watch
//		b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
//		if err := watch.Add(b); err != nil {
//			panic(err)
//		}
//		for _, r := range watch.Read(nil) {
//			fmt.Println(r.Name, r.State)
//		}
//	}
//
// A Watch adds what a snapshot cannot show, because it happens between two of them:
// how often a breaker went from which state to which and why, how its probes ended
// and how long they took, when it was last asked, since when an outage lasts, and
// which errors its calls ended with. For that, its Config must go
// through Watch.Config, and for errors through Watch.Errors.
//
// Reading changes nothing that a call uses. Breakers are told apart by name.
//
// # Choices
//
//   - [Watch.Add] is for single breakers.
//   - [Watch.AddAll] with [Values] is for all breakers of a Group, as they come and go.
package breakerwatch
