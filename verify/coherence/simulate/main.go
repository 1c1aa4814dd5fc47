// Simulate prints how often cache lines go from one processor to another when 1 to
// 128 of them call one breaker: see package coherence. Nothing is timed.
//
// Usage:
//
//	simulate [-bench]
//
// It prints tables, or with -bench lines in the format of Go benchmarks.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/atomicbreaker/breaker/verify/coherence"
)

func main() {
	raw := flag.Bool("bench", false, "print lines in the format of Go benchmarks instead of tables")
	flag.Parse()
	if err := run(*raw); err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(1)
	}
}

func run(raw bool) error {
	results, err := coherence.Run(context.Background(), coherence.Choice{})
	if err != nil {
		return err
	}
	if !raw {
		return coherence.WriteTable(os.Stdout, results)
	}
	for _, r := range results {
		fmt.Println(r)
	}
	return nil
}
