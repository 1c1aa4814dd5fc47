package lab

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// What the settings of the two breakers begin with in a query.
const (
	oursPrefix   = "a."
	secondPrefix = "b."
)

// Query is the setup as the query of an address, in a fixed order: what is as in
// [Default] is left out, so that the default is empty.
func (s *Setup) Query() string {
	var parts []string
	add := func(key, value string) { parts = append(parts, key+"="+url.QueryEscape(value)) }
	usual := Default().fields()
	for i, f := range s.fields() {
		if text := f.Text(); text != usual[i].Text() {
			add(f.Key, text)
		}
	}
	if !slices.Equal(s.Lanes, Default().Lanes) {
		add("lanes", strings.Join(s.Lanes, "-"))
	}
	for _, of := range s.breakers() {
		for _, x := range settingsOf(of.config) {
			if text := x.text(); text != "" {
				add(of.prefix+x.name, text)
			}
		}
	}
	return strings.Join(parts, "&")
}

// breakers are the two whose settings one sets.
func (s *Setup) breakers() []struct {
	prefix string
	config *atomicbreaker.Config
} {
	return []struct {
		prefix string
		config *atomicbreaker.Config
	}{{oursPrefix, &s.Ours}, {secondPrefix, &s.Second}}
}

// Parse reads a setup from the query of an address, and reports all of its faults
// at once. The setup is then as far as it could be read.
func Parse(query string) (*Setup, error) {
	s := Default()
	values, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	faults := []error{err}
	for _, f := range s.fields() {
		if text, ok := take(values, f.Key); ok {
			faults = append(faults, f.set(text))
		}
	}
	if text, ok := take(values, "lanes"); ok {
		faults = append(faults, s.setLanes(text))
	}
	for _, of := range s.breakers() {
		for _, x := range settingsOf(of.config) {
			if text, ok := take(values, of.prefix+x.name); ok && strings.TrimSpace(text) != "" {
				if err := x.set(text); err != nil {
					faults = append(faults, fmt.Errorf("%s: %w", nameOf(of.prefix), err))
				}
			}
		}
	}
	for _, key := range sortedKeys(values) {
		faults = append(faults, fmt.Errorf("the address has %q, which is no setting", key))
	}
	if err := errors.Join(faults...); err != nil {
		return s, err
	}
	return s, s.validate()
}

func nameOf(prefix string) string {
	if prefix == secondPrefix {
		return "second breaker"
	}
	return "your breaker"
}

// take takes the first value of a key out of values.
func take(values url.Values, key string) (string, bool) {
	v, ok := values[key]
	delete(values, key)
	if !ok || len(v) == 0 {
		return "", false
	}
	return v[0], true
}

func sortedKeys(values url.Values) []string {
	var keys []string
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *Setup) setLanes(text string) error {
	var chosen []string
	for _, key := range strings.Split(text, "-") {
		if !slices.ContainsFunc(lanes, func(l lane) bool { return l.Key == key }) {
			return fmt.Errorf("lanes has %q, want some of %s", key, laneKeys())
		}
		if !slices.Contains(chosen, key) {
			chosen = append(chosen, key)
		}
	}
	slices.SortFunc(chosen, func(a, b string) int { return laneIndex(a) - laneIndex(b) })
	s.Lanes = chosen
	return nil
}

// mostTries bounds the work of a run: more attempts than this take longer than
// the second that one waits for.
const mostTries = 3e6

// validate finds what is wrong with values that are each in their range.
func (s *Setup) validate() error {
	var faults []error
	if end := incidentBegins + s.Lasts; end > s.Length {
		faults = append(faults, fmt.Errorf("the incident ends at %v and the run at %v: make the run (length) longer or the incident (lasts) shorter", end, s.Length))
	}
	if most := s.incident().most; s.Amount > most && most > 0 {
		faults = append(faults, fmt.Errorf("the amount (amount) is %s, want at most %s for %q", short(s.Amount), short(most), s.incident().Title))
	}
	if s.workers() > mostWorkers {
		faults = append(faults, fmt.Errorf("the capacity (capacity) and latency (latency) make %d calls under way at once, want at most %d", s.workers(), mostWorkers))
	}
	if tries := s.tries(); tries > mostTries {
		faults = append(faults, fmt.Errorf("these callers could ask %.2g times, want at most %.2g: fewer new calls (rate), fewer attempts (attempts), a longer wait before a retry (retry), or a shorter run (length)", tries, float64(mostTries)))
	}
	for _, of := range s.breakers() {
		if err := of.config.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", nameOf(of.prefix), err))
		}
	}
	return errors.Join(faults...)
}

// tries is how often callers ask if nobody is ever served.
func (s *Setup) tries() float64 {
	length, lasts := s.Length.Seconds(), s.Lasts.Seconds()
	perCall := func(left float64) float64 {
		n := 1 + left/s.Retry.Seconds()
		if s.Attempts > 0 {
			n = min(n, float64(s.Attempts))
		}
		return n
	}
	begins := incidentBegins.Seconds()
	return s.Rate*(length-lasts)*perCall(length/2) + s.peak()*lasts*perCall(length-begins-lasts/2)
}
