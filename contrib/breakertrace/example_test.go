package breakertrace_test

import (
	"bytes"
	"fmt"
	"runtime/trace"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakertrace"
)

func ExampleConfig() {
	var out bytes.Buffer // in a program of your own: a file, for go tool trace
	if err := trace.Start(&out); err != nil {
		fmt.Println(err)
		return
	}
	b := atomicbreaker.MustNew(breakertrace.Config(atomicbreaker.Config{Name: "stock"}))
	b.Trip()
	trace.Stop()
	fmt.Println(bytes.Contains(out.Bytes(), []byte("stock: closed to open")))
	// Output: true
}
