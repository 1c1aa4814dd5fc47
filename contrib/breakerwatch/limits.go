package breakerwatch

import (
	"strings"
	"sync/atomic"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Limits are the thresholds that open a closed breaker, with the defaults
// filled in. A rule that is off is 0.
type Limits struct {
	MinimumCalls        int     `json:"minimum_calls"` // that the window must hold for the two rates
	FailureRate         float64 `json:"failure_rate"`
	SlowCallRate        float64 `json:"slow_call_rate"`
	ConsecutiveFailures int     `json:"consecutive_failures"`
	Predicate           bool    `json:"predicate"` // Config.ReadyToTrip is set, which may open it at any failure

	// Sooner says that MinimumCalls and ConsecutiveFailures were left unset: where
	// calls are few, or begin to fail at once, the breaker then opens sooner.
	Sooner bool `json:"sooner"`
}

// Near is how far a window is on the way to the nearer of the two rates, 0 to
// 1: the share of failures or of slow calls divided by its limit, and by as
// much less as calls are missing from the minimum.
func (l *Limits) Near(c atomicbreaker.Counts) float64 {
	near := 0.0
	if l.FailureRate > 0 {
		near = c.FailureRate() / l.FailureRate
	}
	if l.SlowCallRate > 0 {
		near = max(near, c.SlowRate()/l.SlowCallRate)
	}
	near = min(near, 1)
	if l.MinimumCalls > 0 {
		near *= min(1, float64(c.Calls)/float64(l.MinimumCalls))
	}
	return near
}

// limitsBook is the limits by the names of configurations.
type limitsBook struct {
	count atomic.Int64
	last  atomic.Uint64 // grows with each change
}

// maxLimits bounds the configurations whose limits are kept.
const maxLimits = 4096

func (w *Watch) noteLimits(c atomicbreaker.Config) {
	full := c.WithDefaults()
	l := &Limits{
		MinimumCalls: full.MinimumCalls, FailureRate: max(full.FailureRate, 0), ConsecutiveFailures: max(full.ConsecutiveFailures, 0),
		Predicate: c.ReadyToTrip != nil, Sooner: c.ConsecutiveFailures == 0 && c.MinimumCalls == 0 && c.FailureRate != atomicbreaker.Off,
	}
	if full.SlowCallDuration != atomicbreaker.Off {
		l.SlowCallRate = max(full.SlowCallRate, 0)
	}
	if _, there := w.limits.Load(c.Name); !there && w.book.count.Add(1) > maxLimits {
		w.book.count.Add(-1)
		return
	}
	w.limits.Store(c.Name, l)
	w.book.last.Add(1)
}

// limitsOf returns the limits of the configuration of a name, or of a Group's
// whose breakers' names begin with it and a space, or nil.
func (w *Watch) limitsOf(name string) *Limits {
	for {
		if l, ok := w.limits.Load(name); ok {
			return l.(*Limits)
		}
		i := strings.LastIndexByte(name, ' ')
		if i <= 0 {
			return nil
		}
		name = name[:i]
	}
}
