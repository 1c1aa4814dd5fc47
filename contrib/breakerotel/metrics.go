// Package breakerotel shows circuit breakers to OpenTelemetry.
//
//	var watch breakerwatch.Watch
//	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
//	err := watch.Add(b)
//	shown, err := breakerotel.Register(otel.GetMeterProvider(), &watch)
//	defer shown.Unregister()
//
// Breakers are read when metrics are collected, by one callback for all of
// them; calls pay nothing for it. For events on spans see [Do].
//
// Names follow the attributes that open-telemetry/semantic-conventions#2355
// proposes, circuitbreaker.name and circuitbreaker.state. There is no
// convention yet; they may change when there is.
package breakerotel

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope is the name of the instrumentation.
const scope = "github.com/atomicbreaker/breaker/contrib/breakerotel"

// The keys of attributes.
const (
	nameKey    = attribute.Key("circuitbreaker.name")
	stateKey   = attribute.Key("circuitbreaker.state")
	modeKey    = attribute.Key("circuitbreaker.mode")
	outcomeKey = attribute.Key("circuitbreaker.outcome")
	answerKey  = attribute.Key("circuitbreaker.answer")
	reasonKey  = attribute.Key("circuitbreaker.reason")
	fromKey    = attribute.Key("circuitbreaker.from_state")
	toKey      = attribute.Key("circuitbreaker.to_state")
)

// word is the text of a state, mode or reason as an attribute's value: with
// underscores, as the conventions have it.
func word(v interface{ String() string }) string { return strings.ReplaceAll(v.String(), "-", "_") }

// Registration is what Register has registered.
type Registration struct {
	callback metric.Registration
	stop     func()
}

// Unregister stops showing the breakers. It may be called more than once.
func (r *Registration) Unregister() error {
	r.stop()
	return r.callback.Unregister()
}

// Register makes the instruments and shows the breakers of watch by them. With
// the SDK's default limit of 2000 series for an instrument there is room for
// 400 breakers; see the sdk/metric package's WithCardinalityLimit.
func Register(provider metric.MeterProvider, watch *breakerwatch.Watch) (*Registration, error) {
	if provider == nil || watch == nil {
		return nil, errors.New("breakerotel: Register with a nil MeterProvider or Watch")
	}
	var m maker
	m.meter = provider.Meter(scope)
	s := &shower{watch: watch, in: m.instruments()}
	latency := m.probeDuration()
	if err := errors.Join(m.faults...); err != nil {
		return nil, err
	}
	callback, err := m.meter.RegisterCallback(s.show, m.made...)
	if err != nil {
		return nil, err
	}
	stop := watch.Listen(nil, func(p atomicbreaker.Probe) {
		if p.Outcome != atomicbreaker.Ignored && p.Outcome != atomicbreaker.Local { // such a one was not judged
			latency.Record(context.Background(), p.Latency.Seconds(), metric.WithAttributes(nameKey.String(p.Name), outcomeKey.String(verdict(p))))
		}
	})
	return &Registration{callback: callback, stop: stop}, nil
}

func verdict(p atomicbreaker.Probe) string {
	if p.Slow && p.Outcome == atomicbreaker.Success {
		return "slow"
	}
	return p.Outcome.String()
}

// shower is the callback.
type shower struct {
	watch *breakerwatch.Watch
	in    instruments

	mu       sync.Mutex // one collection at a time
	readings []breakerwatch.Reading
	options  map[string]*options // of the breakers of the last collection
}

func (s *shower) show(_ context.Context, o metric.Observer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.readings) // holds no breaker for longer than a collection or two
	s.readings = s.watch.Read(s.readings[:0])
	last := s.options
	s.options = make(map[string]*options, len(s.readings))
	now := time.Now()
	for i := range s.readings {
		r := &s.readings[i]
		set := last[r.Name]
		if set == nil {
			set = newOptions(r.Name)
		}
		s.options[r.Name] = set
		v := view{Observer: o, in: &s.in, set: set, r: r, now: now}
		v.show()
	}
	stats := s.watch.Stats()
	o.ObserveInt64(s.in.clashes, int64(stats.Clashes))
	o.ObserveInt64(s.in.unrecorded, int64(stats.Unrecorded))
	return nil
}

// options are the attributes of one breaker's series, made once.
type options struct {
	plain                                     []metric.ObserveOption
	states, modes, outcomes, refusals, judged [][]metric.ObserveOption
	answers                                   [][]metric.ObserveOption
	name                                      attribute.KeyValue
	transitions                               map[transition][]metric.ObserveOption
}

type transition struct {
	from, to atomicbreaker.State
	reason   atomicbreaker.Reason
}

func newOptions(name string) *options {
	s := &options{name: nameKey.String(name), transitions: map[transition][]metric.ObserveOption{}}
	s.plain = s.with()
	each := func(key attribute.Key, values ...string) (all [][]metric.ObserveOption) {
		for _, v := range values {
			all = append(all, s.with(key.String(v)))
		}
		return all
	}
	s.states = each(stateKey, words(atomicbreaker.StateHalfOpen)...)
	s.modes = each(modeKey, words(atomicbreaker.Shadow)...)
	s.outcomes = each(outcomeKey, "success", "failure", "ignored", "cancelled", "late")
	s.refusals = each(reasonKey, "open", "half_open", "forced")
	s.judged = each(outcomeKey, "success", "slow", "failure", "ignored", "abandoned")
	s.answers = each(answerKey, "granted", "refused", "failed")
	return s
}

func (s *options) with(more ...attribute.KeyValue) []metric.ObserveOption {
	return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(append(more, s.name)...))}
}

func (s *options) transition(t breakerwatch.TransitionCount) []metric.ObserveOption {
	key := transition{t.From, t.To, t.Reason}
	o := s.transitions[key]
	if o == nil {
		o = s.with(fromKey.String(word(t.From)), toKey.String(word(t.To)), reasonKey.String(word(t.Reason)))
		s.transitions[key] = o
	}
	return o
}

// words are the texts from zero to last.
func words[T interface {
	~uint8
	String() string
}](last T) (all []string) {
	for v := range last + 1 {
		all = append(all, word(v))
	}
	return all
}

// view shows one breaker.
type view struct {
	metric.Observer
	in  *instruments
	set *options
	r   *breakerwatch.Reading
	now time.Time
}

// show leaves out what can only be zero, as breakerprom does: what belongs to
// another state, and the counters of features and mishaps that were never met.
func (v *view) show() {
	r, plain := v.r, v.set.plain
	for state, o := range v.set.states {
		v.ObserveInt64(v.in.state, one(int(r.State) == state), o...)
	}
	v.ObserveInt64(v.in.mode, 1, v.set.modes[r.Mode]...)
	v.ObserveFloat64(v.in.stateAge, v.since(r.Changed), plain...)
	v.calls()
	switch r.State {
	case atomicbreaker.StateClosed:
		v.window()
	case atomicbreaker.StateOpen:
		v.ObserveFloat64(v.in.retryAfter, r.RetryAfter.Seconds(), plain...)
	case atomicbreaker.StateHalfOpen:
		v.ObserveInt64(v.in.inFlight, int64(r.ProbesInFlight), plain...)
		v.ObserveInt64(v.in.probeWindow, int64(r.ProbeWindow), plain...)
		v.ObserveInt64(v.in.unprobed, one(r.Unprobed), plain...)
	}
	for _, t := range r.Transitions {
		v.count(v.in.transitions, t.Count, v.set.transition(t))
	}
	v.count(v.in.openings, r.Opened, plain)
	v.ObserveFloat64(v.in.openTime, r.TimeOpen.Seconds(), plain...)
	if p, told := r.Probes(); told || r.Abandoned > 0 {
		v.each(v.in.probes, v.set.judged, p.Succeeded, p.Slow, p.Failed, p.Ignored, r.Abandoned)
	}
	if l := r.Lease; l.Granted+l.Refused+l.Failed > 0 {
		v.each(v.in.leases, v.set.answers, l.Granted, l.Refused, l.Failed)
		v.ObserveInt64(v.in.alone, one(l.Alone), plain...)
		v.ObserveInt64(v.in.held, one(l.Held), plain...)
		v.ObserveFloat64(v.in.waiting, l.Waiting.Seconds(), plain...)
		if l.Members > 0 {
			v.ObserveInt64(v.in.members, int64(l.Members), plain...)
		}
	}
	if r.ListenerPanics > 0 {
		v.count(v.in.panics, r.ListenerPanics, plain)
	}
}

func (v *view) calls() {
	r, plain := v.r, v.set.plain
	v.each(v.in.calls, v.set.outcomes, r.Succeeded, r.Failed, r.Ignored, r.Cancelled, r.Late)
	v.each(v.in.refusals, v.set.refusals, r.RefusedOpen, r.RefusedHalfOpen, r.RefusedForced)
	if r.Slow > 0 {
		v.count(v.in.slow, r.Slow, plain)
	}
	if r.WouldRefuse > 0 || r.Mode == atomicbreaker.Shadow {
		v.count(v.in.wouldRefuse, r.WouldRefuse, plain)
	}
	if !r.LastOutcome.IsZero() {
		v.ObserveFloat64(v.in.outcomeAge, v.since(r.LastOutcome), plain...)
	}
	if !r.LastRefusal.IsZero() {
		v.ObserveFloat64(v.in.refusalAge, v.since(r.LastRefusal), plain...)
	}
}

func (v *view) window() {
	rolling, plain := v.r.Rolling, v.set.plain
	v.count(v.in.windowCalls, rolling.Calls, plain)
	v.count(v.in.windowFailures, rolling.Failures, plain)
	v.ObserveFloat64(v.in.failureRatio, rolling.FailureRate(), plain...)
	if v.r.Slow > 0 {
		v.count(v.in.windowSlow, rolling.Slow, plain)
		v.ObserveFloat64(v.in.slowRatio, rolling.SlowRate(), plain...)
	}
}

func (v *view) count(i metric.Int64Observable, n uint64, o []metric.ObserveOption) {
	v.ObserveInt64(i, int64(n), o...)
}

func (v *view) each(i metric.Int64Observable, o [][]metric.ObserveOption, values ...uint64) {
	for k, n := range values {
		v.count(i, n, o[k])
	}
}

// since is how long ago an instant was, never less than nothing.
func (v *view) since(t time.Time) float64 { return max(v.now.Sub(t).Seconds(), 0) }

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
