package breakercaddy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// places are where the options of a block stand: errors that end in file and line.
type places map[string]error

// options are the Caddyfile's names for what faults name.
var options = map[string]string{
	"Config.Window":                "window",
	"Config.Buckets":               "window",
	"Config.WindowCalls":           "window_calls",
	"Config.MinimumCalls":          "minimum_calls",
	"Config.FailureRate":           "failure_rate",
	"Config.ConsecutiveFailures":   "consecutive_failures",
	"Config.SlowCallDuration":      "slow_call",
	"Config.SlowCallRate":          "slow_call",
	"Config.Cooldown.Min":          "cooldown",
	"Config.Cooldown.Max":          "cooldown",
	"Config.Cooldown.Factor":       "cooldown_factor",
	"Config.Cooldown.Jitter":       "jitter",
	"Config.Recovery.Probes":       "probes",
	"Config.Recovery.Successes":    "successes",
	"Config.Recovery.Concurrent":   "concurrent",
	"Config.Recovery.Quiet":        "quiet",
	"Config.Recovery.ProbeTimeout": "probe_timeout",
	"Config.Name":                  "name",
	"GroupConfig.Max":              "max_upstreams",
	"failure_statuses":             "failure_status",
	"max_open":                     "max_open",
	"unknown mode":                 "mode",
}

var fieldName = regexp.MustCompile(`(?:(?:Group)?Config|Recovery|Cooldown)(?:\.[A-Z][A-Za-z]+)+|failure_statuses|max_open|unknown mode`)

// check reports the faults of the settings that a block has made, each with
// the option's name and its line; the block's own where it names none.
func (s *Settings) check(d *caddyfile.Dispenser, at places) error {
	_, err := s.config()
	if err == nil {
		return nil
	}
	var faults []error
	for _, fault := range flatten(err) {
		text := strings.TrimPrefix(strings.TrimPrefix(fault.Error(), "atomicbreaker: "), "breakercaddy: ")
		where, found := d.Errf("transport atomicbreaker"), false
		text = fieldName.ReplaceAllStringFunc(text, func(field string) string {
			option, known := options[field]
			if !known {
				if option, known = options["Config."+field]; !known {
					return field
				}
			}
			if place, set := at[option]; set && !found {
				where, found = place, true
			}
			if field == "unknown mode" {
				return field
			}
			return option
		})
		text = strings.ReplaceAll(text, "or Off", "or off")
		// where is "option, at file:line".
		_, place, _ := strings.Cut(where.Error(), ", at ")
		faults = append(faults, fmt.Errorf("%s, at %s", text, place))
	}
	return errors.Join(faults...)
}

// flatten takes joined errors apart.
func flatten(err error) (all []error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}

// unmarshalOption reads the option at d, and reports whether there is one of
// its name.
func (s *Settings) unmarshalOption(d *caddyfile.Dispenser, at places) (bool, error) {
	option, args := d.Val(), d.RemainingArgs()
	p := argParser{d: d, option: option, args: args}
	at[option] = d.Errf("%s", option)
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
	case "cooldown_factor":
		s.CooldownFactor = p.rate()
	case "jitter":
		s.Jitter = p.rate()
	case "probes":
		s.Probes = p.count()
	case "successes":
		s.Successes = p.count()
	case "concurrent":
		s.Concurrent = p.count()
	case "quiet":
		s.Quiet = p.duration()
	case "max_open":
		s.MaxOpen = p.rate()
	case "probe_timeout":
		s.ProbeTimeout = p.duration()
	case "mode":
		s.Mode = p.text()
	case "failure_status":
		for ok := true; ok; ok = p.more() {
			s.FailureStatuses = append(s.FailureStatuses, p.status())
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
func parseArg[T comparable](p *argParser, off T, what string, parse func(string) (T, error)) (v T) {
	text := p.text()
	if text == "off" || p.err != nil {
		return off
	}
	v, err := parse(text)
	var zero T
	switch {
	case err != nil:
		p.err = p.d.Errf("%s is %q, want %s, or off where it can be", p.option, text, what)
	case v == zero:
		p.err = p.d.Errf("%s is %q: a zero says nothing; leave it out for the default, or write off where it can be", p.option, text)
	}
	return v
}

// status reads 503, or 5xx as 5.
func (p *argParser) status() int {
	text := p.text()
	if len(text) == 3 && strings.EqualFold(text[1:], "xx") && '2' <= text[0] && text[0] <= '5' {
		return int(text[0] - '0')
	}
	v, err := strconv.Atoi(text)
	if p.err == nil && (err != nil || v < 200 || v > 599) {
		p.err = p.d.Errf("%s is %q, want 200 to 599, or a hundred such as 5xx", p.option, text)
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
