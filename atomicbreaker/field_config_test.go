package atomicbreaker_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakeradvice"
)

// A negative duration is an error that names the field and the value, and so
// is one that Off is not meant for.
//
// Field: S110, sony/gobreaker#26 (2019-11-17).
func TestFieldNegativeDurationsAreRefused(t *testing.T) {
	for field, set := range map[string]func(*ab.Config, time.Duration){
		"Window":                func(c *ab.Config, d time.Duration) { c.Window = d },
		"SlowCallDuration":      func(c *ab.Config, d time.Duration) { c.SlowCallDuration = d },
		"Cooldown.Min":          func(c *ab.Config, d time.Duration) { c.Cooldown.Min = d },
		"Cooldown.Max":          func(c *ab.Config, d time.Duration) { c.Cooldown.Max = d },
		"Recovery.Quiet":        func(c *ab.Config, d time.Duration) { c.Recovery.Quiet = d },
		"Recovery.ProbeTimeout": func(c *ab.Config, d time.Duration) { c.Recovery.ProbeTimeout = d },
	} {
		for _, d := range []time.Duration{-time.Second, ab.Off, math.MinInt64} {
			if field == "SlowCallDuration" && d == ab.Off {
				continue // it can be off
			}
			var c ab.Config
			set(&c, d)
			wantFaults(t, c, fmt.Sprintf("Config.%s is %v, want ", field, d))
		}
	}
	wantFaults(t, ab.Config{Cooldown: ab.Cooldown{Jitter: -0.5}}, "Config.Cooldown.Jitter is -0.5, want ")
}

// A number out of its range is an error that names the field and the value,
// NaN included, which is neither above nor below anything. All are told at once.
//
// Field: S112, exaring/hoglet#17 (2024-07-02), commit 8113465 (2026-06-26);
// linkerd/linkerd2-proxy#4561 (2026); cep21/circuit#152 (NaN).
func TestFieldNumbersOutOfRangeAreRefused(t *testing.T) {
	rates := []float64{math.NaN(), -0.1, 1.1, math.Inf(1), math.Inf(-1), 50}
	for _, r := range rates {
		wantFaults(t, ab.Config{FailureRate: r}, fmt.Sprintf("Config.FailureRate is %v, want ", r))
		wantFaults(t, ab.Config{SlowCallDuration: 1e9, SlowCallRate: r}, fmt.Sprintf("Config.SlowCallRate is %v, want ", r))
		wantFaults(t, ab.Config{Cooldown: ab.Cooldown{Jitter: r}}, fmt.Sprintf("Config.Cooldown.Jitter is %v, want ", r))
		wantFaults(t, ab.Config{Cooldown: ab.Cooldown{Factor: r - 1}}, fmt.Sprintf("Config.Cooldown.Factor is %v, want ", r-1))
	}
	counts := map[string]func(*ab.Config, int){
		"MinimumCalls":        func(c *ab.Config, n int) { c.MinimumCalls = n },
		"ConsecutiveFailures": func(c *ab.Config, n int) { c.ConsecutiveFailures = n },
		"WindowCalls":         func(c *ab.Config, n int) { c.WindowCalls = n },
		"Buckets":             func(c *ab.Config, n int) { c.Buckets = n },
		"Recovery.Probes":     func(c *ab.Config, n int) { c.Recovery.Probes = n },
		"Recovery.Successes":  func(c *ab.Config, n int) { c.Recovery.Successes = n },
		"Recovery.Concurrent": func(c *ab.Config, n int) { c.Recovery.Concurrent = n },
		"Stripes":             func(c *ab.Config, n int) { c.Stripes = n },
	}
	var all ab.Config
	var texts []string
	for field, set := range counts {
		for _, n := range []int{-1, -2, math.MinInt32, math.MaxInt32} {
			if field == "ConsecutiveFailures" && n == ab.Off {
				continue // it can be off
			}
			var c ab.Config
			set(&c, n)
			wantFaults(t, c, fmt.Sprintf("Config.%s is %d, want ", field, n))
		}
		set(&all, -2)
		texts = append(texts, fmt.Sprintf("Config.%s is -2", field))
	}
	wantFaults(t, all, texts...)
	wantFaults(t, ab.Config{FailureRate: ab.Off, ConsecutiveFailures: ab.Off}, "no rule could ever trip")
}

// What is set is kept to or refused, never cut: a cooldown may be longer than
// the window and than the longest one by default.
//
// Field: S113, exaring/hoglet commit 7a76497 (2026-06-26); yammer/circuitbox#108.
func TestFieldNothingIsCutSilently(t *testing.T) {
	c := rateConfig()
	c.Cooldown.Min, c.Cooldown.Max = 30*time.Second, 0
	p := examine(t, c)
	p.calls(10, ab.Failure)
	if got := p.RetryAfter(); got != 30*time.Second {
		t.Errorf("the cooldown is %v, want 30 s", got)
	}
	for _, now := range []float64{10, 29} {
		p.at(now)
		p.refused(ab.ErrOpen)
	}
	p.at(30)
	p.call(ab.Failure)
	p.at(59.9)
	p.refused(ab.ErrOpen)
	p.at(60)
	p.acquire()
}

// Whichever rule trips, the cooldown has its default and ends.
//
// Field: S114, exaring/hoglet commit f4ef83d (2024-01-24).
func TestFieldEveryRuleHasTheDefaultCooldown(t *testing.T) {
	off := ab.Config{FailureRate: ab.Off, ConsecutiveFailures: ab.Off}
	for _, want := range []ab.Reason{ab.ReasonStreak, ab.ReasonFailureRate, ab.ReasonSlowCallRate, ab.ReasonReadyToTrip} {
		for _, windowCalls := range []int{0, 20} {
			c := off
			c.WindowCalls = windowCalls
			switch want {
			case ab.ReasonStreak:
				c.ConsecutiveFailures = 3
			case ab.ReasonFailureRate:
				c.FailureRate = 0.2
			case ab.ReasonSlowCallRate:
				c.SlowCallDuration = time.Millisecond
			case ab.ReasonReadyToTrip:
				c.ReadyToTrip = func(counts ab.Counts) bool { return counts.Failures == 3 }
			}
			p := examine(t, c)
			for range 10 {
				if p.State() == ab.StateClosed {
					ticket := p.acquire()
					p.clock.Advance(time.Millisecond)
					ticket.Report(ab.Failure)
				}
			}
			p.story(fmt.Sprintf("open(%v)", want))
			p.clock.Advance(625 * time.Millisecond) // 500 ms and a quarter of jitter
			p.call(ab.Success)
		}
	}
}

// A Breaker that New did not make says so at the first use, and a Config that
// is left empty makes one that works.
//
// Field: S116, cloudwego/kitex#526 (2022-08-19); nzin/traefik-cluster-ratelimit#4
// (2025-01-15); exaring/hoglet commit f1e1e09 (2023-10-11).
func TestFieldUnmadeBreakerFailsLoudly(t *testing.T) {
	for _, b := range []*ab.Breaker{nil, new(ab.Breaker)} {
		for name, use := range map[string]func(){
			"Acquire":    func() { b.Acquire() },
			"Do":         func() { b.Do(t.Context(), succeed) },
			"Ready":      func() { b.Ready() },
			"State":      func() { b.State() },
			"Snapshot":   func() { b.Snapshot() },
			"RetryAfter": func() { b.RetryAfter() },
			"Name":       func() { b.Name() },
			"Trip":       func() { b.Trip() },
			"Reset":      func() { b.Reset() },
			"SetMode":    func() { b.SetMode(ab.Shadow) },
		} {
			if text := fmt.Sprint(panicOf(use)); !strings.Contains(text, "make one with New") {
				t.Errorf("%s of %v panics with %q, want a word of New", name, b, text)
			}
		}
	}
	if (&ab.Ticket{}).Report(ab.Success) {
		t.Error("a Ticket that is none was settled")
	}
	p := examine(t, ab.Config{})
	p.calls(9, ab.Failure)
	p.is(ab.StateClosed)
	p.call(ab.Failure)
	p.is(ab.StateOpen)
}

// panicOf returns what f panics with.
func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// Of several rules any trips. Where several are met by one call, the reason is
// the first in a fixed order, and not a matter of luck.
//
// Field: S117, resilience4j/resilience4j#1214.
func TestFieldRulesTripTogetherInAFixedOrder(t *testing.T) {
	yes := func(c ab.Counts) bool { return c.Calls >= 3 }
	var c ab.Config
	c.MinimumCalls, c.ConsecutiveFailures, c.SlowCallDuration, c.ReadyToTrip = 3, 3, time.Millisecond, yes
	for _, want := range []ab.Reason{ab.ReasonStreak, ab.ReasonFailureRate, ab.ReasonSlowCallRate, ab.ReasonReadyToTrip} {
		p := examine(t, c)
		for range 3 {
			p.is(ab.StateClosed)
			ticket := p.acquire()
			p.clock.Advance(time.Millisecond)
			ticket.Report(ab.Failure)
		}
		p.story(fmt.Sprintf("open(%v)", want))
		switch want { // then without that rule
		case ab.ReasonStreak:
			c.ConsecutiveFailures = ab.Off
		case ab.ReasonFailureRate:
			c.FailureRate = ab.Off
		case ab.ReasonSlowCallRate:
			c.SlowCallRate = ab.Off
		}
	}
}

// The first failure of the day is no outage, unless the user says that one
// call is enough.
//
// Field: S118, App-vNext/Polly commit 740cb47d (2016-04-14); twitter/finagle commit b6caf3ddd
// (2018-04-03); traefik/traefik#10963 and PR#13459 (2026-07-03).
func TestFieldOneFailureOfOneCall(t *testing.T) {
	p := examine(t, ab.Config{})
	p.call(ab.Failure)
	p.is(ab.StateClosed)
	p = examine(t, ab.Config{MinimumCalls: 1})
	p.call(ab.Failure)
	p.is(ab.StateOpen)
	p.story("open(failure-rate)")
	advised(t, ab.Config{MinimumCalls: 1}, breakeradvice.Usage{}, "trips-on-few")
}

// advised demands that breakeradvice finds something, by its name.
func advised(t *testing.T, c ab.Config, u breakeradvice.Usage, name string) {
	t.Helper()
	findings := breakeradvice.Find(c, u)
	if !slices.ContainsFunc(findings, func(f breakeradvice.Finding) bool { return f.Name == name }) {
		t.Errorf("the advice is %v, want %s", findings, name)
	}
}

// A duration too long to be added to an instant is refused, and the longest
// that is allowed is kept to, late in a clock's life too.
//
// Field: S089, failsafe-lib/failsafe#215.
func TestFieldLongestDurations(t *testing.T) {
	const longest = math.MaxInt64
	for field, c := range map[string]ab.Config{
		"Window":                {Window: longest},
		"SlowCallDuration":      {SlowCallDuration: longest},
		"Cooldown.Min":          {Cooldown: ab.Cooldown{Min: longest, Max: longest}},
		"Cooldown.Max":          {Cooldown: ab.Cooldown{Max: longest}},
		"Recovery.Quiet":        {Recovery: ab.Recovery{Quiet: longest}},
		"Recovery.ProbeTimeout": {Recovery: ab.Recovery{ProbeTimeout: longest}},
	} {
		wantFaults(t, c, fmt.Sprintf("Config.%s is %v, want ", field, time.Duration(longest)))
	}
	const day = 24 * time.Hour
	c := rateConfig()
	c.Window, c.SlowCallDuration = day, day
	c.Cooldown = ab.Cooldown{Min: day, Max: day, Factor: 16, Jitter: 0.999}
	c.Rand = func() float64 { return 1 - 1e-9 }
	c.Recovery.Quiet, c.Recovery.ProbeTimeout = day, day
	p := examine(t, c)
	p.clock.Advance(290 * 365 * day) // two years before a clock's 64 bits are used up
	p.calls(10, ab.Failure)
	p.clock.Advance(time.Second)
	p.refused(ab.ErrOpen)
	p.clock.Advance(day)
	p.refused(ab.ErrOpen)
	p.clock.Advance(day)
	probe := p.acquire()
	p.clock.Advance(day)
	probe.Report(ab.Success)
	p.story("open(failure-rate) half-open(cooldown) open(probe-timeout)")
}
