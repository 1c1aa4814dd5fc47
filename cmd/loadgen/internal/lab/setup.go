package lab

import (
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// A Setup is everything that one sets on the page. Its text form is a query,
// see [Setup.Query] and [Parse].
type Setup struct {
	// The dependency.
	Capacity float64       // calls a second that it can serve
	Latency  time.Duration // of a call that does not wait, on average
	Spread   string        // of the latency: a key of spreads
	Overload string        // what it does with more calls than it can serve: a key of overloads
	Queue    int           // calls that can wait
	Errors   float64       // percent of served calls that fail, always

	// The callers.
	Rate     float64       // new calls a second, all callers together
	Patience time.Duration // after which a caller gives up on an answer; 0: never
	Attempts int           // of a call, in all; 0: until it succeeds
	Retry    time.Duration // from a refusal or failure to the next attempt, on average
	Backoff  float64       // each further wait is so many times longer
	Cancel   float64       // percent of calls that their callers abandon half-way
	Fleet    int           // processes, each with a breaker of its own

	// The incident.
	Incident string        // a key of incidents
	Amount   float64       // how bad it is; 0: as bad as the incident usually is
	Lasts    time.Duration // how long
	Length   time.Duration // of the whole run
	Seed     int           // of every chance in it

	// What is compared.
	Lanes     []string             // keys of lanes, in their order
	Ours      atomicbreaker.Config // of the lane "ours"
	Second    atomicbreaker.Config // of the lane "second"
	Gobreaker time.Duration        // gobreaker's Timeout
}

// incidentBegins is when an incident begins.
const incidentBegins = 10 * time.Second

// Default is what the page opens with: a surge that a queue turns into an outage
// without end, for a breaker that asks one probe.
func Default() *Setup {
	return &Setup{
		Capacity: 400, Latency: 50 * time.Millisecond, Spread: "half", Overload: "queue", Queue: 2000,
		Rate: 100, Patience: time.Second, Retry: time.Second, Backoff: 1, Fleet: 1,
		Incident: "surge", Lasts: 10 * time.Second, Length: 90 * time.Second, Seed: 1,
		Lanes: []string{"ours", "classic", "gobreaker", "none"}, Gobreaker: time.Minute,
	}
}

// A Preset is a setup to start from.
type Preset struct{ Title, Query string }

// Presets are the setups that the page offers.
func Presets() []Preset {
	list := []struct {
		title  string
		change func(*Setup)
	}{
		{"Surge on a deep queue", func(*Setup) {}},
		{"Plain outage", func(s *Setup) { s.Incident, s.Queue = "dead", 200 }},
		{"Hanging", func(s *Setup) { s.Incident, s.Queue = "hang", 200 }},
		{"Most calls fail", func(s *Setup) { s.Incident, s.Queue, s.Errors, s.Lasts = "errors", 200, 1, 20*time.Second }},
		{"A fifth of the workers", func(s *Setup) { s.Incident, s.Queue, s.Rate, s.Lasts = "fewer", 200, 200, 20*time.Second }},
		{"Back with a cold cache", func(s *Setup) { s.Incident, s.Queue, s.Rate = "cold", 200, 200 }},
		{"Comes and goes", func(s *Setup) { s.Incident, s.Queue, s.Lasts = "flapping", 200, 30*time.Second }},
		{"Over quota", func(s *Setup) { s.Overload, s.Amount, s.Lasts = "quota", 6, 30*time.Second }},
		{"Fleet of 30, with and without turns", func(s *Setup) {
			s.Incident, s.Queue, s.Fleet, s.Lasts = "dead", 200, 30, 20*time.Second
			s.Lanes = []string{"ours", "alone", "turns", "classic"}
		}},
		{"Two settings side by side", func(s *Setup) {
			s.Lanes = []string{"ours", "second", "classic"}
			s.Second.Recovery.Probes, s.Second.Recovery.Successes = 10, 6
			s.Second.Cooldown = atomicbreaker.Cooldown{Min: 5 * time.Second, Factor: 1}
		}},
	}
	out := make([]Preset, len(list))
	for i, p := range list {
		s := Default()
		p.change(s)
		out[i] = Preset{p.title, s.Query()}
	}
	return out
}

// has tells whether a lane is shown.
func (s *Setup) has(lane string) bool { return slices.Contains(s.Lanes, lane) }

// amount is how bad the incident is.
func (s *Setup) amount() float64 {
	if s.Amount > 0 {
		return s.Amount
	}
	return s.incident().usual
}

func (s *Setup) incident() incident {
	for _, i := range incidents {
		if i.Key == s.Incident {
			return i
		}
	}
	return incident{}
}

// peak is the highest rate of new calls.
func (s *Setup) peak() float64 {
	if s.Incident == "surge" {
		return s.Rate * max(1, s.amount())
	}
	return s.Rate
}
