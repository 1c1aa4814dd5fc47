// Package gobreaker has the exported surface of github.com/sony/gobreaker, version 1
// (v1.0.0), on top of the lock-free breaker of package atomicbreaker: change the import, and
// a program written against that documentation goes on as it did.
//
// Use it in a program that has version 1 of gobreaker. A first program:
//
//	package main
//
//	import (
//		"fmt"
//
//		gobreaker "github.com/atomicbreaker/breaker/contrib/gobreaker/v1"
//	)
//
//	func main() {
//		cb := gobreaker.NewCircuitBreaker(gobreaker.Settings{Name: "inventory"})
//		n, err := cb.Execute(func() (any, error) { return 7, nil })
//		fmt.Println(n, err)
//	}
//
// The package above it stands in for version 2. What its documentation says is the same,
// better and different is true here too. Besides:
//
//   - IsSuccessful is asked about what a request returned, as in version 1, before the breaker
//     looks whether the result still counts, and never about a panic, which is a failure. A
//     request that ends its goroutine (runtime.Goexit) is a failure too.
//   - IsSuccessful is not asked where the caller says by done how the request went.
//   - There is no rolling window, and no request is excluded.
//   - Allow allocates three objects instead of one.
package gobreaker
