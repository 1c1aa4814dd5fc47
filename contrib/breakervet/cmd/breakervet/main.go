// Breakervet reports mistakes in the use of circuit breakers. It runs by itself,
//
//	breakervet ./...
//
// and as a tool of go vet, which caches what it has found:
//
//	go vet -vettool=$(which breakervet) ./...
package main

import (
	"github.com/atomicbreaker/breaker/contrib/breakervet"
	"golang.org/x/tools/go/analysis/multichecker"
)

func main() { multichecker.Main(breakervet.Analyzers...) }
