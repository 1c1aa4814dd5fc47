package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Choice is one value of a field that has a few.
type Choice struct{ Key, Title string }

// A Field is one thing to set, with what the form and the address need to know.
type Field struct {
	Group, Key, Label string
	Unit              string // of the number, such as ms
	Help              string
	Min, Max          float64 // in that unit; Max of 0: a field with choices
	Choices           []Choice

	at   any           // a pointer to a float64, an int, a time.Duration or a string of a Setup
	unit time.Duration // that one of Unit stands for, of a duration
}

// Groups of fields, in the order of the form.
const (
	groupDependency = "Dependency"
	groupCallers    = "Callers"
	groupIncident   = "Incident"
	groupRun        = "The run"
)

var spreads = []Choice{
	{"none", "always the same"},
	{"half", "from half upwards, exponential"},
	{"wide", "exponential"},
	{"two", "a third fast, the rest slow"},
	{"heavy", "heavy tail (Pareto 1.5)"},
}

var overloads = []Choice{
	{"queue", "queues them, then fails"},
	{"refuse", "fails them at once"},
	{"quota", "fails them by a quota per second"},
}

// fields lists the fields of a setup, in the order of the form.
func (s *Setup) fields() []Field {
	kinds := make([]Choice, len(incidents))
	for i, k := range incidents {
		kinds[i] = k.Choice
	}
	return []Field{
		{Group: groupDependency, Key: "capacity", Label: "Capacity", Unit: "calls/s", Min: 1, Max: 5000, at: &s.Capacity},
		{Group: groupDependency, Key: "latency", Label: "Latency", Unit: "ms", Min: 1, Max: 10000, at: &s.Latency, unit: time.Millisecond},
		{Group: groupDependency, Key: "spread", Label: "Spread of it", Choices: spreads, at: &s.Spread},
		{Group: groupDependency, Key: "overload", Label: "With too many calls", Choices: overloads, at: &s.Overload},
		{Group: groupDependency, Key: "queue", Label: "Queue", Unit: "calls", Min: 0, Max: 20000, at: &s.Queue, Help: "how many calls can wait"},
		{Group: groupDependency, Key: "errors", Label: "Errors, always", Unit: "%", Min: 0, Max: 100, at: &s.Errors},

		{Group: groupCallers, Key: "rate", Label: "New calls", Unit: "calls/s", Min: 0.1, Max: 5000, at: &s.Rate, Help: "all callers together"},
		{Group: groupCallers, Key: "patience", Label: "Patience", Unit: "ms", Min: 0, Max: 60000, at: &s.Patience, unit: time.Millisecond, Help: "timeout of a call; 0: none"},
		{Group: groupCallers, Key: "attempts", Label: "Attempts", Unit: "in all", Min: 0, Max: 100, at: &s.Attempts, Help: "1: no retry; 0: until it succeeds"},
		{Group: groupCallers, Key: "retry", Label: "Wait before a retry", Unit: "ms", Min: 10, Max: 60000, at: &s.Retry, unit: time.Millisecond, Help: "half of it to three halves"},
		{Group: groupCallers, Key: "backoff", Label: "Backoff", Unit: "×", Min: 1, Max: 4, at: &s.Backoff, Help: "each further wait is so many times longer, up to 30 s"},
		{Group: groupCallers, Key: "cancel", Label: "Calls cancelled", Unit: "%", Min: 0, Max: 100, at: &s.Cancel},
		{Group: groupCallers, Key: "fleet", Label: "Fleet", Unit: "breakers", Min: 1, Max: 200, at: &s.Fleet, Help: "processes, a breaker in each"},

		{Group: groupIncident, Key: "incident", Label: "What happens", Choices: kinds, at: &s.Incident},
		{Group: groupIncident, Key: "amount", Label: "How bad", Min: 0, Max: 1000, at: &s.Amount, Help: "0: the usual"},
		{Group: groupIncident, Key: "lasts", Label: "Lasts", Unit: "s", Min: 1, Max: 250, at: &s.Lasts, unit: time.Second, Help: "from second 10 on"},

		{Group: groupRun, Key: "length", Label: "Length of the run", Unit: "s", Min: 15, Max: 300, at: &s.Length, unit: time.Second},
		{Group: groupRun, Key: "seed", Label: "Seed", Min: 1, Max: 1e6, at: &s.Seed, Help: "another number is another draw of all chances"},
		{Group: groupRun, Key: "gobreaker", Label: "gobreaker's Timeout", Unit: "s", Min: 0.1, Max: 300, at: &s.Gobreaker, unit: time.Second, Help: "60 is its default"},
	}
}

// Text is the value of the field in its unit.
func (f *Field) Text() string {
	switch at := f.at.(type) {
	case *string:
		return *at
	case *int:
		return strconv.Itoa(*at)
	case *time.Duration:
		return strconv.FormatFloat(float64(*at)/float64(f.unit), 'f', -1, 64)
	case *float64:
		return strconv.FormatFloat(*at, 'f', -1, 64)
	}
	panic("lab: field " + f.Key + " of no known kind")
}

// set gives the field a value from its text.
func (f *Field) set(text string) error {
	text = strings.TrimSpace(text)
	if at, ok := f.at.(*string); ok {
		for _, c := range f.Choices {
			if c.Key == text {
				*at = text
				return nil
			}
		}
		var keys []string
		for _, c := range f.Choices {
			keys = append(keys, c.Key)
		}
		return fmt.Errorf("%s (%s) is %q, want %s", f.Label, f.Key, text, strings.Join(keys, ", "))
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= f.Min && v <= f.Max) {
		return fmt.Errorf("%s (%s) is %q, want %s", f.Label, f.Key, text, f.bounds())
	}
	switch at := f.at.(type) {
	case *int:
		if v != math.Trunc(v) {
			return fmt.Errorf("%s (%s) is %q, want a whole number", f.Label, f.Key, text)
		}
		*at = int(v)
	case *time.Duration:
		*at = time.Duration(math.Round(v * float64(f.unit)))
	case *float64:
		*at = v
	}
	return nil
}

func (f *Field) bounds() string {
	return strings.TrimSpace(fmt.Sprintf("%s to %s %s", short(f.Min), short(f.Max), f.Unit))
}

func short(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
