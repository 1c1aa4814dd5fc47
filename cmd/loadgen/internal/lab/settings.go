package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// A setting is one field of a breaker's Config that the page sets.
type setting struct {
	name  string // in Go, with the name of its struct before it, such as Cooldown.Min
	usual string // what the default is, in words of the form
	off   bool   // may be Off
	at    any    // a pointer to an int, a float64 or a time.Duration of a Config
}

// settingsOf lists the settings of a Config in its order.
func settingsOf(c *atomicbreaker.Config) []setting {
	return []setting{
		{"Window", "10s", false, &c.Window},
		{"Buckets", "10", false, &c.Buckets},
		{"WindowCalls", "by time", false, &c.WindowCalls},
		{"MinimumCalls", "10", false, &c.MinimumCalls},
		{"FailureRate", "0.5", true, &c.FailureRate},
		{"ConsecutiveFailures", "20", true, &c.ConsecutiveFailures},
		{"SlowCallDuration", "off", true, &c.SlowCallDuration},
		{"SlowCallRate", "0.5", true, &c.SlowCallRate},
		{"Cooldown.Min", "500ms", false, &c.Cooldown.Min},
		{"Cooldown.Max", "5s", false, &c.Cooldown.Max},
		{"Cooldown.Factor", "by age", false, &c.Cooldown.Factor},
		{"Cooldown.Jitter", "0.25", true, &c.Cooldown.Jitter},
		{"Recovery.Probes", "window", false, &c.Recovery.Probes},
		{"Recovery.Successes", "all probes", false, &c.Recovery.Successes},
		{"Recovery.Concurrent", "all probes", false, &c.Recovery.Concurrent},
		{"Recovery.Quiet", "1s", false, &c.Recovery.Quiet},
		{"Recovery.ProbeTimeout", "30s", false, &c.Recovery.ProbeTimeout},
	}
}

// text is the value as one writes it in the form: nothing for the default.
func (s *setting) text() string {
	switch at := s.at.(type) {
	case *int:
		if *at == 0 || *at == atomicbreaker.Off {
			return offOrNothing(*at != 0)
		}
		return strconv.Itoa(*at)
	case *float64:
		if *at == 0 || *at == atomicbreaker.Off {
			return offOrNothing(*at != 0)
		}
		return short(*at)
	case *time.Duration:
		if *at == 0 || *at == atomicbreaker.Off {
			return offOrNothing(*at != 0)
		}
		return at.String()
	}
	panic("lab: setting " + s.name + " of no known kind")
}

func offOrNothing(off bool) string {
	if off {
		return "off"
	}
	return ""
}

// set reads what stands in the form.
func (s *setting) set(text string) error {
	text = strings.TrimSpace(text)
	off := strings.EqualFold(text, "off")
	if off && !s.off {
		return fmt.Errorf("%s cannot be off", s.name)
	}
	var err error
	switch at := s.at.(type) {
	case *int:
		if off {
			*at = atomicbreaker.Off
		} else if *at, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%s is %q, want a whole number%s", s.name, text, s.orOff())
		}
	case *float64:
		if off {
			*at = atomicbreaker.Off
		} else if *at, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%s is %q, want a number%s", s.name, text, s.orOff())
		}
	case *time.Duration:
		if off {
			*at = atomicbreaker.Off
		} else if *at, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("%s is %q, want a duration with its unit, such as 500ms or 2s%s", s.name, text, s.orOff())
		}
	}
	return nil
}

func (s *setting) orOff() string {
	if s.off {
		return ", or off"
	}
	return ""
}
