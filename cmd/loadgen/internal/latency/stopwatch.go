// Package latency measures spans of nanoseconds to seconds and keeps many of
// them.
package latency

import (
	"time"

	"github.com/loov/hrtime"
)

// Stopwatch measures spans too short for the operating system's clock, in
// ticks of the processor's time stamp counter where that runs at a constant
// rate, and otherwise in nanoseconds of the monotonic clock.
type Stopwatch struct {
	Name string
	Now  func() int64 // in ticks

	// NSPerTick compares the counter with the monotonic clock since the
	// stopwatch was made: the longer ago that is, the more exact.
	began time.Time
	ticks int64
}

// NewStopwatch starts one.
func NewStopwatch() *Stopwatch {
	s := &Stopwatch{Name: "monotonic clock", began: time.Now()}
	began := s.began
	s.Now = func() int64 { return int64(time.Since(began)) }
	if hrtime.TSCSupported() {
		s.Name = "time stamp counter"
		s.Now = func() int64 { return int64(hrtime.TSC()) }
	}
	s.ticks = s.Now()
	return s
}

// NSPerTick is exact to better than one in a thousand once the stopwatch is a
// few milliseconds old; asked earlier, it waits.
func (s *Stopwatch) NSPerTick() float64 {
	const enough = 5 * time.Millisecond
	if age := time.Since(s.began); age < enough {
		time.Sleep(enough - age)
	}
	return float64(time.Since(s.began)) / float64(s.Now()-s.ticks)
}
