package coherence

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	// Tests run again when what they build changes; overlay sees to most of it.
	_ "github.com/atomicbreaker/breaker/bench/locked"
	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

// Choice is what to simulate. The zero value is everything.
type Choice struct {
	Paths      string // a regular expression
	Impls      string // a regular expression; packed comes with atomic
	Processors int    // the most
}

// Run simulates in an instrumented build of the breaker with the edits made, and
// returns the results.
func Run(ctx context.Context, c Choice, edits ...overlay.Edit) ([]Result, error) {
	b, err := overlay.New(edits...)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if err := b.Record(); err != nil {
		return nil, err
	}
	args := []string{"-count=1", "-v", "./coherence", "-run", fmt.Sprintf("^TestSimulation$/^(%s)$/^(%s)$", orAll(c.Paths), orAll(c.Impls))}
	if c.Processors > 0 {
		args = append(args, "-processors", strconv.Itoa(c.Processors))
	}
	r, err := b.Test(ctx, "verify", nil, args...)
	if err != nil {
		return nil, err
	}
	if !r.Passed {
		return nil, fmt.Errorf("coherence: the instrumented build failed:\n%s", r.Output)
	}
	var all []Result
	for text := range strings.Lines(r.Output) {
		if strings.HasPrefix(text, "BenchmarkSimulated/") {
			one, err := parse(text)
			if err != nil {
				return nil, fmt.Errorf("coherence: %w in %q", err, text)
			}
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("coherence: nothing was simulated:\n%s", r.Output)
	}
	return all, nil
}

func orAll(pattern string) string {
	if pattern == "" {
		return ".*"
	}
	return pattern
}

// parse reads what Result.String wrote.
func parse(text string) (r Result, err error) {
	fields := strings.Fields(text)
	if len(fields) != 6 {
		return r, fmt.Errorf("%d fields, want 6", len(fields))
	}
	keys := map[string]string{}
	for part := range strings.SplitSeq(fields[0], "/") {
		k, v, _ := strings.Cut(part, "=")
		keys[k] = v
	}
	r.Path, r.Impl = keys["path"], keys["impl"]
	var faults [4]error
	r.Line, faults[0] = strconv.Atoi(keys["line"])
	r.Processors, faults[1] = strconv.Atoi(keys["processors"])
	r.Transfers, faults[2] = strconv.ParseFloat(fields[2], 64)
	r.Queue, faults[3] = strconv.ParseFloat(fields[4], 64)
	return r, errors.Join(faults[:]...)
}
