package atomicbreaker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
)

// The defaults, and the limits of what a Config accepts.
const (
	defaultWindow              = 10 * time.Second
	defaultBuckets             = 10
	defaultMinimumCalls        = 10
	defaultRate                = 0.5
	defaultConsecutiveFailures = 20
	defaultCooldownMin         = 500 * time.Millisecond
	defaultCooldownMax         = 5 * time.Second
	defaultJitter              = 0.25
	defaultQuiet               = time.Second
	defaultProbeTimeout        = 30 * time.Second

	minDuration    = time.Millisecond
	maxDuration    = 24 * time.Hour
	minSlow        = time.Microsecond
	maxBuckets     = 128
	maxWindowCalls = 1024
	maxMinimum     = 1_000_000_000
	maxConsecutive = 1_000_000
	maxProbes      = 1024
	maxFactor      = 16
	maxStripes     = 256
	maxName        = 256
)

// WithDefaults returns c as New takes it: with the defaults for all that was left
// zero. It finds no fault with c; see [Config.Validate].
func (c Config) WithDefaults() Config {
	or(&c.Window, defaultWindow)
	or(&c.Buckets, defaultBuckets)
	if c.WindowCalls > 0 {
		c.Buckets = 1 // the ring keeps totals only
		or(&c.MinimumCalls, min(defaultMinimumCalls, c.WindowCalls))
	}
	or(&c.MinimumCalls, defaultMinimumCalls)
	or(&c.FailureRate, defaultRate)
	or(&c.ConsecutiveFailures, defaultConsecutiveFailures)
	or(&c.SlowCallDuration, Off)
	or(&c.SlowCallRate, defaultRate)
	or(&c.Cooldown.Min, defaultCooldownMin)
	or(&c.Cooldown.Max, max(defaultCooldownMax, c.Cooldown.Min))
	or(&c.Cooldown.Jitter, defaultJitter)
	or(&c.Recovery.Successes, c.Recovery.Probes)
	or(&c.Recovery.Concurrent, c.Recovery.Probes)
	or(&c.Recovery.Quiet, defaultQuiet)
	or(&c.Recovery.ProbeTimeout, defaultProbeTimeout)
	or(&c.Stripes, ring.MaxStripes(runtime.GOMAXPROCS(0)))
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	return c
}

func or[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate returns every fault of c, joined: what is out of range, by field,
// value and range, and what is in conflict. It returns nil for a Config that
// [New] accepts. Nothing is corrected.
func (c Config) Validate() error {
	var v faults
	v.name(c.Name)
	v.span("Window", c.Window, minDuration, maxDuration, false)
	v.count("Buckets", c.Buckets, maxBuckets, false)
	v.count("WindowCalls", c.WindowCalls, maxWindowCalls, false)
	v.count("MinimumCalls", c.MinimumCalls, maxMinimum, false)
	v.rate("FailureRate", c.FailureRate)
	v.count("ConsecutiveFailures", c.ConsecutiveFailures, maxConsecutive, true)
	v.span("SlowCallDuration", c.SlowCallDuration, minSlow, maxDuration, true)
	v.rate("SlowCallRate", c.SlowCallRate)
	v.span("Deadline", c.Deadline, minDuration, maxDuration, true)
	v.span("Patience", c.Patience, minSlow, maxDuration, true)
	v.span("Cooldown.Min", c.Cooldown.Min, minDuration, maxDuration, false)
	v.span("Cooldown.Max", c.Cooldown.Max, minDuration, maxDuration, false)
	if f := c.Cooldown.Factor; f != 0 && !(f >= 1 && f <= maxFactor) {
		v.add("Cooldown.Factor is %v, want 0, or 1 to %d", f, maxFactor)
	}
	if j := c.Cooldown.Jitter; j != 0 && j != Off && !(j > 0 && j < 1) {
		v.add("Cooldown.Jitter is %v, want above 0 and below 1, or Off", j)
	}
	v.count("Recovery.Probes", c.Recovery.Probes, maxProbes, false)
	v.count("Recovery.Successes", c.Recovery.Successes, maxProbes, false)
	v.count("Recovery.Concurrent", c.Recovery.Concurrent, maxProbes, false)
	v.span("Recovery.Quiet", c.Recovery.Quiet, minDuration, maxDuration, false)
	v.span("Recovery.ProbeTimeout", c.Recovery.ProbeTimeout, minDuration, maxDuration, false)
	v.count("Stripes", c.Stripes, maxStripes, false)
	if c.Stripes > 0 && c.Stripes&(c.Stripes-1) != 0 {
		v.add("Stripes is %d, want a power of two", c.Stripes)
	}
	if c.Mode > Shadow {
		v.add("Mode is %d, want Auto, ForcedOpen, ForcedClosed or Shadow", c.Mode)
	}
	v.conflicts(c)
	return errors.Join(v...)
}

// faults collects what is wrong.
type faults []error

func (v *faults) add(format string, args ...any) {
	*v = append(*v, fmt.Errorf("atomicbreaker: Config."+format, args...))
}

func (v *faults) name(s string) {
	if len(s) > maxName {
		v.add("Name is %d bytes long, want at most %d", len(s), maxName)
	}
	if !utf8.ValidString(s) {
		v.add("Name is %q, want valid UTF-8", s)
		return
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			v.add("Name is %q, want no control characters", s)
			return
		}
	}
}

func orOff(can bool) string {
	if can {
		return ", or Off"
	}
	return ""
}

func (v *faults) span(field string, d, low, high time.Duration, canBeOff bool) {
	if d == 0 || d == Off && canBeOff || d >= low && d <= high {
		return
	}
	hint := ""
	if d > 0 && d < minDuration {
		hint = fmt.Sprintf("; is the unit missing? %d*time.Millisecond", d)
	}
	v.add("%s is %v, want %v to %v%s%s", field, d, low, high, orOff(canBeOff), hint)
}

func (v *faults) count(field string, n, high int, canBeOff bool) {
	if n == 0 || n == Off && canBeOff || n > 0 && n <= high {
		return
	}
	v.add("%s is %d, want 1 to %d%s", field, n, high, orOff(canBeOff))
}

func (v *faults) rate(field string, r float64) {
	if r == 0 || r == Off || r > 0 && r <= 1 { // NaN is none of these
		return
	}
	hint := ""
	if r > 1 {
		hint = "; it is a share, not per cent"
	}
	v.add("%s is %v, want above 0 to 1, or Off%s", field, r, hint)
}

// conflicts finds fields that are well each for itself and not together. Where
// one of them is out of range already, nothing more is said of it.
func (v *faults) conflicts(c Config) {
	slow := c.SlowCallDuration > 0
	if c.FailureRate == Off && c.ConsecutiveFailures == Off && c.ReadyToTrip == nil &&
		!(slow && c.SlowCallRate != Off) {
		v.add("FailureRate and ConsecutiveFailures are Off, SlowCallDuration or SlowCallRate is Off and ReadyToTrip is nil: " +
			"no rule could ever trip, want at least one")
	}
	if c.SlowCallRate > 0 && !slow {
		v.add("SlowCallRate is %v but SlowCallDuration is Off, want both or neither", c.SlowCallRate)
	}
	if c.WindowCalls > 0 {
		if c.Window != 0 || c.Buckets != 0 {
			v.add("WindowCalls is %d with Window %v and Buckets %d: want a window of calls or of time, not both",
				c.WindowCalls, c.Window, c.Buckets)
		}
		if c.MinimumCalls > c.WindowCalls {
			v.add("MinimumCalls is %d and WindowCalls %d: want MinimumCalls at most WindowCalls, or it is never met",
				c.MinimumCalls, c.WindowCalls)
		}
	} else if d := c.WithDefaults(); d.Window >= minDuration && d.Buckets >= 1 && d.Buckets <= maxBuckets &&
		d.Window%(time.Duration(d.Buckets)*time.Millisecond) != 0 {
		v.add("Window is %v with Buckets %d, want a bucket of a whole number of milliseconds, at least 1",
			d.Window, d.Buckets)
	}
	if low, high := c.Cooldown.Min, c.Cooldown.Max; high != 0 && max(low, 0) > high && high >= minDuration {
		v.add("Cooldown.Min is %v and Cooldown.Max %v, want Min at most Max", low, high)
	} else if low == 0 && high >= minDuration && high < defaultCooldownMin {
		v.add("Cooldown.Max is %v and Cooldown.Min the default of %v, want Min at most Max", high, defaultCooldownMin)
	}
	switch p := c.Recovery.Probes; {
	case p == 0 && max(c.Recovery.Successes, c.Recovery.Concurrent) > 0:
		v.add("Recovery.Successes is %d and Recovery.Concurrent %d without Recovery.Probes: they are of the classic rule, "+
			"want Probes too, or neither of them", c.Recovery.Successes, c.Recovery.Concurrent)
	case c.Recovery.Successes > p || c.Recovery.Concurrent > p:
		v.add("Recovery.Successes is %d and Recovery.Concurrent %d with Recovery.Probes %d, want both at most Probes",
			c.Recovery.Successes, c.Recovery.Concurrent, p)
	}
}
