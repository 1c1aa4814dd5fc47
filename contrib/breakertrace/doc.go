// Package breakertrace shows breakers in execution traces, as taken by
// runtime/trace, net/http/pprof and go test -trace.
//
// Use it when you look at a trace and want to see what the breakers did. A first program:
//
//	package main
//
//	import (
//		"os"
//		"runtime/trace"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakertrace"
//	)
//
//	func main() {
//		file, err := os.Create("trace.out") // look at it with: go tool trace trace.out
//		if err != nil {
//			panic(err)
//		}
//		defer file.Close()
//		if err := trace.Start(file); err != nil {
//			panic(err)
//		}
//		defer trace.Stop()
//
//		b := atomicbreaker.MustNew(breakertrace.Config(atomicbreaker.Config{Name: "stock"}))
//		b.Trip()
//	}
//
// Each change of state, and each probe that ends, is a log event of the category
// [Category], such as "stock: closed to open: streak" and "stock: probe: success
// after 12ms". The event of a probe is at its end, and names how long it took.
// While no trace is taken, an event costs one load of memory.
//
// # Choices
//
// [Config] adds both to a Config. [Transition] and [Probe] are the listeners alone.
package breakertrace
