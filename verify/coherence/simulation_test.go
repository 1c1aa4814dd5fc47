//go:build interleave

package coherence

import (
	"flag"
	"fmt"
	"runtime/debug"
	"testing"
)

var most = flag.Int("processors", maxCores, "the most `processors` that are simulated")

// TestSimulation prints the results.
func TestSimulation(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which shrinks, and so moves, stacks
	for _, path := range Paths {
		for impl, seeds := range map[string]uint64{"atomic": 5, "mutex": 2, "counter": 2} { // only ours depends on where stacks lie
			t.Run(path+"/"+impl, func(t *testing.T) {
				for n := 1; n <= *most; n *= 2 {
					for seed := range seeds {
						results, err := simulate(seed, impl, path, n)
						if err != nil {
							t.Fatal(err)
						}
						for _, r := range results {
							fmt.Println(r)
						}
					}
				}
			})
		}
	}
}
