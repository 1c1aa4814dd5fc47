//go:build interleave

package coherence

import (
	"fmt"
	"runtime/debug"
	"testing"
)

// Processors that are simulated, and how many seeds of each.
var counts = []int{1, 2, 4, 8, 16, 32, 64, 128}

const seeds = 5

// TestSimulation prints the results.
func TestSimulation(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which shrinks, and so moves, stacks
	for _, path := range Paths {
		for _, impl := range []string{"atomic", "mutex", "counter"} {
			for _, n := range counts {
				for seed := range uint64(seeds) {
					results, err := simulate(seed, impl, path, n)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range results {
						fmt.Println(r)
					}
				}
			}
		}
	}
}
