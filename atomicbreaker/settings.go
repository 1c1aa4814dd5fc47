package atomicbreaker

import (
	"sync/atomic"
	"time"
)

// settings is a Config with the defaults filled in, and what follows from it. It
// never changes; a breaker goes by the settings that it points to.
type settings struct {
	Config
	recovery        recovery
	hold            *hold         // nil without a BeforeProbe
	bucket          time.Duration // width of one of the rolling window
	streakByDefault bool          // ConsecutiveFailures was left unset
	brakes          bool          // it goes by callers' deadlines
	netRule         bool          // net failures trip: nothing about streaks or the minimum of calls was set
	rareRule        bool          // the last calls trip where the window holds too few: nothing about the window was set
	learnsTimeout   bool          // Recovery.ProbeTimeout was left unset
	watches         bool          // the worker watches a closed breaker for one of these, or to learn the patience
}

// settings are those of a valid c.
func (c Config) settings() *settings {
	s := &settings{streakByDefault: c.ConsecutiveFailures == 0, Config: c.WithDefaults()}
	s.bucket = s.Window / time.Duration(s.Buckets)
	s.recovery = newRecovery(s.Config)
	s.brakes = c.Deadline != Off && c.Recovery.Probes == 0
	s.netRule = c.ConsecutiveFailures == 0 && c.MinimumCalls == 0 && c.FailureRate != Off
	s.rareRule = s.netRule && c.Window == 0 && c.Buckets == 0 && c.WindowCalls == 0
	s.learnsTimeout = c.Recovery.ProbeTimeout == 0
	s.watches = s.brakes || s.netRule || c.Patience == 0
	if c.BeforeProbe != nil {
		s.hold = &hold{before: c.BeforeProbe}
		s.hold.until.Store(notHeld)
	}
	return s
}

// settingsNow points to the settings that hold now.
type settingsNow struct{ v atomic.Pointer[settings] }
