package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakeradvice"
	"github.com/atomicbreaker/breaker/sim"
)

// A Description is what can be said of a setup before anything is run.
type Description struct {
	Query  string   `json:"query"`  // the address that reproduces it
	Faults []string `json:"faults"` // what is wrong with it; then there is nothing to run
	Lanes  []string `json:"lanes"`  // keys, to run one by one

	Seconds int    `json:"seconds"`
	From    int    `json:"from"` // of the incident
	To      int    `json:"to"`
	Bad     string `json:"bad"` // what "how bad" is of this incident, with the usual; empty: nothing

	Breakers []BreakerDescription `json:"breakers"`
	Sums     []string             `json:"sums"` // on the back of an envelope
}

// A BreakerDescription is what can be said of the settings of a breaker.
type BreakerDescription struct {
	Title    string                  `json:"title"`
	Go       string                  `json:"go"`
	YAML     string                  `json:"yaml"`
	Findings []breakeradvice.Finding `json:"findings"`
}

// Describe reads a query and says what can be said of it.
func Describe(query string) *Description {
	s, err := Parse(query)
	d := &Description{
		Query: s.Query(), Faults: []string{}, Lanes: s.Lanes,
		Seconds: int(s.Length.Seconds()), From: int(incidentBegins.Seconds()), To: int((incidentBegins + s.Lasts).Seconds()),
		Bad: s.bad(), Breakers: []BreakerDescription{s.describe("Settings", s.Ours)}, Sums: []string{},
	}
	if err != nil {
		d.Faults = strings.Split(err.Error(), "\n")
		return d
	}
	if s.has("second") {
		d.Breakers = append(d.Breakers, s.describe("Second settings", s.Second))
	}
	d.Sums = s.sums()
	return d
}

// bad says what "how bad" is a number of.
func (s *Setup) bad() string {
	i := s.incident()
	if i.Bad == "" {
		return ""
	}
	return fmt.Sprintf("%s; 0: %s", i.Bad, short(i.usual))
}

func (s *Setup) describe(title string, c atomicbreaker.Config) BreakerDescription {
	findings := breakeradvice.Find(c, breakeradvice.Usage{
		Rate: s.Rate / float64(s.Fleet), Timeout: s.Patience, Latency: s.Latency, Capacity: s.Capacity, Clients: s.Fleet,
	})
	if findings == nil {
		findings = []breakeradvice.Finding{}
	}
	return BreakerDescription{title, Go(c), YAML(c), findings}
}

// classicCooldown is that of the lane "classic".
const classicCooldown = 5 * time.Second

// sums is what a classic breaker makes of an overload, by arithmetic.
func (s *Setup) sums() []string {
	queue := s.Queue
	if s.Overload == "refuse" {
		queue = 0
	}
	c := sim.ClassicLoad{
		Capacity: s.Capacity, Rate: s.Rate, Queue: queue, Latency: s.Latency, Timeout: s.Patience,
		Cooldown: classicCooldown, Probes: 1,
	}
	out := []string{fmt.Sprintf("Once callers wait in numbers, a classic breaker with a cooldown of %v lets %s of %s good answers a second through; %s new calls a second arrive.",
		c.Cooldown, number(c.Throughput()), number(c.Capacity), number(c.Rate))}
	if c.Stable() {
		return append(out, fmt.Sprintf("That is stable: the backlog shrinks by %s a second.", number(c.Throughput()-c.Rate)))
	}
	out = append(out, fmt.Sprintf("That is not stable: the backlog grows by %s a second, long after the cause is gone.", number(c.Rate-c.Throughput())))
	if longest := c.LongestCooldown(); longest > 0 {
		out = append(out, fmt.Sprintf("A cooldown below %v makes it stable.", longest.Round(1e7)))
	}
	return out
}
