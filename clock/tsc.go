package clock

import (
	"math/bits"
	"time"

	"github.com/loov/hrtime"
)

// TSC returns a clock that reads the processor's time stamp counter, for
// breakers that time every call, and true; or, where there is no counter that
// runs at one rate on all processors (it is looked for on amd64 only), what
// [System] returns, and false.
//
// The counter's rate is measured against the system's time during this call, which
// takes 5 ms and is right to about 20 parts in a million. Timers are the
// runtime's, so the two drift apart by up to two seconds a day: time calls by
// it, not calendars. It does not follow a testing/synctest bubble's time.
func TSC() (Clock, bool) {
	if !hrtime.TSCSupported() {
		return System(), false
	}
	began, first := time.Now(), hrtime.TSC()
	took := time.Duration(0)
	for took < calibration {
		took = time.Since(began)
	}
	counted := uint64(hrtime.TSC() - first)
	// The scale is nanoseconds per count, in 1/2^32; a counter is faster than
	// 1 MHz, so it fits.
	scale, _ := bits.Div64(uint64(took)>>32, uint64(took)<<32, counted)
	return tsc{epoch: first, scale: scale}, true
}

const calibration = 5 * time.Millisecond

type tsc struct {
	epoch hrtime.Count
	scale uint64
}

// Now multiplies in 128 bits: in 64 the product would overflow within an hour.
// Just after the epoch another processor's counter may still be before it.
func (t tsc) Now() time.Duration {
	hi, lo := bits.Mul64(uint64(max(hrtime.TSC()-t.epoch, 0)), t.scale)
	return time.Duration(hi<<32 | lo>>32)
}

func (t tsc) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
