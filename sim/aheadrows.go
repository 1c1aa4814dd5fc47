package sim

import (
	"fmt"
	"time"
)

// Scenarios in which a breaker that knows its callers' deadlines can act before calls fail, and those in
// which it must not.

// patient is a collapse with callers that wait for so long, in front of a queue that is longer still.
func patient(mode string, timeout time.Duration) *Scenario {
	s := surge(fmt.Sprintf("23-timeout-%v", timeout), mode, 20_000, fmt.Sprintf("surge to twice the capacity for 20 s, queue of 20000, callers wait %v", timeout))
	s.Traffic.Rate = []Rate{steady(100), {begin, 800}, {begin + 20*sec, 100}}
	s.Traffic.Timeout = timeout
	s.Incident.To = begin + 20*sec
	return s
}

// higher is a surge to four times the capacity.
func higher(mode string) *Scenario {
	s := surge("23-4x", mode, 2000, "surge to four times the capacity for 10 s, queue of 2000")
	s.Traffic.Rate = []Rate{steady(100), {begin, 1600}, {begin + 10*sec, 100}}
	return s
}

// crowd is a scenario in front of which there are a hundred breakers.
func crowd(name string, s *Scenario) *Scenario {
	s.Name, s.Breakers = name, 100
	s.Title = "fleet of 100: " + s.Title
	return s
}

// mixed is a healthy dependency of which a share of the calls takes 600 ms; nothing happens.
func mixed(mode string, share float64) *Scenario {
	s := scenario(fmt.Sprintf("24-mix%g", 100*share), mode, fmt.Sprintf("healthy, %g %% of the calls take 600 ms, callers wait 1 s", 100*share),
		traffic(mode, steady(100)), usual(200), 60*sec)
	s.Dependency.Workers = 400
	s.Dependency.Latency = Bimodal(1-share, 50*ms, Constant(600*ms))
	s.Length = s.Incident.To
	return s
}

// slowed is a dependency whose answers take twelve times as long, for ever, of callers who wait 1 s.
func slowed(mode string, rate float64) *Scenario {
	s := scenario(fmt.Sprintf("24-step%g", rate), mode, fmt.Sprintf("answers take 600 ms instead of 50 ms from then on, at %g calls/s", rate),
		traffic(mode, steady(rate)), usual(200, Phase{From: begin, Slowdown: 12, Warmup: 1 << 30}), 290*sec)
	s.Dependency.Workers = 400
	s.Dependency.Latency = Constant(50 * ms)
	s.Length = s.Incident.To
	return s
}

// ahead are their rows. The others in the table have no such knowledge: these are of ours alone.
func ahead(mode string) []Row {
	return []Row{
		oursOnly(patient(mode, 300*ms), atMost("failed", 160)),
		oursOnly(patient(mode, 5*sec), atMost("failed", 20)),
		oursOnly(higher(ModeThree), atMost("failed", 430)),
		oursOnly(crowd("23-fleet", collapse(mode)), oraclePlus("t95_s", 2), atMost("failed", 400)),
		oursOnly(crowd("23-fleet-overload", overload(mode, 2000)), atLeast("goodput_during", 0.95*200), atMost("failed", 200)),
		oursOnly(mixed(mode, 0.4), ofOracle("goodput_during", 1), atMost("trips", 0)),
		oursOnly(mixed(mode, 0.6), ofOracle("goodput_during", 0.99), atMost("trips", 0)),
		oursOnly(mixed(mode, 0.8), ofOracle("goodput_during", 0.96), atMost("trips", 0)),
		oursOnly(slowed(mode, 100), ofOracle("goodput_during", 0.95), atMost("trips", 0)),
		oursOnly(slowed(mode, 20), ofOracle("goodput_during", 0.92), atMost("trips", 0)),
	}
}
