// Package breakeradvice looks at a breaker's settings once more. It finds settings
// that are valid but were probably not meant.
//
// Use it once when your program starts, or in a test. A first program:
//
//	package main
//
//	import (
//		"fmt"
//		"time"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakeradvice"
//	)
//
//	func main() {
//		config := atomicbreaker.Config{Window: time.Second, MinimumCalls: 100}
//		usage := breakeradvice.Usage{Rate: 20, Timeout: time.Second} // calls per second, and when callers give up
//		for _, finding := range breakeradvice.Find(config, usage) {
//			fmt.Println(finding)
//		}
//	}
//
// It changes nothing. Most findings need some of [Usage]; say what you know. The
// command `go run ./cmd/loadgen advise` of the repository does the same with flags.
package breakeradvice
