package lab

import (
	"math"
	"time"

	"github.com/atomicbreaker/breaker/sim"
)

// An incident is a kind of thing that happens to the dependency or its callers.
type incident struct {
	Choice
	Bad   string  // what its amount is, in words; empty: it has none
	usual float64 // amount
	most  float64

	// phases are what happens to the dependency; nil: nothing.
	phases func(s *Setup, amount float64) []sim.Phase
}

// incidents in the order of the form.
var incidents = []incident{
	{Choice: Choice{"surge", "a surge of callers"}, Bad: "times the usual calls", usual: 8, most: 100},
	{Choice: Choice{"dead", "dead: every call fails at once"},
		phases: func(s *Setup, _ float64) []sim.Phase { return s.during(sim.Phase{Health: sim.Dead}) }},
	{Choice: Choice{"hang", "hanging: no call is answered"},
		phases: func(s *Setup, _ float64) []sim.Phase { return s.during(sim.Phase{Health: sim.Hanging}) }},
	{Choice: Choice{"errors", "many calls fail"}, Bad: "% of calls", usual: 60, most: 100,
		phases: func(s *Setup, a float64) []sim.Phase { return s.during(sim.Phase{Errors: a / 100}) }},
	{Choice: Choice{"slow", "every call takes longer"}, Bad: "times the latency", usual: 20, most: 1000,
		phases: func(s *Setup, a float64) []sim.Phase { return s.during(sim.Phase{Slowdown: a, Warmup: math.MaxInt32}) }},
	{Choice: Choice{"fewer", "few of the workers are left"}, Bad: "% of the workers", usual: 20, most: 100,
		phases: func(s *Setup, a float64) []sim.Phase {
			return s.during(sim.Phase{Workers: max(1, int(math.Round(float64(s.workers())*a/100)))})
		}},
	{Choice: Choice{"flapping", "dead and up by turns"}, Bad: "s of each", usual: 2, most: 60, phases: (*Setup).flapping},
	{Choice: Choice{"cold", "dead, then back with a cold cache"}, Bad: "times slower at first", usual: 8, most: 100,
		phases: func(s *Setup, a float64) []sim.Phase {
			p := s.during(sim.Phase{Health: sim.Dead})
			p[1].Slowdown, p[1].Warmup = a, int(5*s.Capacity)
			return p
		}},
	{Choice: Choice{"slowly", "dead, then the workers return one by one"}, Bad: "s until all are back", usual: 20, most: 200, phases: (*Setup).slowly},
	{Choice: Choice{"nothing", "nothing"}},
}

// during is a phase for as long as the incident lasts, and all well after it.
func (s *Setup) during(p sim.Phase) []sim.Phase {
	p.From = incidentBegins
	return []sim.Phase{p, {From: incidentBegins + s.Lasts}}
}

func (s *Setup) flapping(amount float64) []sim.Phase {
	var phases []sim.Phase
	half := time.Duration(amount * float64(time.Second))
	for t := incidentBegins; t < incidentBegins+s.Lasts; t += 2 * half {
		phases = append(phases, sim.Phase{From: t, Health: sim.Dead}, sim.Phase{From: min(t+half, incidentBegins+s.Lasts)})
	}
	return phases
}

func (s *Setup) slowly(amount float64) []sim.Phase {
	phases := []sim.Phase{{From: incidentBegins, Health: sim.Dead}}
	n := min(s.workers(), 50) // steps
	for i := 1; i <= n; i++ {
		phases = append(phases, sim.Phase{
			From:    incidentBegins + s.Lasts + time.Duration(float64(i-1)*amount/float64(n)*float64(time.Second)),
			Workers: max(1, s.workers()*i/n),
		})
	}
	return phases
}

// mostWorkers bounds what a dependency does at once.
const mostWorkers = 20000

// workers is how many serve Capacity at Latency.
func (s *Setup) workers() int {
	return max(1, int(math.Round(s.Capacity*s.Latency.Seconds())))
}

// latency is the time that a worker takes, so that all of them together serve
// Capacity: with few workers, their number is rounded, and this makes up for it.
func (s *Setup) latency() sim.Latency {
	mean := time.Duration(float64(s.workers()) / s.Capacity * float64(time.Second))
	switch s.Spread {
	case "none":
		return sim.Constant(mean)
	case "wide":
		return sim.Shifted(0, mean)
	case "two":
		fast := mean / 10
		rest := time.Duration((float64(mean) - float64(fast)/3) * 1.5)
		return sim.Bimodal(1.0/3, fast, sim.Shifted(rest/2, rest/2))
	case "heavy":
		return sim.Pareto(1.5, mean)
	}
	return sim.Shifted(mean/2, mean/2)
}

// scenario is the setup as the simulator takes it.
func (s *Setup) scenario() *sim.Scenario {
	span := sim.Span{From: incidentBegins, To: incidentBegins + s.Lasts}
	t := sim.Traffic{
		Rate:    []sim.Rate{{PerSecond: s.Rate}},
		Retry:   sim.Retry{Attempts: s.Attempts, Delay: sim.Span{From: s.Retry / 2, To: s.Retry * 3 / 2}},
		Timeout: s.Patience, Cancel: s.Cancel / 100,
	}
	if s.Backoff > 1 {
		t.Retry.Factor, t.Retry.Longest = s.Backoff, max(30*time.Second, s.Retry*3/2)
	}
	if s.Incident == "surge" {
		t.Rate = append(t.Rate, sim.Rate{From: span.From, PerSecond: s.peak()}, sim.Rate{From: span.To, PerSecond: s.Rate})
	}
	d := sim.Dependency{Workers: s.workers(), Latency: s.latency(), Queue: s.Queue, Phases: []sim.Phase{{}}}
	switch s.Overload {
	case "refuse":
		d.Queue = 0
	case "quota":
		d.Quota = max(1, int(s.Capacity))
	}
	if phases := s.incident().phases; phases != nil {
		d.Phases = append(d.Phases, phases(s, s.amount())...)
	}
	for i := range d.Phases {
		d.Phases[i].Errors = max(d.Phases[i].Errors, s.Errors/100)
	}
	return &sim.Scenario{
		Name: "lab", Mode: s.Incident, Title: "lab", Traffic: t, Dependency: d,
		Breakers: s.Fleet, Incident: span, Length: s.Length,
	}
}
