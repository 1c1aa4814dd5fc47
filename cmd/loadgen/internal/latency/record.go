package latency

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Record is what one goroutine measured. It is not safe for concurrent use;
// each goroutine has its own and they are added up afterwards.
type Record struct {
	Spans   *hdrhistogram.Histogram // in ticks
	cutoff  int64                   // spans from here on are held up and kept out of the histogram
	Held    int64                   // how many
	Longest int64                   // of all spans
}

// highest is the longest span that is told from longer ones: 2^36 ticks are
// about half a minute at 2 GHz.
const highest = 1 << 36

// NewRecord keeps three digits of every span below cutoff, given in ticks;
// a cutoff of 0 keeps every span.
func NewRecord(cutoff int64) *Record {
	if cutoff <= 0 {
		cutoff = math.MaxInt64
	}
	return &Record{Spans: hdrhistogram.New(1, highest, 3), cutoff: cutoff}
}

// Add records a span.
func (l *Record) Add(ticks int64) {
	if ticks > l.Longest {
		l.Longest = ticks
	}
	if ticks >= l.cutoff {
		l.Held++
		return
	}
	// Within the histogram's range nothing can fail. Two readings of the
	// counter on two processors may differ by a little less than nothing.
	_ = l.Spans.RecordValue(min(max(ticks, 0), highest))
}

// Merge adds what another has recorded.
func (l *Record) Merge(other *Record) {
	l.Spans.Merge(other.Spans)
	l.Held += other.Held
	l.Longest = max(l.Longest, other.Longest)
}

// Calls is the number of spans recorded, those held up included.
func (l *Record) Calls() int64 { return l.Spans.TotalCount() + l.Held }
