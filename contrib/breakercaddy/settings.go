package breakercaddy

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
	"github.com/caddyserver/caddy/v2"
)

// Settings are those of the breakers. What is left out has the default that
// [atomicbreaker.Config] gives it, except for ConsecutiveFailures: 6, as another
// upstream can take over. A zero is refused; -1 in JSON, or off in a Caddyfile, switches
// a rule off where that says it can be.
//
// Breakers belong to a set and, in it, to an upstream's address. Handlers with
// the same name share one set, and so do handlers without a name but with the
// same settings. A set survives reloads: with it the state of each breaker.
// Two handlers of one configuration that have one name but other settings are
// refused when it is loaded; nothing decides which would be right. When a
// reload changes the settings of a named set, breakers that were not closed
// start open; the settings of an unnamed one are its name, so that changing them starts it again, empty.
type Settings struct {
	// Name of the set; it begins the name of each breaker in logs.
	Name string `json:"name,omitempty"`

	Window              caddy.Duration `json:"window,omitempty"`
	Buckets             int            `json:"buckets,omitempty"`
	WindowCalls         int            `json:"window_calls,omitempty"`
	MinimumCalls        int            `json:"minimum_calls,omitempty"`
	FailureRate         float64        `json:"failure_rate,omitempty"`
	ConsecutiveFailures int            `json:"consecutive_failures,omitempty"`
	SlowCallDuration    caddy.Duration `json:"slow_call_duration,omitempty"`
	SlowCallRate        float64        `json:"slow_call_rate,omitempty"`
	CooldownMin         caddy.Duration `json:"cooldown_min,omitempty"`
	CooldownMax         caddy.Duration `json:"cooldown_max,omitempty"`
	CooldownFactor      float64        `json:"cooldown_factor,omitempty"`
	Jitter              float64        `json:"jitter,omitempty"`
	Probes              int            `json:"probes,omitempty"`
	Successes           int            `json:"successes,omitempty"`
	Concurrent          int            `json:"concurrent,omitempty"`
	Quiet               caddy.Duration `json:"quiet,omitempty"`
	ProbeTimeout        caddy.Duration `json:"probe_timeout,omitempty"`

	// Mode is auto, forced-open, forced-closed or shadow. Default: auto.
	Mode string `json:"mode,omitempty"`

	// FailureStatuses are counted as failures besides 500 to 599, except for
	// 501 and 505. Each 200 to 599, or 2 to 5 for a hundred, as in
	// Caddy's own unhealthy_status: 5 is every 5xx, 501 and 505 included.
	FailureStatuses []int `json:"failure_statuses,omitempty"`

	// MaxOpen is the largest share of a handler's upstreams whose breakers may
	// refuse at once, above 0 to 1; it allows at least one. Of those beyond it
	// the least sick go on, each as long as it serves at least one in five of
	// what it gets; their breakers neither see that nor are changed by it.
	// A breaker that an operator holds open stays open. At 1 all may refuse. It
	// needs [Policy]. Default: 0.5.
	MaxOpen float64 `json:"max_open,omitempty"`

	// MaxUpstreams is the most breakers that a set keeps. Default: 1024.
	MaxUpstreams int `json:"max_upstreams,omitempty"`
}

// config returns the settings as the core has them, and their faults.
func (s *Settings) config() (atomicbreaker.GroupConfig[string], error) {
	c := atomicbreaker.GroupConfig[string]{
		Max: s.MaxUpstreams,
		Config: atomicbreaker.Config{
			Name:                s.Name,
			Window:              time.Duration(s.Window),
			Buckets:             s.Buckets,
			WindowCalls:         s.WindowCalls,
			MinimumCalls:        s.MinimumCalls,
			FailureRate:         s.FailureRate,
			ConsecutiveFailures: cmp.Or(s.ConsecutiveFailures, maxopen.Streak),
			SlowCallDuration:    time.Duration(s.SlowCallDuration),
			SlowCallRate:        s.SlowCallRate,
			Cooldown: atomicbreaker.Cooldown{
				Min: time.Duration(s.CooldownMin), Max: time.Duration(s.CooldownMax), Factor: s.CooldownFactor, Jitter: s.Jitter,
			},
			Recovery: atomicbreaker.Recovery{
				Probes: s.Probes, Successes: s.Successes, Concurrent: s.Concurrent,
				Quiet: time.Duration(s.Quiet), ProbeTimeout: time.Duration(s.ProbeTimeout),
			},
		},
	}
	var faults []error
	if s.Mode != "" {
		faults = append(faults, c.Config.Mode.UnmarshalText([]byte(s.Mode)))
	}
	for _, status := range s.FailureStatuses {
		if (status < 200 || status > 599) && (status < 2 || status > 5) {
			faults = append(faults, fmt.Errorf("breakercaddy: failure_statuses has %d, want 200 to 599, or 2 to 5 for a hundred", status))
		}
	}
	if _, err := maxopen.Share(s.MaxOpen); err != nil {
		faults = append(faults, fmt.Errorf("breakercaddy: max_open %w", err))
	}
	faults = append(faults, c.Validate())
	return c, errors.Join(faults...)
}

// statuses writes out the hundreds.
func (s *Settings) statuses() (all []int) {
	for _, status := range s.FailureStatuses {
		if status >= 100 {
			all = append(all, status)
			continue
		}
		for i := range 100 {
			all = append(all, 100*status+i)
		}
	}
	return all
}

// outcome judges a status.
func (s *Settings) outcome(status int) atomicbreaker.Outcome {
	switch {
	case slices.Contains(s.FailureStatuses, status) || slices.Contains(s.FailureStatuses, status/100):
		return atomicbreaker.Failure
	case status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported:
		return atomicbreaker.Success
	case status >= 500 && status <= 599:
		return atomicbreaker.Failure
	}
	return atomicbreaker.Success
}
