package coherence

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Impls are what is compared, in the order of tables.
var Impls = []string{"atomic", "packed", "mutex", "counter"}

// WriteTable writes the medians over the seeds, with the worst seed's in brackets
// where it shows a difference, a column for each number of processors.
func WriteTable(w io.Writer, results []Result) error {
	for _, of := range []struct {
		title string
		value func(Result) float64
	}{
		{"line transfers for each call, lines of 64 bytes", func(r Result) float64 { return r.Transfers }},
		{"transfers of the line that has most, for a round of one call by each processor", func(r Result) float64 { return r.Queue }},
	} {
		fmt.Fprintf(w, "Simulated, not timed: %s\n\n", of.title)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(t, "processors\t\t")
		for _, n := range processors(results) {
			fmt.Fprintf(t, "%d\t", n)
		}
		fmt.Fprintln(t)
		for _, path := range Paths {
			for _, impl := range Impls {
				fmt.Fprintf(t, "%s\t%s\t", path, impl)
				for _, n := range processors(results) {
					fmt.Fprintf(t, "%s\t", cell(results, path, impl, 64, n, of.value))
				}
				fmt.Fprintln(t)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

func cell(results []Result, path, impl string, line, processors int, of func(Result) float64) string {
	all := values(results, path, impl, line, processors, of)
	if len(all) == 0 {
		return "-"
	}
	median, worst := fmt.Sprintf("%.2f", all[len(all)/2]), fmt.Sprintf("%.2f", all[len(all)-1])
	if median == worst {
		return median
	}
	return median + " (" + worst + ")"
}

// values are the figures of all seeds in rising order.
func values(results []Result, path, impl string, line, processors int, of func(Result) float64) (all []float64) {
	for _, r := range results {
		if r.Path == path && r.Impl == impl && r.Line == line && r.Processors == processors {
			all = append(all, of(r))
		}
	}
	slices.Sort(all)
	return all
}

func processors(results []Result) (all []int) {
	for _, r := range results {
		if !slices.Contains(all, r.Processors) {
			all = append(all, r.Processors)
		}
	}
	slices.Sort(all)
	return all
}
