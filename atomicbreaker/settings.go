package atomicbreaker

import "sync/atomic"

// settings is a Config with the defaults filled in, and what follows from it. It
// never changes; a breaker goes by the settings that it points to.
type settings struct {
	Config
	recovery        recovery
	hold            *hold // nil without a BeforeProbe
	streakByDefault bool  // ConsecutiveFailures was left unset
}

// settings are those of a valid c.
func (c Config) settings() *settings {
	s := &settings{streakByDefault: c.ConsecutiveFailures == 0, Config: c.WithDefaults()}
	s.recovery = newRecovery(s.Config)
	if c.BeforeProbe != nil {
		s.hold = &hold{before: c.BeforeProbe}
		s.hold.until.Store(notHeld)
	}
	return s
}

// settingsNow points to the settings that hold now.
type settingsNow struct{ v atomic.Pointer[settings] }
