package breakerprom

import (
	"slices"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "circuitbreaker_"

var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(prefix+name, help, labels, nil)
	descs = append(descs, d)
	return d
}

// Of each breaker.
var (
	state = desc("state", "1 for the state that the breaker is in, 0 for the others.", "name", "state")
	mode  = desc("mode", "1, for the mode that the breaker is in; other modes are absent.", "name", "mode")
	since = desc("state_changed_timestamp_seconds", "When the state last changed, and why; with the reason none, when the breaker was made.", "name", "reason")
	retry = desc("retry_after_seconds", "What is left of the cooldown. Only while open.", "name")

	outageStarted = desc("outage_started_timestamp_seconds", "When the breaker left closed, and why. Only while it is not closed: through all probing it stays the same.", "name", "reason")
	outages       = desc("outages_total", "How often the breaker has left closed.", "name")
	failed        = desc("errors_total", "Failed calls by what went wrong, a word of a fixed set, where errors are told of. Absent before the first.", "name", "kind")
	local         = desc("local_calls_total", "Of the ignored calls, those that this process or its caller caused. Absent before the first.", "name")
	usual         = desc("latency_usual_seconds", "The median latency of successes, from the few calls that the breaker times. Absent while it is not known.", "name")
	high          = desc("latency_high_seconds", "The latency that 95 of 100 successes do not exceed. Absent while it is not known.", "name")
	deadline      = desc("latency_deadline_seconds", "How long callers wait for an answer, as seen last. Absent while it is not known.", "name")

	calls   = desc("calls_total", "Calls by what became of them: the dependency's success or failure; ignored, which says nothing about health; cancelled, never made; late, settled after the state had changed.", "name", "outcome")
	slow    = desc("slow_calls_total", "Succeeded and failed calls that took as long as a slow call does. Absent before the first.", "name")
	refused = desc("refusals_total", "Calls refused: the breaker was open, half_open with enough probes under way, or forced open.", "name", "reason")
	would   = desc("would_refuse_total", "Calls let through in shadow mode that would have been refused. Absent where that mode was never used.", "name")
	outcome = desc("last_outcome_timestamp_seconds", "When a reading first saw the number of settled calls as it is. Absent before the first.", "name")
	refusal = desc("last_refusal_timestamp_seconds", "When a reading first saw the number of refusals as it is. Absent before the first.", "name")

	windowCalls    = desc("window_calls", "Calls in the rolling window. Only while closed.", "name")
	windowFailures = desc("window_failures", "Failed calls in the rolling window. Only while closed.", "name")
	windowSlow     = desc("window_slow_calls", "Slow calls in the rolling window. Only while closed; absent before the first slow call.", "name")
	failureRatio   = desc("window_failure_ratio", "Share of failed calls in the rolling window, 0 to 1; 0 without calls. Only while closed.", "name")
	slowRatio      = desc("window_slow_ratio", "Share of slow calls in the rolling window, 0 to 1; 0 without calls. Only while closed; absent before the first slow call.", "name")

	transitions = desc("transitions_total", "Changes of state. The six usual kinds are there from the start, others are absent before their first.", "name", "from", "to", "reason")
	opened      = desc("opened_total", "How often the breaker has opened.", "name")
	openSeconds = desc("open_seconds_total", "Time spent open, this time included.", "name")

	inFlight     = desc("probes_in_flight", "Probes under way. Only while half-open.", "name")
	probeWindow  = desc("probe_window", "How many probes may be under way at once. Only while half-open.", "name")
	unprobed     = desc("unprobed", "1 if no call has come that could be a probe. Only while half-open.", "name")
	probes       = desc("probes_total", "Probes by how they were judged: success; slow, a success that took too long and so a failure; failure; ignored; abandoned, silent for too long. Absent before the first.", "name", "outcome")
	probeLatency = desc("probe_duration_seconds", "How long probes took that were judged. Absent before the first.", "name")
	leases       = desc("lease_answers_total", "Answers of the breaker's lease: granted; refused, another may probe; failed, none in time, so that the breaker probes by itself. Absent before the first.", "name", "answer")
	alone        = desc("lease_alone", "1 if the breaker was half-open last, or is now, because its lease failed. Absent before the first answer.", "name")
	held         = desc("lease_held", "1 if the breaker is half-open under a lease. Absent before the first answer.", "name")
	waiting      = desc("lease_waiting_seconds", "For how long the breaker has been waiting after its cooldown, because its lease was refused or not answered yet; 0 if it is not. Absent before the first answer.", "name")
	holder       = desc("lease_holder", "1, for who holds the lease that the breaker waits for. Only while it waits.", "name", "holder")
	members      = desc("lease_members", "Processes that take part in the lease, as far as they are heard. Absent where that is unknown.", "name")
	panics       = desc("listener_panics_total", "Panics of the breaker's listeners, contained.", "name")
)

// Of the Watch as a whole.
var (
	breakers    = desc("breakers", "Breakers in this scrape.")
	nameClashes = desc("name_clashes", "Breakers left out of this scrape because another one has their name.")
	unrecorded  = desc("unrecorded_events_total", "Transitions and probes that there was no room to record.")
)

// reading gives a breaker's series. Ten thousand calm breakers must not cost a
// scrape half a second, so what can only be zero is left out: what belongs to
// another state, and the counters of features and mishaps that were never met.
func (e *emission) reading(r *breakerwatch.Reading) {
	name := e.sets.of[plain]
	for i, is := range inOrder {
		e.gauge(state, e.sets.of[states+labelSet(i)], one(r.State == is))
	}
	e.gauge(mode, e.sets.of[modes+labelSet(r.Mode)], 1)
	e.gauge(since, e.sets.because(r.Reason), unix(r.Changed))
	if o := r.Outage; o != nil {
		e.gauge(outageStarted, e.sets.because(o.Reason), unix(o.Began))
	}
	e.latency(r)
	e.calls(r)
	switch r.State {
	case atomicbreaker.StateClosed:
		e.window(r)
	case atomicbreaker.StateOpen:
		e.gauge(retry, name, r.RetryAfter.Seconds())
	case atomicbreaker.StateHalfOpen:
		e.gauge(inFlight, name, float64(r.ProbesInFlight))
		e.gauge(probeWindow, name, float64(r.ProbeWindow))
		e.gauge(unprobed, name, one(r.Unprobed))
	}
	e.counter(outages, name, float64(r.Outages))
	e.counter(opened, name, float64(r.Opened))
	e.counter(openSeconds, name, r.TimeOpen.Seconds())
	if p, told := r.Probes(); told || r.Abandoned > 0 {
		e.each(probes, judged, r.Abandoned, p.Failed, p.Ignored, p.Slow, p.Succeeded)
	}
	if l := r.Lease; l.Granted+l.Refused+l.Failed > 0 {
		e.each(leases, answers, l.Failed, l.Granted, l.Refused)
		e.gauge(alone, name, one(l.Alone))
		e.gauge(held, name, one(l.Held))
		e.gauge(waiting, name, l.Waiting.Seconds())
		if l.Holder != "" {
			e.gauge(holder, e.sets.with("holder", bounded(l.Holder)), 1)
		}
		if l.Members > 0 {
			e.gauge(members, name, float64(l.Members))
		}
	}
	e.counter(panics, name, float64(r.ListenerPanics))
}

func (e *emission) calls(r *breakerwatch.Reading) {
	name := e.sets.of[plain]
	e.each(calls, outcomes, r.Cancelled, r.Failed, r.Ignored, r.Late, r.Succeeded)
	e.each(refused, refusals, r.RefusedForced, r.RefusedHalfOpen, r.RefusedOpen)
	if r.Slow > 0 {
		e.counter(slow, name, float64(r.Slow))
	}
	if r.Local > 0 {
		e.counter(local, name, float64(r.Local))
	}
	if errors, ok := r.Errors(); ok {
		for k, n := range errors.Counts {
			if n > 0 {
				e.counter(failed, e.sets.with("kind", breakerwatch.Kind(k).String()), float64(n))
			}
		}
	}
	if r.WouldRefuse > 0 || r.Mode == atomicbreaker.Shadow {
		e.counter(would, name, float64(r.WouldRefuse))
	}
	if !r.LastOutcome.IsZero() {
		e.gauge(outcome, name, unix(r.LastOutcome))
	}
	if !r.LastRefusal.IsZero() {
		e.gauge(refusal, name, unix(r.LastRefusal))
	}
}

// transitions gives the changes from one state: a series for each kind that is
// usual, because what appears with its first count is no increase, and one for
// each other kind that there was. The Registry sorts by that state first, so all
// breakers' changes from it are given together.
func (e *emission) transitions(r *breakerwatch.Reading, from atomicbreaker.State) {
	for _, k := range usualKinds {
		if k.from == from {
			e.counter(transitions, e.sets.transition(k), float64(countOf(r, k)))
		}
	}
	for _, t := range r.Transitions {
		if k := (kindOfChange{t.From, t.To, t.Reason}); t.From == from && !slices.Contains(usualKinds[:], k) {
			e.counter(transitions, e.sets.transition(k), float64(t.Count))
		}
	}
}

func countOf(r *breakerwatch.Reading, k kindOfChange) uint64 {
	for _, t := range r.Transitions {
		if k == (kindOfChange{t.From, t.To, t.Reason}) {
			return t.Count
		}
	}
	return 0
}

func (e *emission) latency(r *breakerwatch.Reading) {
	name := e.sets.of[plain]
	for _, g := range []struct {
		desc *prometheus.Desc
		is   time.Duration
	}{{usual, r.Latency.Usual}, {high, r.Latency.High}, {deadline, r.Latency.Deadline}} {
		if g.is > 0 {
			e.gauge(g.desc, name, g.is.Seconds())
		}
	}
}

func (e *emission) window(r *breakerwatch.Reading) {
	name := e.sets.of[plain]
	e.gauge(windowCalls, name, float64(r.Rolling.Calls))
	e.gauge(windowFailures, name, float64(r.Rolling.Failures))
	e.gauge(failureRatio, name, r.Rolling.FailureRate())
	if r.Slow > 0 {
		e.gauge(windowSlow, name, float64(r.Rolling.Slow))
		e.gauge(slowRatio, name, r.Rolling.SlowRate())
	}
}

// bounded is a text of another process as a label's value.
func bounded(text string) string {
	const most = 128
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// unix is an instant in seconds; a millisecond is as fine as a scrape is.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
