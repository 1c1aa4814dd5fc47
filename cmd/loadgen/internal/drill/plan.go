package drill

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/exhibit"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
)

// drill is the drill command with its flags.
type job struct {
	plan   plan
	fault  string
	html   string
	show   exhibit.Exhibit
	config atomicbreaker.Config // the defaults, but in tests
}

// plan says what is done to whom, and when.
type plan struct {
	Rate     float64       `json:"rate"`
	Fault    fault         `json:"fault"` // none with a target
	Healthy  time.Duration `json:"healthy_ns"`
	Outage   time.Duration `json:"outage_ns"`
	After    time.Duration `json:"after_ns"`
	Timeout  time.Duration `json:"timeout_ns"`
	Capacity float64       `json:"capacity,omitempty"` // of the overloaded server
	Seed     uint64        `json:"seed"`
	Target   string        `json:"target,omitempty"`
}

// maxInFlight bounds the calls that can be under way at once: all that are
// sent within a timeout, if none is answered.
const maxInFlight = 10_000

func (j *job) flags(fs *flag.FlagSet) {
	fs.Float64Var(&j.plan.Rate, "rate", 400, "send `N` calls a second, 1 to 5000")
	fs.StringVar(&j.fault, "fault", string(dead), "break the server in this way: dead, hang, 5xx, slow or overload")
	fs.DurationVar(&j.plan.Healthy, "healthy", 2*time.Second, "traffic before the fault, 100ms to 10m")
	fs.DurationVar(&j.plan.Outage, "outage", 4*time.Second, "how long the fault lasts, 100ms to 10m")
	fs.DurationVar(&j.plan.After, "after", 8*time.Second, "traffic after it, 100ms to 10m")
	fs.DurationVar(&j.plan.Timeout, "timeout", time.Second, "give up a call after so long, 10ms to 1m")
	fs.Float64Var(&j.plan.Capacity, "capacity", 0, "with -fault overload: `N` requests a second are served, below -rate; 0 is half\nof -rate")
	fs.Uint64Var(&j.plan.Seed, "seed", 1, "draw the instants of the calls from this `number`")
	fs.StringVar(&j.plan.Target, "target", "", "send the calls to this http or https `URL` for -healthy + -outage + -after and\nbreak nothing")
	fs.StringVar(&j.html, "html", "", "write a page with the drill as a picture to `FILE`")
	j.show.Flags(fs)
}

func (p *plan) total() time.Duration { return p.Healthy + p.Outage + p.After }

// String says it for people.
func (p *plan) String() string {
	if p.Target != "" {
		return fmt.Sprintf("drill: %s calls/s through the breaker to %s for %v", frame.Number(p.Rate), p.Target, p.total())
	}
	extra := ""
	if p.Fault == overload {
		extra = fmt.Sprintf(" (%s/s)", frame.Number(p.Capacity))
	}
	return fmt.Sprintf("drill: %s calls/s through the breaker for %v; fault %q%s from %v to %v", frame.Number(p.Rate), p.total(), p.Fault, extra,
		p.Healthy, p.Healthy+p.Outage)
}

func (j *job) Validate() error {
	p := &j.plan
	var faulty []error
	reject := func(format string, args ...any) { faulty = append(faulty, fmt.Errorf(format, args...)) }
	if !(p.Rate >= 1 && p.Rate <= 5000) {
		reject("-rate is %v, want 1 to 5000", p.Rate)
	}
	for _, d := range []struct {
		name       string
		value      time.Duration
		from, upto time.Duration
	}{
		{"healthy", p.Healthy, 100 * time.Millisecond, 10 * time.Minute},
		{"outage", p.Outage, 100 * time.Millisecond, 10 * time.Minute},
		{"after", p.After, 100 * time.Millisecond, 10 * time.Minute},
		{"timeout", p.Timeout, 10 * time.Millisecond, time.Minute},
	} {
		if d.value < d.from || d.value > d.upto {
			reject("-%s is %v, want %v to %v", d.name, d.value, d.from, d.upto)
		}
	}
	if n := p.Rate * p.Timeout.Seconds(); n > maxInFlight {
		reject("-rate %v with -timeout %v can have %.0f calls under way, want at most %d", p.Rate, p.Timeout, n, maxInFlight)
	}
	j.show.Validate(reject)
	if p.Target != "" {
		j.validateTarget(reject)
	} else {
		j.validateFault(reject)
	}
	if len(faulty) == 0 && p.Target == "" {
		j.validateEvidence(reject)
	}
	return errors.Join(faulty...)
}

func (j *job) validateTarget(reject func(string, ...any)) {
	j.plan.Fault = healthy
	if j.plan.Capacity != 0 {
		reject("-capacity cannot be set for a -target")
	}
	u, err := url.Parse(j.plan.Target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		reject("-target is %q, want a URL such as http://127.0.0.1:8080/", j.plan.Target)
	}
}

func (j *job) validateFault(reject func(string, ...any)) {
	p := &j.plan
	p.Fault = fault(j.fault)
	if faults[p.Fault] == "" {
		var names []string
		for f := range faults {
			names = append(names, string(f))
		}
		slices.Sort(names)
		reject("-fault is %q, want one of %s", j.fault, strings.Join(names, ", "))
	}
	switch {
	case p.Fault != overload && p.Capacity != 0:
		reject("-capacity needs -fault overload")
	case p.Fault == overload && p.Capacity == 0:
		p.Capacity = p.Rate / 2
	case p.Fault == overload && !(p.Capacity >= 1 && p.Capacity < p.Rate):
		reject("-capacity is %v, want 1 to below the -rate of %v", p.Capacity, p.Rate)
	}
}

// validateEvidence refuses plans whose verdicts could not come out well
// however good the breaker is.
func (j *job) validateEvidence(reject func(string, ...any)) {
	p, r := &j.plan, rulesOf(j.config)
	if needed := p.firstFailure() + time.Duration(2*r.streak/p.Rate*float64(time.Second)); p.Outage < needed {
		reject("-outage is %v, too short for the breaker to see enough failures: want at least %v at -rate %v, or a higher rate",
			p.Outage, needed.Round(100*time.Millisecond)+100*time.Millisecond, p.Rate)
	}
	if needed := r.recovery(p) + min(time.Second, r.quiet); p.After < needed {
		reject("-after is %v, too short to see the breaker recover: want at least %v after an outage of %v",
			p.After, needed.Round(100*time.Millisecond)+100*time.Millisecond, p.Outage)
	}
}

// firstFailure is how long after the fault the first call ends in failure.
func (p *plan) firstFailure() time.Duration {
	switch p.Fault {
	case hang, slow:
		return p.Timeout
	case overload:
		// The queue grows by rate - capacity; a call waits longer than the
		// timeout once more than timeout x capacity are before it, and then
		// takes that long to fail.
		growing := p.Timeout.Seconds() * p.Capacity / (p.Rate - p.Capacity)
		return p.Timeout + time.Duration(growing*float64(time.Second))
	}
	return 0
}
