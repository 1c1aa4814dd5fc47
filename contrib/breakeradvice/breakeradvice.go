package breakeradvice

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Usage is what is known of the calls that a breaker will guard, for
// [Find]. A field that is zero is unknown.
type Usage struct {
	Rate     float64       // calls a second that one breaker is asked for
	Timeout  time.Duration // after which a caller gives up
	Latency  time.Duration // that an ordinary call takes
	Capacity float64       // calls a second that the dependency can serve
	Clients  int           // breakers with this Config in front of it, one to a process
}

// Finding is something that a Config allows and that was probably not meant.
type Finding struct {
	Name string `json:"name"` // stable, such as minimum-out-of-reach
	Text string `json:"text"` // one or two sentences with the fields and the figures
}

// String returns the name and the text.
func (f Finding) String() string { return f.Name + ": " + f.Text }

// Find returns what is worth a second look in a Config that [atomicbreaker.New]
// accepts, given what is known of its use: most findings need some of that. It
// changes nothing, and neither does New: a setting that is meant may stay. The
// order is fixed. For a Config that New does not accept it returns nil; see
// [atomicbreaker.Config.Validate].
func Find(c atomicbreaker.Config, u Usage) []Finding {
	if c.Validate() != nil {
		return nil
	}
	a := advisor{Config: c.WithDefaults(), Usage: u}
	a.tripping()
	a.opening()
	a.recovering()
	return a.findings
}

// advisor collects findings.
type advisor struct {
	atomicbreaker.Config // with its defaults
	Usage
	findings []Finding
}

func (a *advisor) find(when bool, name, text string, args ...any) {
	if when {
		a.findings = append(a.findings, Finding{name, fmt.Sprintf(text, args...)})
	}
}

// chanceShare is the share of errors at which a streak must not come about by
// chance more often than once in chanceSpan.
const (
	chanceShare = 0.2
	chanceSpan  = time.Hour
)

// tripping looks at the trip rules.
func (a *advisor) tripping() {
	byTime := a.FailureRate != atomicbreaker.Off && a.WindowCalls == 0
	held := a.Rate * a.Window.Seconds()
	a.find(byTime && a.Rate > 0 && held < float64(a.MinimumCalls), "minimum-out-of-reach",
		"At %g calls a second a Window of %v holds %.3g of the %d calls that MinimumCalls asks for: the rates cannot trip. Lengthen Window, lower MinimumCalls, or set WindowCalls.",
		a.Rate, a.Window, held, a.MinimumCalls)
	a.find(byTime && a.Timeout > 0 && a.Window < a.Timeout, "window-shorter-than-timeout",
		"Window (%v) is shorter than the timeout of a call (%v): when calls begin to hang, the window is empty before the first of them has failed.",
		a.Window, a.Timeout)
	a.find(byTime && a.ConsecutiveFailures == atomicbreaker.Off && held*a.FailureRate > 100, "outage-seen-late",
		"ConsecutiveFailures is Off: when the dependency dies, about %.3g calls fail before their share of %v reaches FailureRate (%g).",
		held*a.FailureRate, a.Window, a.FailureRate)
	a.find(a.FailureRate != atomicbreaker.Off && a.MinimumCalls <= 2, "trips-on-few",
		"With MinimumCalls %d a single failure can open the breaker. That is no evidence of an outage.", a.MinimumCalls)
	a.find(a.ConsecutiveFailures == 1, "trips-on-few",
		"With ConsecutiveFailures 1 a single failure opens the breaker. That is no evidence of an outage.")
	if n := a.ConsecutiveFailures; n > 1 && a.Rate > 0 {
		every := seconds(1 / (a.Rate * (1 - chanceShare) * math.Pow(chanceShare, float64(n))))
		a.find(every < chanceSpan, "streak-by-chance",
			"At %g calls a second of which a fifth fail, ConsecutiveFailures (%d) are reached by chance every %v.",
			a.Rate, n, every.Round(time.Millisecond))
		a.find(a.FailureRate == atomicbreaker.Off && seconds(float64(n)/a.Rate) > time.Minute, "streak-out-of-reach",
			"At %g calls a second it takes %v of failures until ConsecutiveFailures (%d) are reached.",
			a.Rate, seconds(float64(n)/a.Rate).Round(time.Second), n)
	}
	a.find(a.SlowCallDuration != atomicbreaker.Off && a.Timeout > 0 && a.SlowCallDuration >= a.Timeout, "slow-not-below-timeout",
		"SlowCallDuration (%v) is not below the timeout of a call (%v): no call is slow before it has failed.",
		a.SlowCallDuration, a.Timeout)
}

// opening looks at the cooldown.
func (a *advisor) opening() {
	c := &a.Cooldown
	a.find(c.Jitter == atomicbreaker.Off && a.Clients != 1, "no-jitter",
		"Cooldown.Jitter is Off: breakers that opened together send their probes together.")
	a.find(a.Timeout > 0 && c.Max < a.Timeout, "cooldown-shorter-than-timeout",
		"Cooldown.Max (%v) is shorter than the timeout of a call (%v): while the dependency hangs, a probe is under way most of the time.",
		c.Max, a.Timeout)
	a.find(c.Max > time.Minute, "cooldown-long",
		"Cooldown.Max is %v: the end of a long outage can go unnoticed for as long.", c.Max)
}

// recovering looks at the probes.
func (a *advisor) recovering() {
	r := &a.Recovery
	a.find(a.Latency > 0 && r.ProbeTimeout <= a.Latency, "probe-timeout-below-latency",
		"Recovery.ProbeTimeout (%v) is not above what an ordinary call takes (%v): every probe is given up, and the breaker never closes.",
		r.ProbeTimeout, a.Latency)
	a.find(a.Timeout > 0 && r.ProbeTimeout < a.Timeout && r.ProbeTimeout > a.Latency, "probe-timeout-below-timeout",
		"Recovery.ProbeTimeout (%v) is shorter than the timeout of a call (%v): a slow answer that a caller would still take counts as no answer.",
		r.ProbeTimeout, a.Timeout)
	if r.Probes == 0 {
		return
	}
	a.find(true, "closes-on-few-probes",
		"Recovery.Probes is %d: the breaker closes when %d have succeeded, of which at most %d were in flight at once, and then admits everything. In front of a dependency that was merely overloaded that can go round for ever; without Probes the breaker closes at the load that it has measured.",
		r.Probes, r.Successes, r.Concurrent)
	atOnce := float64(max(1, a.Clients) * r.Concurrent)
	within := cmp.Or(a.Timeout, time.Second)
	served := a.Capacity * within.Seconds()
	a.find(a.Capacity > 0 && atOnce > served/2, "probes-above-capacity",
		"%g probes can be in flight at once (Recovery.Concurrent times clients), more than half of the %.3g calls that the dependency can serve in %v: the probes alone can keep it down.",
		atOnce, served, within)
}

// seconds is a duration of s seconds, a year at most.
func seconds(s float64) time.Duration {
	const year = 365 * 24 * time.Hour
	if s > year.Seconds() {
		return year
	}
	return time.Duration(s * float64(time.Second))
}
