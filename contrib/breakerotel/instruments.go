package breakerotel

import (
	"fmt"

	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"go.opentelemetry.io/otel/metric"
)

// instruments are what the callback observes.
type instruments struct {
	state, mode                                  metric.Int64Observable
	stateAge, retryAfter, outcomeAge, refusalAge metric.Float64Observable
	waiting                                      metric.Float64Observable
	calls, slow, refusals, wouldRefuse           metric.Int64Observable
	windowCalls, windowFailures, windowSlow      metric.Int64Observable
	failureRatio, slowRatio, openTime            metric.Float64Observable
	transitions, openings                        metric.Int64Observable
	inFlight, probeWindow, unprobed, probes      metric.Int64Observable
	leases, alone, held, members                 metric.Int64Observable
	panics, clashes, unrecorded, breakers        metric.Int64Observable
	outages, errors, local, holder               metric.Int64Observable
	outageAge, usual, high, deadline             metric.Float64Observable
}

// prefix is that of every instrument's name.
const prefix = "circuitbreaker."

// maker makes instruments and keeps what went wrong.
type maker struct {
	naming
	meter  metric.Meter
	made   []metric.Observable
	names  []string
	faults []error
}

func (m *maker) note(name string, i metric.Observable, err error) {
	m.names = append(m.names, m.instrument(name))
	if err != nil {
		m.faults = append(m.faults, fmt.Errorf("breakerotel: %s: %w", m.instrument(name), err))
		return
	}
	m.made = append(m.made, i)
}

// counter only rises; level goes up and down and adds up; gauge does not add up.
func (m *maker) counter(name, unit, about string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableCounter(m.instrument(name), metric.WithUnit(m.unit(unit)), metric.WithDescription(about))
	m.note(name, i, err)
	return i
}

func (m *maker) level(name, unit, about string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableUpDownCounter(m.instrument(name), metric.WithUnit(m.unit(unit)), metric.WithDescription(about))
	m.note(name, i, err)
	return i
}

func (m *maker) gauge(name, unit, about string) metric.Float64Observable {
	i, err := m.meter.Float64ObservableGauge(m.instrument(name), metric.WithUnit(m.unit(unit)), metric.WithDescription(about))
	m.note(name, i, err)
	return i
}

func (m *maker) seconds(name, about string) metric.Float64Observable {
	i, err := m.meter.Float64ObservableCounter(m.instrument(name), metric.WithUnit(m.unit("s")), metric.WithDescription(about))
	m.note(name, i, err)
	return i
}

func (m *maker) instruments() instruments {
	return instruments{
		state:      m.level("state", "1", "1 for the state that the breaker is in, 0 for the others."),
		mode:       m.level("mode", "1", "1, for the mode that the breaker is in; other modes are absent."),
		stateAge:   m.gauge("state_age", "s", "Time since the state last changed, and why, or the breaker was made."),
		outageAge:  m.gauge("outage_age", "s", "Time since the breaker left closed, and why, through all probing. Only while it is not closed."),
		outages:    m.counter("outages", "{outage}", "How often the breaker has left closed."),
		retryAfter: m.gauge("retry_after", "s", "What is left of the cooldown. Only while open."),

		calls:       m.counter("calls", "{call}", "Calls by what became of them: success, failure, ignored, cancelled, late."),
		slow:        m.counter("slow_calls", "{call}", "Succeeded and failed calls that were slow. Absent before the first."),
		local:       m.counter("local_calls", "{call}", "Of the ignored calls, those that this process or its caller caused. Absent before the first."),
		errors:      m.counter("errors", "{call}", "Failed calls by what went wrong, where errors are told of."),
		usual:       m.gauge("latency.usual", "s", "The median latency of successes, from the few calls that the breaker times."),
		high:        m.gauge("latency.high", "s", "The latency that 95 of 100 successes do not exceed."),
		deadline:    m.gauge("latency.deadline", "s", "How long callers wait for an answer, as seen last."),
		refusals:    m.counter("refusals", "{call}", "Calls refused because the breaker was open, half_open or forced."),
		wouldRefuse: m.counter("would_refuse", "{call}", "Calls let through in shadow mode that would have been refused."),
		outcomeAge:  m.gauge("last_outcome_age", "s", "Time since a reading first saw the number of settled calls as it is."),
		refusalAge:  m.gauge("last_refusal_age", "s", "Time since a reading first saw the number of refusals as it is."),

		windowCalls:    m.level("window.calls", "{call}", "Calls in the rolling window. Only while closed."),
		windowFailures: m.level("window.failures", "{call}", "Failed calls in the rolling window. Only while closed."),
		windowSlow:     m.level("window.slow_calls", "{call}", "Slow calls in the rolling window. Only while closed."),
		failureRatio:   m.gauge("window.failure_ratio", "1", "Share of failed calls in the rolling window. Only while closed."),
		slowRatio:      m.gauge("window.slow_ratio", "1", "Share of slow calls in the rolling window. Only while closed."),

		transitions: m.counter("transitions", "{transition}", "Changes of state, by states and reason."),
		openings:    m.counter("openings", "{opening}", "How often the breaker has opened."),
		openTime:    m.seconds("open_time", "Time spent open, this time included."),

		inFlight:    m.level("probes.in_flight", "{call}", "Probes under way. Only while half-open."),
		probeWindow: m.level("probes.window", "{call}", "How many probes may be under way at once. Only while half-open."),
		unprobed:    m.level("probes.unprobed", "1", "1 if no call has come that could be a probe. Only while half-open."),
		probes:      m.counter("probes", "{call}", "Probes by how they were judged: success, slow, failure, ignored, abandoned."),

		leases: m.counter("lease.answers", "{answer}", "Answers of the breaker's lease: granted, refused, failed."),
		alone:  m.level("lease.alone", "1", "1 if the breaker was half-open last, or is now, because its lease failed."),

		held:    m.level("lease.held", "1", "1 if the breaker is half-open under a lease."),
		waiting: m.gauge("lease.waiting", "s", "For how long the breaker has been waiting after its cooldown, for others to probe."),
		members: m.level("lease.members", "{process}", "Processes that take part in the lease, as far as they are heard."),

		holder: m.level("lease.holder", "1", "1, for who holds the lease that the breaker waits for."),

		breakers:   m.level("breakers", "{breaker}", "Breakers in this collection."),
		panics:     m.counter("listener_panics", "{panic}", "Panics of the breaker's listeners, contained."),
		clashes:    m.level("name_clashes", "{breaker}", "Breakers left out because another one has their name."),
		unrecorded: m.counter("unrecorded_events", "{event}", "Transitions and probes that there was no room to record."),
	}
}

// probeDuration is told of each probe when it ends: OpenTelemetry has no
// histogram that is observed.
func (m *maker) probeDuration() metric.Float64Histogram {
	var bounds []float64
	for _, d := range breakerwatch.ProbeBounds() {
		bounds = append(bounds, d.Seconds())
	}
	const name = "probe.duration"
	h, err := m.meter.Float64Histogram(m.instrument(name), metric.WithUnit(m.unit("s")),
		metric.WithDescription("How long probes took that were judged."), metric.WithExplicitBucketBoundaries(bounds...))
	m.names = append(m.names, m.instrument(name))
	if err != nil {
		m.faults = append(m.faults, fmt.Errorf("breakerotel: %s: %w", m.instrument(name), err))
	}
	return h
}
