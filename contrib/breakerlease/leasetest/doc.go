// Package leasetest has the tests that each breakerlease.Store must pass, and a
// Store in memory.
//
// Use it when you write a store of your own, or test a program that has a fleet. A
// program with the store in memory is in the documentation of breakerlease. A
// store of your own has a test like this:
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, func(t *testing.T) leasetest.Server { ... })
//	}
//
// [Memory] can also be slow, fail, lose its data and cut connections.
package leasetest
