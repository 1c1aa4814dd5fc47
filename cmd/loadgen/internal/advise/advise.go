// Package advise is a calculator for settings.
package advise

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/contrib/breakeradvice"
	"github.com/atomicbreaker/breaker/sim"
)

// Command is what loadgen lists.
var Command = frame.Command{
	Name:    "advise",
	Summary: "what a setting makes of a dependency: a calculator, and a second look at it",
	OnCall:  true,
	About: `
loadgen advise [flags]

Says, on the back of an envelope, whether a classic breaker in front of an
overloaded dependency lets it recover; what its probes cost while it is down;
how long the probe window takes to open; and what is worth a second look in
the settings that you give. Say what you know; what you leave out is unknown.

  loadgen advise -capacity 400 -rate 100 -queue 200 -latency 50ms -timeout 1s
  loadgen advise -capacity 400 -rate 4 -clients 50 -probes 10 -cooldown 5s
  loadgen advise -rate 0.1

The question to ask of a dependency first: what does it do with more calls
than it can serve? Where a refusal costs it next to nothing, a classic breaker
will do. Where calls queue, or fail only after a timeout, one probe that
succeeds says nothing about what comes after it.`,
	Declare: func(fs *flag.FlagSet) frame.Job {
		j := &job{}
		u, c := &j.usage, &j.config
		fs.Float64Var(&u.Rate, "rate", 0, "`N` calls a second, of one breaker")
		fs.Float64Var(&u.Capacity, "capacity", 0, "the dependency can serve `N` calls a second")
		fs.DurationVar(&u.Timeout, "timeout", 0, "a caller gives up after so long")
		fs.DurationVar(&u.Latency, "latency", 0, "an ordinary call takes so long")
		fs.IntVar(&u.Clients, "clients", 0, "`N` breakers in front of the dependency, one to a process")
		fs.IntVar(&j.queue, "queue", 0, "`N` calls can wait at the dependency")
		fs.DurationVar(&c.Cooldown.Min, "cooldown", 0, "Cooldown.Min; the calculator's classic breaker takes 5 s unless you say")
		fs.DurationVar(&c.Cooldown.Max, "cooldown-max", 0, "Cooldown.Max")
		fs.Float64Var(&c.Cooldown.Jitter, "jitter", 0, "Cooldown.Jitter, -1 for none")
		fs.IntVar(&c.Recovery.Probes, "probes", 0, "Recovery.Probes: `N` for the classic rule, 0 for the probe window")
		fs.IntVar(&c.Recovery.Concurrent, "concurrent", 0, "Recovery.Concurrent")
		fs.DurationVar(&c.Recovery.ProbeTimeout, "probe-timeout", 0, "Recovery.ProbeTimeout")
		fs.DurationVar(&c.Window, "window", 0, "Window")
		fs.IntVar(&c.WindowCalls, "window-calls", 0, "WindowCalls")
		fs.IntVar(&c.MinimumCalls, "minimum-calls", 0, "MinimumCalls")
		fs.Float64Var(&c.FailureRate, "failure-rate", 0, "FailureRate, -1 for off")
		fs.IntVar(&c.ConsecutiveFailures, "consecutive", 0, "ConsecutiveFailures, -1 for off")
		fs.DurationVar(&c.SlowCallDuration, "slow", 0, "SlowCallDuration")
		return j
	},
}

// job is the advise command with its flags.
type job struct {
	usage  breakeradvice.Usage
	config atomicbreaker.Config
	queue  int
}

// facts are the figures behind the words. What could not be computed
// from what is known is left out.
type facts struct {
	Classic  *classicFacts           `json:"classic,omitempty"`
	Window   *windowFacts            `json:"window,omitempty"`
	Findings []breakeradvice.Finding `json:"findings"`
}

type classicFacts struct {
	Throughput      float64 `json:"throughput"` // good answers a second while callers wait
	Stable          bool    `json:"stable"`
	CooldownS       float64 `json:"cooldown_s"`
	LongestCooldown float64 `json:"longest_stable_cooldown_s"` // 0: none is stable
	Probes          int     `json:"probes"`
	FewestProbes    int     `json:"fewest_stable_probes"` // 0: none is stable
	ProbeLoad       float64 `json:"probe_load"`           // calls a second while the dependency is down
}

type windowFacts struct {
	InFlight   float64 `json:"in_flight"`   // calls under way in ordinary traffic
	RoundTrips int     `json:"round_trips"` // until the window is as wide
	OpensS     float64 `json:"opens_s"`
}

func (j *job) Validate() error {
	var faults []error
	u := &j.usage
	for _, f := range []struct {
		name  string
		value float64
	}{{"rate", u.Rate}, {"capacity", u.Capacity}} {
		if !(f.value >= 0 && f.value <= 1e9) {
			faults = append(faults, fmt.Errorf("-%s is %v, want 0 to 1e9", f.name, f.value))
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"timeout", u.Timeout}, {"latency", u.Latency}} {
		if f.value < 0 || f.value > 24*time.Hour {
			faults = append(faults, fmt.Errorf("-%s is %v, want 0 to 24h", f.name, f.value))
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"clients", u.Clients}, {"queue", j.queue}} {
		if f.value < 0 || f.value > 1e9 {
			faults = append(faults, fmt.Errorf("-%s is %d, want 0 to 1e9", f.name, f.value))
		}
	}
	return errors.Join(append(faults, j.config.Validate())...)
}

func (j *job) Run(_ context.Context, r *frame.Report) error {
	r.Reproduce()
	facts := &facts{Classic: j.classic(), Window: j.window(), Findings: breakeradvice.Find(j.config, j.usage)}
	if facts.Findings == nil {
		facts.Findings = []breakeradvice.Finding{}
	}
	r.Facts("advice", facts)
	j.print(r.Console, facts)
	return nil
}

// classicLoad is the calculator's input: what all clients bring together.
func (j *job) classicLoad() sim.ClassicLoad {
	c := sim.ClassicLoad{
		Capacity: j.usage.Capacity, Rate: j.usage.Rate * float64(j.clients()), Queue: j.queue,
		Latency: j.usage.Latency, Timeout: j.usage.Timeout,
		Cooldown: j.config.Cooldown.Min, Probes: max(1, j.config.Recovery.Probes),
	}
	if c.Cooldown == 0 {
		c.Cooldown = 5 * time.Second
	}
	return c
}

func (j *job) clients() int { return max(1, j.usage.Clients) }

func (j *job) classic() *classicFacts {
	c := j.classicLoad()
	if c.Capacity == 0 || c.Rate == 0 || c.Latency == 0 && c.Queue == 0 {
		return nil
	}
	return &classicFacts{
		Throughput: c.Throughput(), Stable: c.Stable(),
		CooldownS: c.Cooldown.Seconds(), LongestCooldown: c.LongestCooldown().Seconds(),
		Probes: c.Probes, FewestProbes: c.FewestProbes(),
		ProbeLoad: float64(j.clients()*c.Probes) / c.Cooldown.Seconds(),
	}
}

// window says how long the probe window takes: it triples per round trip.
func (j *job) window() *windowFacts {
	if j.usage.Rate == 0 || j.usage.Latency == 0 {
		return nil
	}
	inFlight := j.usage.Rate * j.usage.Latency.Seconds()
	trips := 1
	for w := 1.0; w < inFlight && trips < 64; w *= 3 {
		trips++
	}
	return &windowFacts{InFlight: inFlight, RoundTrips: trips, OpensS: float64(trips) * j.usage.Latency.Seconds()}
}

func (j *job) print(c *frame.Console, facts *facts) {
	if f := facts.Classic; f != nil {
		j.printClassic(c, f)
	} else {
		c.Printf("Give -capacity, -rate and -latency or -queue to learn what a classic breaker makes of an overload.\n")
	}
	if w := facts.Window; w != nil {
		c.Printf("\nThe probe window, once the first probe has succeeded: at most %d round trips, %s, until it holds the\n%s calls that are under way in ordinary traffic; sooner where the queue is empty, later where it must drain.\n",
			w.RoundTrips, duration(w.OpensS), frame.Number(math.Ceil(w.InFlight)))
	}
	if len(facts.Findings) == 0 {
		c.Printf("\nNothing in these settings wants a second look, as far as the use is known.\n")
		return
	}
	c.Printf("\nWorth a second look:\n")
	for _, f := range facts.Findings {
		c.Printf("  %s\n      %s\n", f.Name, f.Text)
	}
}

func (j *job) printClassic(c *frame.Console, f *classicFacts) {
	load := j.classicLoad()
	c.Printf("A classic breaker (%s, cooldown %s) once the dependency is overloaded and callers wait:\n",
		probes(f.Probes), duration(f.CooldownS))
	c.Printf("  it lets %.3g of %s good answers a second through; %s arrive\n", f.Throughput, frame.Number(load.Capacity), frame.Number(load.Rate))
	if load.Deep() {
		c.Printf("  its queue is deeper than callers are patient: much of what it serves is for nobody\n")
	}
	if f.Stable {
		c.Printf("  stable: the backlog shrinks by %.3g a second\n", f.Throughput-load.Rate)
	} else {
		c.Printf("  not stable: the backlog grows by %.3g a second, long after the surge is over\n", load.Rate-f.Throughput)
		c.Printf("  %s\n  %s\n", stableCooldown(f), stableProbes(f))
	}
	c.Printf("  while the dependency is down it gets %.3g probes a second, %.2g %% of its capacity\n",
		f.ProbeLoad, 100*f.ProbeLoad/load.Capacity)
}

func stableCooldown(f *classicFacts) string {
	if f.LongestCooldown == 0 {
		return "no cooldown makes it stable"
	}
	return "a cooldown below " + duration(f.LongestCooldown) + " makes it stable"
}

func stableProbes(f *classicFacts) string {
	if f.FewestProbes == 0 {
		return "no number of probes that the dependency can serve at once makes it stable"
	}
	return probes(f.FewestProbes) + " that must all succeed make it stable, but not more than can be served at once"
}

func probes(n int) string {
	if n == 1 {
		return "1 probe"
	}
	return frame.Thousands(int64(n)) + " probes"
}

func duration(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}
