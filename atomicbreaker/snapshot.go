package atomicbreaker

import "time"

// Snapshot is everything an operator asks of a breaker, read without
// disturbing it. The totals only ever rise.
type Snapshot struct {
	Name       string        `json:"name"`
	State      State         `json:"state"`
	Mode       Mode          `json:"mode"`
	Generation uint32        `json:"generation"` // grows by one with every change of state and every Reset
	At         time.Duration `json:"at_ns"`      // the instant of this snapshot on the breaker's clock
	Since      time.Duration `json:"since_ns"`   // the instant of the last change of state
	Reason     Reason        `json:"reason"`     // why it changed
	RetryAfter time.Duration `json:"retry_after_ns"`

	Rolling Counts `json:"rolling"` // the rolling window of a closed breaker; empty otherwise

	// Every ticket ends in exactly one of these five.
	Succeeded uint64 `json:"succeeded"`
	Failed    uint64 `json:"failed"`
	Ignored   uint64 `json:"ignored"`
	Cancelled uint64 `json:"cancelled"`
	Late      uint64 `json:"late"` // settled after their generation was over

	Slow      uint64 `json:"slow"`      // of the succeeded and failed
	Abandoned uint64 `json:"abandoned"` // probes given up; each is late if it ever settles

	RefusedOpen     uint64 `json:"refused_open"`
	RefusedHalfOpen uint64 `json:"refused_half_open"`
	RefusedForced   uint64 `json:"refused_forced"`
	WouldRefuse     uint64 `json:"would_refuse"` // let through by Shadow

	ProbesInFlight int       `json:"probes_in_flight"` // in half-open, otherwise 0
	ProbeWindow    int       `json:"probe_window"`     // how many may be, in half-open, otherwise 0
	Unprobed       bool      `json:"unprobed"`         // half-open, and no call has come that could be a probe
	LastProbe      LastProbe `json:"last_probe"`

	Opened         uint64        `json:"opened"`       // how often the breaker has opened
	TimeOpen       time.Duration `json:"time_open_ns"` // how long it has been open in all, this time included
	ListenerPanics uint64        `json:"listener_panics"`
}

// LastProbe is the probe that was settled last, late ones left out.
type LastProbe struct {
	Settled bool          `json:"settled"` // false: there has been none
	Outcome Outcome       `json:"outcome"`
	Latency time.Duration `json:"latency_ns"`
}

// Refused returns the number of refusals of every kind.
func (s Snapshot) Refused() uint64 { return s.RefusedOpen + s.RefusedHalfOpen + s.RefusedForced }
