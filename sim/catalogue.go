package sim

import (
	"fmt"
	"slices"
	"time"
)

const (
	sec = time.Second
	ms  = time.Millisecond
)

// The ways in which callers behave, by the names that the suite's checks use.
const (
	ModeUnbounded = "U"       // open loop, retries without limit
	ModeThree     = "3"       // open loop, three attempts
	ModeClosed    = "C"       // closed loop
	ModeReady     = "U-ready" // as U, by callers that ask Ready first
)

// The usual incident lasts from 10 s to 20 s, and the usual run goes on for
// 85 s after it: what has not recovered by then is called never.
const (
	begin = 10 * sec
	after = 85 * sec
)

// usual is the server of most scenarios: 20 workers, 50 ms: 400 calls a second.
func usual(queue int, phases ...Phase) Dependency {
	return Dependency{Workers: 20, Queue: queue, Latency: Shifted(25*ms, 25*ms), Phases: phases}
}

// traffic is open-loop traffic with the usual retry delay and client timeout,
// or the usual closed loop.
func traffic(mode string, rates ...Rate) Traffic {
	t := Traffic{Rate: rates, Retry: Retry{Delay: Span{500 * ms, 1500 * ms}}, Timeout: sec}
	switch mode {
	case ModeThree:
		t.Retry.Attempts = 3
	case ModeClosed:
		t = Traffic{Callers: 60, Think: Span{250 * ms, 750 * ms}, Timeout: sec}
	}
	return t
}

func steady(perSecond float64) Rate { return Rate{0, perSecond} }

// during is a phase that lasts from begin for a while, after which all is well.
func during(lasts time.Duration, p Phase) []Phase {
	p.From = begin
	return []Phase{p, {From: begin + lasts}}
}

// scenario fills in what most scenarios share.
func scenario(name, mode, title string, t Traffic, d Dependency, lasts time.Duration) *Scenario {
	return &Scenario{
		Name: name, Mode: mode, Title: title, Traffic: t, Dependency: d,
		Incident: Span{begin, begin + lasts}, Length: begin + lasts + after,
	}
}

func dead(name, mode string, rate float64, lasts time.Duration) *Scenario {
	return scenario(name, mode, fmt.Sprintf("dead for %v at %g calls/s", lasts, rate),
		traffic(mode, steady(rate)), usual(200, during(lasts, Phase{Health: Dead})...), lasts)
}

func hanging(name, mode string) *Scenario {
	return scenario(name, mode, "hanging for 10 s", traffic(mode, steady(100)),
		usual(200, during(10*sec, Phase{Health: Hanging})...), 10*sec)
}

// surge: twice the capacity for ten seconds.
func surge(name, mode string, queue int, title string) *Scenario {
	t := traffic(mode, steady(100), Rate{begin, 800}, Rate{begin + 10*sec, 100})
	if mode == ModeClosed {
		t.Rate, t.Guests = nil, 540
	}
	return scenario(name, mode, title, t, usual(queue), 10*sec)
}

func shallow(mode string) *Scenario {
	return surge("03", mode, 200, "surge to twice the capacity for 10 s, queue of 200")
}

func tiny(mode string) *Scenario {
	return surge("03b", mode, 20, "surge to twice the capacity for 10 s, queue of 20")
}

func collapse(mode string) *Scenario {
	return surge("04", mode, 2000, "surge to twice the capacity for 10 s, queue of 2000: congestion collapse")
}

func errorsFor20s(name, mode string, share float64) *Scenario {
	return scenario(name, mode, fmt.Sprintf("%g %% errors for 20 s, 1 %% otherwise", 100*share), traffic(mode, steady(100)),
		usual(200, Phase{Errors: 0.01}, Phase{From: begin, Errors: share}, Phase{From: begin + 20*sec, Errors: 0.01}), 20*sec)
}

func background(name, mode string, share, rate float64) *Scenario {
	return scenario(name, mode, fmt.Sprintf("%g %% errors always, dead for 10 s, at %g calls/s", 100*share, rate),
		traffic(mode, steady(rate)),
		usual(200, Phase{Errors: share}, Phase{From: begin, Health: Dead}, Phase{From: begin + 10*sec, Errors: share}), 10*sec)
}

// slowReturn: the workers come back one by one, over 30 s.
func slowReturn(name, mode string, queue int) *Scenario {
	d := usual(queue, Phase{From: begin, Health: Dead})
	for i := range d.Workers {
		d.Phases = append(d.Phases, Phase{
			From:    begin + 10*sec + time.Duration(i)*(30*sec)/time.Duration(d.Workers),
			Workers: i + 1,
		})
	}
	return scenario(name, mode, fmt.Sprintf("dead for 10 s at 200 calls/s, then capacity grows over 30 s, queue of %d", queue),
		traffic(mode, steady(200)), d, 10*sec)
}

func flapping(mode string) *Scenario {
	d := usual(200)
	for t := begin; t < begin+60*sec; t += 4 * sec {
		d.Phases = append(d.Phases, Phase{From: t, Health: Dead}, Phase{From: t + 2*sec})
	}
	return scenario("08", mode, "2 s dead, 2 s up, for 60 s", traffic(mode, steady(100)), d, 60*sec)
}

// rare: one call every so often, without retry. The incident outlasts 30
// calls, since it takes 10 to 20 failures to see it.
func rare(every time.Duration) *Scenario {
	t := Traffic{Rate: []Rate{steady(float64(sec) / float64(every))}, Regular: true, Retry: Retry{Attempts: 1}, Timeout: sec}
	incident := Span{25*every + every/2, 55*every + every/2}
	return &Scenario{
		Name: fmt.Sprintf("09-%ds", every/sec), Mode: "1", Title: fmt.Sprintf("one call in %v, dead for 30 calls", every),
		Traffic: t, Dependency: usual(200, Phase{From: incident.From, Health: Dead}, Phase{From: incident.To}),
		Incident: incident, Length: 65 * every,
	}
}

func fleet(name string, s *Scenario) *Scenario {
	s.Name, s.Breakers = name, 50
	s.Title = "fleet of 50: " + s.Title
	return s
}

// hungProbe: what first reaches the dependency after the outage is never
// answered, and nobody has a timeout.
func hungProbe(mode string) *Scenario {
	s := dead("11", mode, 100, 10*sec)
	s.Title = "dead for 10 s, the first call after it is never answered, no timeouts"
	s.Traffic.Timeout = 0
	s.Dependency.Phases[1].HangFirst = 1
	return s
}

// size: an outage of a dependency of another capacity and latency, at a
// quarter of that capacity.
func size(mode string, workers int, latency time.Duration) *Scenario {
	capacity := float64(workers) / latency.Seconds()
	s := scenario(fmt.Sprintf("12-%gx%v", capacity, latency), mode,
		fmt.Sprintf("dead for 10 s; capacity %g calls/s, latency %v", capacity, latency),
		traffic(mode, steady(capacity/4)),
		Dependency{Workers: workers, Queue: 10 * workers, Latency: Shifted(latency/2, latency/2),
			Phases: during(10*sec, Phase{Health: Dead})}, 10*sec)
	s.Traffic.Timeout = max(sec, 10*latency)
	return s
}

// overload: more demand than capacity, for ever.
func overload(mode string, queue int) *Scenario {
	d := usual(queue)
	d.Workers = 10
	s := scenario(fmt.Sprintf("13-q%d", queue), mode, fmt.Sprintf("capacity 200 calls/s under 300 for ever, queue of %d", queue),
		traffic(mode, steady(100), Rate{begin, 300}), d, 90*sec)
	s.Length = s.Incident.To
	return s
}

// with gives a scenario's dependency another latency.
func with(name string, s *Scenario, l Latency) *Scenario {
	s.Name, s.Title = name, s.Title+"; service time "+l.String()
	s.Dependency.Latency = l
	return s
}

// The latencies of scenario 14, which all have the usual mean.
func latencies() []struct {
	key string
	Latency
} {
	return []struct {
		key string
		Latency
	}{
		{"bimodal", Bimodal(0.3, ms, Shifted(35500*time.Microsecond, 35500*time.Microsecond))},
		{"outlier", Bimodal(0.01, 100*time.Microsecond, Shifted(25*ms, 25504*time.Microsecond))},
		{"pareto", Pareto(1.5, 50*ms)},
	}
}

func cancelling(mode string, lasts time.Duration) *Scenario {
	s := dead("15", mode, 100, lasts)
	s.Title += ", half of all calls cancelled"
	s.Traffic.Cancel = 0.5
	return s
}

func fastFirst(mode string) *Scenario {
	s := dead("16", mode, 100, 10*sec)
	s.Title += ", the first three answers after it in 0.1 ms"
	s.Dependency.Phases[1].FastFirst, s.Dependency.Phases[1].FastTime = 3, 100*time.Microsecond
	return s
}

func retrying(name string, s *Scenario, mean time.Duration) *Scenario {
	s.Name, s.Title = name, fmt.Sprintf("%s; retries after %v", s.Title, mean)
	s.Traffic.Retry.Delay = Span{mean / 2, mean * 3 / 2}
	return s
}

func errorsForEver(mode string, share float64) *Scenario {
	s := scenario(fmt.Sprintf("18-%g", 100*share), mode, fmt.Sprintf("%g %% errors for ever", 100*share),
		traffic(mode, steady(100)), usual(200, Phase{From: begin, Errors: share}), 90*sec)
	s.Length = s.Incident.To
	return s
}

// hardLimit: workers without a queue; what finds them busy fails at once.
func hardLimit(mode string, rate float64) *Scenario {
	s := scenario(fmt.Sprintf("20-%g", rate), mode, fmt.Sprintf("hard limit of 400 calls/s without a queue under %g calls/s for ever", rate),
		traffic(mode, steady(100), Rate{begin, rate}), usual(0), 90*sec)
	s.Length = s.Incident.To
	return s
}

// quota: a rate limiter that lets 400 calls through in each second of the clock.
func quota(mode string, rate float64) *Scenario {
	s := hardLimit(mode, rate)
	s.Name, s.Title = "20-quota", fmt.Sprintf("quota of 400 calls in each second under %g calls/s for ever", rate)
	s.Dependency.Workers, s.Dependency.Queue, s.Dependency.Quota = 40, 200, 400
	return s
}

// backingOff: callers whose waits double from attempt to attempt.
func backingOff(name string, s *Scenario) *Scenario {
	s.Name, s.Title = name, s.Title+"; retries back off to 30 s"
	s.Traffic.Retry.Factor, s.Traffic.Retry.Longest = 2, 30*sec
	return s
}

// coldCache: back from the dead, service takes eight times as long until
// enough calls have warmed the cache.
func coldCache(mode string) *Scenario {
	s := dead("21", mode, 100, 10*sec)
	s.Title += ", then a cold cache: eight times slower, warm after 2000 calls"
	s.Dependency.Phases[1].Slowdown, s.Dependency.Phases[1].Warmup = 8, 2000
	return s
}

// askingReady is a scenario once more with callers that ask Ready first.
func askingReady(s *Scenario) *Scenario {
	c := *s
	c.Dependency.Phases = slices.Clone(s.Dependency.Phases)
	c.Mode = ModeReady
	c.Traffic.AskReady = true
	return &c
}
