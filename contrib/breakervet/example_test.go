package breakervet_test

import (
	"fmt"

	"github.com/atomicbreaker/breaker/contrib/breakervet"
)

// The analyzers, for a checker of your own: multichecker.Main(breakervet.Analyzers...).
func Example() {
	for _, a := range breakervet.Analyzers {
		fmt.Println(a.Name)
	}
	// Unordered output:
	// unsettled
	// earlydefer
	// droppedrefusal
	// readyclaim
	// percall
	// successonerror
}
