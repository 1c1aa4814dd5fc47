package main

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// heldUp is the span from which a call was not slow but held up: the scheduler
// or the machine took the processor away in the middle of it. No refusal of a
// breaker without a lock has anything to do for so long.
const heldUp = 10 * time.Microsecond

// latencies is what one goroutine measured. It is not safe for concurrent use;
// each goroutine has its own and they are added up afterwards.
type latencies struct {
	spans   *hdrhistogram.Histogram // in ticks
	cutoff  int64                   // spans from here on are held up and kept out of the histogram
	held    int64                   // how many
	longest int64                   // of all spans
}

// highest is the longest span that is told from longer ones: 2^36 ticks are
// about half a minute at 2 GHz.
const highest = 1 << 36

// newLatencies keeps three digits of every span below cutoff, given in ticks;
// a cutoff of 0 keeps every span.
func newLatencies(cutoff int64) *latencies {
	if cutoff <= 0 {
		cutoff = math.MaxInt64
	}
	return &latencies{spans: hdrhistogram.New(1, highest, 3), cutoff: cutoff}
}

func (l *latencies) record(ticks int64) {
	if ticks > l.longest {
		l.longest = ticks
	}
	if ticks >= l.cutoff {
		l.held++
		return
	}
	// Within the histogram's range nothing can fail. Two readings of the
	// counter on two processors may differ by a little less than nothing.
	_ = l.spans.RecordValue(min(max(ticks, 0), highest))
}

func (l *latencies) add(other *latencies) {
	l.spans.Merge(other.spans)
	l.held += other.held
	l.longest = max(l.longest, other.longest)
}

// calls is the number of spans recorded, those held up included.
func (l *latencies) calls() int64 { return l.spans.TotalCount() + l.held }
