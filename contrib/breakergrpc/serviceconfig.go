package breakergrpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/internal/maxopen"
	"google.golang.org/grpc/serviceconfig"
)

// settings are those of connections that have the same.
type settings struct {
	breakers *atomicbreaker.Group[Backend]
	past     *atomicbreaker.Group[Backend] // count what goes past the breakers
	choice   Choice
	maxOpen  float64
}

func newSettings(c PolicyConfig) (*settings, error) {
	c.Breakers.Config.ConsecutiveFailures = cmp.Or(c.Breakers.Config.ConsecutiveFailures, maxopen.Streak)
	breakers, err := atomicbreaker.NewGroup(c.Breakers)
	faults := []error{err}
	pastConfig := c.Breakers
	pastConfig.Configure, pastConfig.OnError = nil, nil
	pastConfig.Config = maxopen.Of(c.Breakers.Config)
	s := &settings{breakers: breakers, choice: c.Choice}
	if err == nil {
		s.past, err = atomicbreaker.NewGroup(pastConfig)
		faults = append(faults, err)
	}
	if s.maxOpen, err = maxopen.Share(c.MaxOpen); err != nil {
		faults = append(faults, fmt.Errorf("breakergrpc: PolicyConfig.MaxOpen %w", err))
	}
	if c.Choice != RoundRobin && c.Choice != LeastRequest {
		faults = append(faults, fmt.Errorf("breakergrpc: PolicyConfig.Choice is %d, want RoundRobin or LeastRequest", c.Choice))
	}
	return s, errors.Join(faults...)
}

// lbConfig is a service config that has been read.
type lbConfig struct {
	serviceconfig.LoadBalancingConfig
	settings *settings
}

// wireConfig is the JSON form. A pointer tells what is set from what is not,
// so that a zero is refused in place of being ignored.
type wireConfig struct {
	Choice              *string   `json:"choice"`
	MaxOpen             *float64  `json:"maxOpen"`
	ConsecutiveFailures *int      `json:"consecutiveFailures"`
	FailureRate         *float64  `json:"failureRate"`
	MinimumCalls        *int      `json:"minimumCalls"`
	Window              *duration `json:"window"`
	Buckets             *int      `json:"buckets"`
	WindowCalls         *int      `json:"windowCalls"`
	SlowCallDuration    *duration `json:"slowCallDuration"`
	SlowCallRate        *float64  `json:"slowCallRate"`
	CooldownMin         *duration `json:"cooldownMin"`
	CooldownMax         *duration `json:"cooldownMax"`
	CooldownFactor      *float64  `json:"cooldownFactor"`
	Jitter              *float64  `json:"jitter"`
	Probes              *int      `json:"probes"`
	Successes           *int      `json:"successes"`
	Concurrent          *int      `json:"concurrent"`
	Quiet               *duration `json:"quiet"`
	ProbeTimeout        *duration `json:"probeTimeout"`
	Mode                *string   `json:"mode"`
}

// duration is written as a string, as in "0.5s" or "500ms".
type duration time.Duration

func (d *duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s is no duration, want a string such as \"0.5s\"", text)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is no duration, want a string such as \"0.5s\"", s)
	}
	*d = duration(v)
	return nil
}

// maxConfigs is how many different settings service configs may bring.
const maxConfigs = 64

// ParseConfig is for gRPC. A service config such as
//
//	{"loadBalancingConfig": [{"breaker_round_robin": {
//		"choice": "least_request", "maxOpen": 0.3, "consecutiveFailures": 10,
//		"cooldownMin": "1s", "mode": "shadow"}}]}
//
// changes, for the connections that use it, the settings that it names: choice
// (round_robin or least_request), maxOpen, and of [atomicbreaker.Config]
// consecutiveFailures, failureRate, minimumCalls, window, buckets, windowCalls,
// slowCallDuration, slowCallRate, cooldownMin, cooldownMax, cooldownFactor,
// jitter, probes, successes, concurrent, quiet, probeTimeout and mode.
// Durations are strings, and -1 switches a rate, a count or the jitter off where that
// can be; a zero is an error. What is not named is as in [PolicyConfig]. An
// unknown name is an error, and gRPC then refuses the service config. Connections whose service
// configs say the same share breakers. A policy takes at most 64 different ones.
func (p *Policy) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var w wireConfig
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("breakergrpc: service config of %s: %w", p.name, err)
	}
	key, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if w == (wireConfig{}) {
		return &lbConfig{settings: p.base}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.others[string(key)]; s != nil {
		return &lbConfig{settings: s}, nil
	}
	if len(p.others) >= maxConfigs {
		return nil, fmt.Errorf("breakergrpc: service configs of %s have brought %d different settings, want at most as many", p.name, maxConfigs)
	}
	c := p.config
	faults := []error{w.apply(&c)}
	s, err := newSettings(c)
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, fmt.Errorf("breakergrpc: service config of %s: %w", p.name, err)
	}
	if w.onlyChoice() { // the breakers are those of everybody
		s.breakers, s.past = p.base.breakers, p.base.past
	}
	p.others[string(key)] = s
	return &lbConfig{settings: s}, nil
}

// onlyChoice reports whether no setting of a breaker is named.
func (w wireConfig) onlyChoice() bool {
	w.Choice, w.MaxOpen = nil, nil
	return w == (wireConfig{})
}

// apply writes what is named into c.
func (w wireConfig) apply(c *PolicyConfig) error {
	var faults []error
	zero := func(name string) {
		faults = append(faults, fmt.Errorf("%s is 0, want a value, or no %s for the default", name, name))
	}
	set(w.MaxOpen, &c.MaxOpen, "maxOpen", zero)
	b := &c.Breakers.Config
	set(w.ConsecutiveFailures, &b.ConsecutiveFailures, "consecutiveFailures", zero)
	set(w.FailureRate, &b.FailureRate, "failureRate", zero)
	set(w.MinimumCalls, &b.MinimumCalls, "minimumCalls", zero)
	set((*time.Duration)(w.Window), &b.Window, "window", zero)
	set(w.Buckets, &b.Buckets, "buckets", zero)
	set(w.WindowCalls, &b.WindowCalls, "windowCalls", zero)
	set((*time.Duration)(w.SlowCallDuration), &b.SlowCallDuration, "slowCallDuration", zero)
	set(w.SlowCallRate, &b.SlowCallRate, "slowCallRate", zero)
	set((*time.Duration)(w.CooldownMin), &b.Cooldown.Min, "cooldownMin", zero)
	set((*time.Duration)(w.CooldownMax), &b.Cooldown.Max, "cooldownMax", zero)
	set(w.CooldownFactor, &b.Cooldown.Factor, "cooldownFactor", zero)
	set(w.Jitter, &b.Cooldown.Jitter, "jitter", zero)
	set(w.Probes, &b.Recovery.Probes, "probes", zero)
	set(w.Successes, &b.Recovery.Successes, "successes", zero)
	set(w.Concurrent, &b.Recovery.Concurrent, "concurrent", zero)
	set((*time.Duration)(w.Quiet), &b.Recovery.Quiet, "quiet", zero)
	set((*time.Duration)(w.ProbeTimeout), &b.Recovery.ProbeTimeout, "probeTimeout", zero)
	if w.Mode != nil {
		faults = append(faults, b.Mode.UnmarshalText([]byte(*w.Mode)))
	}
	if w.Choice != nil {
		switch *w.Choice {
		case "round_robin":
			c.Choice = RoundRobin
		case "least_request":
			c.Choice = LeastRequest
		default:
			faults = append(faults, fmt.Errorf("choice is %q, want round_robin or least_request", *w.Choice))
		}
	}
	return errors.Join(faults...)
}

func set[T comparable](from, to *T, name string, zero func(string)) {
	var none T
	switch {
	case from == nil:
	case *from == none:
		zero(name)
	default:
		*to = *from
	}
}

// All returns every breaker of the policy by backend. A backend comes up once for each
// different settings that service configs have brought.
func (p *Policy) All() iter.Seq2[Backend, *atomicbreaker.Breaker] {
	p.mu.Lock()
	groups := []*atomicbreaker.Group[Backend]{p.base.breakers}
	for _, s := range p.others {
		if s.breakers != p.base.breakers {
			groups = append(groups, s.breakers)
		}
	}
	p.mu.Unlock()
	return func(yield func(Backend, *atomicbreaker.Breaker) bool) {
		for _, g := range groups {
			for k, b := range g.All() {
				if !yield(k, b) {
					return
				}
			}
		}
	}
}
