// Package breakerlease lets the breakers of many processes take turns at probing a
// dependency that they share.
//
// Use it when so many processes call one dependency that their probes alone are a
// load for it, or when all of them should learn at once that it is back. Without it,
// each breaker probes by itself, which is right for most programs.
//
// A first program. It keeps its leases in memory, which is good for a test; use
// package breakerredis or breakerpostgres, or a [Store] of your own, for a real fleet:
//
//	package main
//
//	import (
//		"fmt"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerlease"
//		"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
//	)
//
//	func main() {
//		fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: new(leasetest.Memory)})
//		if err != nil {
//			panic(err)
//		}
//		defer fleet.Close()
//
//		b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
//		if err != nil {
//			panic(err)
//		}
//		fmt.Println(b.State())
//	}
//
// # How it works
//
// When a cooldown is over, the breaker asks the store whether it may become
// half-open. One breaker of a name may; the others wait until that one has
// found out. No call waits for the store, and no call is refused because the store
// fails: without an answer in time, the breaker does what it would do alone.
//
// After a lease, or when the probe of another process succeeded, the reason of
// the change to half-open is ReasonEndCooldownCalled. A breaker that went on alone has
// ReasonCooldown. [StatusOf] has the details.
//
// # Choices
//
//   - [Fleet] over a [Store]: leases, news of probes, and commands to all processes.
//   - [New] or [Join] with a [Lease] of your own: only the question who may probe.
//   - Package leasetest has the tests that each Store must pass.
package breakerlease
