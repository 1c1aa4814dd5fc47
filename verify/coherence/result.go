package coherence

import "fmt"

// Paths are the situations in which calls are made.
var Paths = []string{"refused", "closed", "closed-10pct-failing", "half-open-refused"}

// A Result is what one simulated run came to.
type Result struct {
	Path       string
	Impl       string // atomic, packed, mutex or counter
	Line       int    // bytes: 64, or 128 where processors fetch lines in pairs
	Processors int

	// Transfers is the number of line transfers for each call.
	Transfers float64

	// Queue is the number of transfers of the line that had most, for a round
	// in which each processor makes one call. They come one after another, so
	// a round takes at least as long as that, however many processors there are.
	Queue float64
}

// String is the result as a line in the format of Go benchmarks.
func (r Result) String() string {
	return fmt.Sprintf("BenchmarkSimulated/path=%s/impl=%s/line=%d/processors=%d 1 %.4f transfers/call %.4f queue/round",
		r.Path, r.Impl, r.Line, r.Processors, r.Transfers, r.Queue)
}
