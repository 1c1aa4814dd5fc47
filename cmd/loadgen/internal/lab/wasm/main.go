//go:build js && wasm

// Command wasm is the engine of the lab's page in a browser: it answers what the
// page asks, with the same code as the server.
package main

import (
	"syscall/js"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/lab"
)

func main() {
	js.Global().Set("labAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		text, err := lab.Answer(args[0].String(), args[1].String(), args[2].String())
		if err != nil {
			return []any{nil, err.Error()}
		}
		return []any{string(text), nil}
	}))
	select {} // the page calls for as long as it lives
}
