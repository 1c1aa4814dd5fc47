package breakercaddy

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Settings are those of the breakers. What is left out has the default that
// [atomicbreaker.Config] gives it; -1 in JSON, or off in a Caddyfile, switches
// a rule off where that says it can be.
//
// Breakers belong to a set and, in it, to an upstream's address. Handlers with
// the same name share one set, and so do handlers without a name but with the
// same settings. A set survives reloads: with it the state of each breaker.
// Two handlers of one configuration that have one name but other settings are
// refused when it is loaded; nothing decides which would be right. When a
// reload changes the settings of a named set, breakers that were not closed
// start open; the settings of an unnamed one are its name, so that changing them starts it anew.
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
	Probes              int            `json:"probes,omitempty"`
	ProbeTimeout        caddy.Duration `json:"probe_timeout,omitempty"`

	// Mode is auto, forced-open, forced-closed or shadow. Default: auto.
	Mode string `json:"mode,omitempty"`

	// FailureStatuses are counted as failures besides 500 to 599, of which
	// 501 and 505 are none. Each 200 to 599.
	FailureStatuses []int `json:"failure_statuses,omitempty"`

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
			ConsecutiveFailures: s.ConsecutiveFailures,
			SlowCallDuration:    time.Duration(s.SlowCallDuration),
			SlowCallRate:        s.SlowCallRate,
			Cooldown:            atomicbreaker.Cooldown{Min: time.Duration(s.CooldownMin), Max: time.Duration(s.CooldownMax)},
			Recovery:            atomicbreaker.Recovery{Probes: s.Probes, ProbeTimeout: time.Duration(s.ProbeTimeout)},
		},
	}
	var faults []error
	if s.Mode != "" {
		faults = append(faults, c.Config.Mode.UnmarshalText([]byte(s.Mode)))
	}
	for _, status := range s.FailureStatuses {
		if status < 200 || status > 599 {
			faults = append(faults, fmt.Errorf("breakercaddy: failure_statuses has %d, want 200 to 599", status))
		}
	}
	faults = append(faults, c.Validate())
	return c, errors.Join(faults...)
}

// outcome judges a status.
func (s *Settings) outcome(status int) atomicbreaker.Outcome {
	switch {
	case slices.Contains(s.FailureStatuses, status):
		return atomicbreaker.Failure
	case status == http.StatusNotImplemented || status == http.StatusHTTPVersionNotSupported:
		return atomicbreaker.Success
	case status >= 500 && status <= 599:
		return atomicbreaker.Failure
	}
	return atomicbreaker.Success
}

// unmarshalOption reads the option at d, and reports whether there is one of
// its name.
func (s *Settings) unmarshalOption(d *caddyfile.Dispenser) (bool, error) {
	option, args := d.Val(), d.RemainingArgs()
	p := argParser{d: d, option: option, args: args}
	switch option {
	case "name":
		s.Name = p.text()
	case "window":
		s.Window = p.duration()
		if p.more() {
			s.Buckets = p.count()
		}
	case "window_calls":
		s.WindowCalls = p.count()
	case "minimum_calls":
		s.MinimumCalls = p.count()
	case "failure_rate":
		s.FailureRate = p.rate()
	case "consecutive_failures":
		s.ConsecutiveFailures = p.count()
	case "slow_call":
		s.SlowCallDuration = p.duration()
		if p.more() {
			s.SlowCallRate = p.rate()
		}
	case "cooldown":
		s.CooldownMin = p.duration()
		if p.more() {
			s.CooldownMax = p.duration()
		}
	case "probes":
		s.Probes = p.count()
	case "probe_timeout":
		s.ProbeTimeout = p.duration()
	case "mode":
		s.Mode = p.text()
	case "failure_status":
		for ok := true; ok; ok = p.more() {
			s.FailureStatuses = append(s.FailureStatuses, p.count())
		}
	case "max_upstreams":
		s.MaxUpstreams = p.count()
	default:
		return false, nil
	}
	return true, p.end()
}

// argParser takes the arguments of one option in turn and keeps the first fault.
type argParser struct {
	d      *caddyfile.Dispenser
	option string
	args   []string
	err    error
}

func (p *argParser) more() bool { return len(p.args) > 0 && p.err == nil }

func (p *argParser) text() string {
	if len(p.args) == 0 {
		if p.err == nil {
			p.err = p.d.Errf("%s needs an argument", p.option)
		}
		return ""
	}
	arg := p.args[0]
	p.args = p.args[1:]
	return arg
}

// parseArg reads an argument, of which off is one.
func parseArg[T any](p *argParser, off T, what string, parse func(string) (T, error)) (v T) {
	text := p.text()
	if text == "off" || p.err != nil {
		return off
	}
	v, err := parse(text)
	if err != nil {
		p.err = p.d.Errf("%s is %q, want %s, or off where it can be", p.option, text, what)
	}
	return v
}

func (p *argParser) count() int {
	return parseArg(p, atomicbreaker.Off, "a whole number", strconv.Atoi)
}

func (p *argParser) rate() float64 {
	return parseArg(p, atomicbreaker.Off, "a number", func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func (p *argParser) duration() caddy.Duration {
	return parseArg(p, caddy.Duration(atomicbreaker.Off), "a duration such as 500ms", func(s string) (caddy.Duration, error) {
		d, err := caddy.ParseDuration(s)
		return caddy.Duration(d), err
	})
}

func (p *argParser) end() error {
	if p.err == nil && len(p.args) > 0 {
		p.err = p.d.Errf("%s has too many arguments", p.option)
	}
	return p.err
}
