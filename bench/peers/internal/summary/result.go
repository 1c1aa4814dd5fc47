package summary

import (
	"runtime"
	"strconv"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"
)

// NewResult returns the result of one measurement that was not made by package
// testing. The name is without Benchmark and without the number of processors.
func NewResult(name string, values ...benchfmt.Value) *benchfmt.Result {
	if n := runtime.GOMAXPROCS(0); n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return &benchfmt.Result{Name: benchfmt.Name(name), Iters: 1, Values: values}
}

// Value returns a value in base units; a unit such as ns becomes sec.
func Value(v float64, unit string) benchfmt.Value {
	tidied, base := benchunit.Tidy(v, unit)
	if base == unit {
		return benchfmt.Value{Value: v, Unit: unit}
	}
	return benchfmt.Value{Value: tidied, Unit: base, OrigValue: v, OrigUnit: unit}
}
