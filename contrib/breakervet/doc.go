// Package breakervet finds mistakes in the use of circuit breakers. It has analyzers
// for go vet, golangci-lint and everything else that runs analyzers of golang.org/x/tools.
//
// Use its command in CI:
//
//	go install github.com/atomicbreaker/breaker/contrib/breakervet/cmd/breakervet@latest
//	breakervet ./...
//
// A first program, for a checker of your own:
//
//	package main
//
//	import (
//		"github.com/atomicbreaker/breaker/contrib/breakervet"
//		"golang.org/x/tools/go/analysis/multichecker"
//	)
//
//	func main() {
//		multichecker.Main(breakervet.Analyzers...)
//	}
//
// # What it finds
//
//   - unsettled: a ticket that is not settled or passed on, on some path to the end of its function
//   - earlydefer: a deferred Done or Report whose error or outcome is read too early
//   - droppedrefusal: the error of a refusal is dropped or overwritten
//   - readyclaim: Ready used as permission for a call that nobody then reports
//   - percall: a breaker made for each call, which forgets everything
//   - successonerror: a failed call reported as a success
//
// If in doubt, they report nothing. unsettled, droppedrefusal, readyclaim and percall do
// not look at test files, because tests do these things on purpose.
//
// To suppress a report, put the comment //breakervet:ignore and a reason on the line or
// the line before.
package breakervet
