package main

import (
	"time"

	"github.com/loov/hrtime"
)

// stopwatch measures spans too short for the operating system's clock, in
// ticks of the processor's time stamp counter where that runs at a constant
// rate, and otherwise in nanoseconds of the monotonic clock.
type stopwatch struct {
	name string
	now  func() int64

	// What a tick is worth is found by comparing the counter with the
	// monotonic clock between the stopwatch's making and the question: the
	// longer it has been used, the more exact.
	began time.Time
	ticks int64
}

func newStopwatch() *stopwatch {
	s := &stopwatch{name: "monotonic clock", began: time.Now()}
	began := s.began
	s.now = func() int64 { return int64(time.Since(began)) }
	if hrtime.TSCSupported() {
		s.name = "time stamp counter"
		s.now = func() int64 { return int64(hrtime.TSC()) }
	}
	s.ticks = s.now()
	return s
}

// nsPerTick is exact to better than one in a thousand once the stopwatch is a
// few milliseconds old; asked earlier, it waits.
func (s *stopwatch) nsPerTick() float64 {
	const enough = 5 * time.Millisecond
	if age := time.Since(s.began); age < enough {
		time.Sleep(enough - age)
	}
	return float64(time.Since(s.began)) / float64(s.now()-s.ticks)
}
