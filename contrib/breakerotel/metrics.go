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
	kindKey    = attribute.Key("circuitbreaker.kind")
	holderKey  = attribute.Key("circuitbreaker.holder")
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

// Options change what is registered. The zero value and nil mean the defaults.
type Options struct {
	// PrometheusNames names instruments and attributes so that they become the
	// metrics of breakerprom, labels included, when an exporter or a collector
	// writes them for Prometheus: its dashboard, rules and alerts then fit. The instruments
	// have no units, because those are in the names, and what is otherwise the
	// age of something is its instant, in seconds since 1970. Attributes
	// have no prefix. Default: the names in README.md.
	PrometheusNames bool
}

// Register is RegisterWith with the defaults.
func Register(provider metric.MeterProvider, watch *breakerwatch.Watch) (*Registration, error) {
	return RegisterWith(provider, watch, nil)
}

// RegisterWith makes the instruments and shows the breakers of watch by them. With
// the SDK's default limit of 2000 series for an instrument there is room for
// 400 breakers; see the sdk/metric package's WithCardinalityLimit.
func RegisterWith(provider metric.MeterProvider, watch *breakerwatch.Watch, o *Options) (*Registration, error) {
	if provider == nil || watch == nil {
		return nil, errors.New("breakerotel: Register with a nil MeterProvider or Watch")
	}
	if o == nil {
		o = new(Options)
	}
	m := maker{naming: naming{o.PrometheusNames}}
	m.meter = provider.Meter(scope)
	s := &shower{naming: m.naming, watch: watch, in: m.instruments()}
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
			latency.Record(context.Background(), p.Latency.Seconds(), metric.WithAttributes(m.key(nameKey).String(p.Name), m.key(outcomeKey).String(verdict(p))))
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
	naming
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
			set = newOptions(s.naming, r.Name)
		}
		s.options[r.Name] = set
		v := view{Observer: o, naming: s.naming, in: &s.in, set: set, r: r, now: now}
		v.show()
	}
	stats := s.watch.Stats()
	o.ObserveInt64(s.in.breakers, int64(stats.Breakers))
	o.ObserveInt64(s.in.clashes, int64(stats.Clashes))
	o.ObserveInt64(s.in.unrecorded, int64(stats.Unrecorded))
	return nil
}

// options are the attributes of one breaker's series, made once.
type options struct {
	naming
	plain                                     []metric.ObserveOption
	states, modes, outcomes, refusals, judged [][]metric.ObserveOption
	answers                                   [][]metric.ObserveOption
	name                                      attribute.KeyValue
	transitions                               map[transition][]metric.ObserveOption
	others                                    map[attribute.KeyValue][]metric.ObserveOption
}

type transition struct {
	from, to atomicbreaker.State
	reason   atomicbreaker.Reason
}

func newOptions(n naming, name string) *options {
	s := &options{
		naming: n, name: n.key(nameKey).String(name),
		transitions: map[transition][]metric.ObserveOption{}, others: map[attribute.KeyValue][]metric.ObserveOption{},
	}
	s.plain = s.with()
	each := func(key attribute.Key, values ...string) (all [][]metric.ObserveOption) {
		for _, v := range values {
			all = append(all, s.with(n.key(key).String(v)))
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
		o = s.with(s.key(fromKey).String(word(t.From)), s.key(toKey).String(word(t.To)), s.key(reasonKey).String(word(t.Reason)))
		s.transitions[key] = o
	}
	return o
}

// other are the attributes with one more of a fixed set, made when it is met.
func (s *options) other(key attribute.Key, value string) []metric.ObserveOption {
	kv := s.key(key).String(value)
	o := s.others[kv]
	if o == nil {
		o = s.with(kv)
		s.others[kv] = o
	}
	return o
}

// usualKinds are the changes of state that have a series from the start.
var usualKinds = []transition{
	{atomicbreaker.StateClosed, atomicbreaker.StateHalfOpen, atomicbreaker.ReasonNearDeadline},
	{atomicbreaker.StateClosed, atomicbreaker.StateOpen, atomicbreaker.ReasonFailureRate},
	{atomicbreaker.StateClosed, atomicbreaker.StateOpen, atomicbreaker.ReasonStreak},
	{atomicbreaker.StateHalfOpen, atomicbreaker.StateClosed, atomicbreaker.ReasonRecovered},
	{atomicbreaker.StateHalfOpen, atomicbreaker.StateOpen, atomicbreaker.ReasonProbeFailed},
	{atomicbreaker.StateOpen, atomicbreaker.StateHalfOpen, atomicbreaker.ReasonCooldown},
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
	naming
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
	v.ObserveFloat64(v.in.stateAge, v.since(r.Changed), v.set.other(reasonKey, word(r.Reason))...)
	if o := r.Outage; o != nil {
		v.ObserveFloat64(v.in.outageAge, v.since(o.Began), v.set.other(reasonKey, word(o.Reason))...)
	}
	v.count(v.in.outages, r.Outages, plain)
	v.latency()
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
	v.transitions()
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
		if l.Holder != "" { // of another process, and so not kept
			v.ObserveInt64(v.in.holder, 1, v.set.with(v.key(holderKey).String(strings.ToValidUTF8(l.Holder, "?")))...)
		}
		if l.Members > 0 {
			v.ObserveInt64(v.in.members, int64(l.Members), plain...)
		}
	}
	v.count(v.in.panics, r.ListenerPanics, plain)
}

// transitions shows each kind that there was, and at 0 those that are usual.
func (v *view) transitions() {
	there := 0
	for _, t := range v.r.Transitions {
		v.count(v.in.transitions, t.Count, v.set.transition(t))
		for i, k := range usualKinds {
			if k == (transition{t.From, t.To, t.Reason}) {
				there |= 1 << i
			}
		}
	}
	for i, k := range usualKinds {
		if there&(1<<i) == 0 {
			v.count(v.in.transitions, 0, v.set.transition(breakerwatch.TransitionCount{From: k.from, To: k.to, Reason: k.reason}))
		}
	}
}

func (v *view) latency() {
	l, plain := v.r.Latency, v.set.plain
	if l.Usual > 0 {
		v.ObserveFloat64(v.in.usual, l.Usual.Seconds(), plain...)
	}
	if l.High > 0 {
		v.ObserveFloat64(v.in.high, l.High.Seconds(), plain...)
	}
	if l.Deadline > 0 {
		v.ObserveFloat64(v.in.deadline, l.Deadline.Seconds(), plain...)
	}
}

func (v *view) calls() {
	r, plain := v.r, v.set.plain
	v.each(v.in.calls, v.set.outcomes, r.Succeeded, r.Failed, r.Ignored, r.Cancelled, r.Late)
	v.each(v.in.refusals, v.set.refusals, r.RefusedOpen, r.RefusedHalfOpen, r.RefusedForced)
	if r.Slow > 0 {
		v.count(v.in.slow, r.Slow, plain)
	}
	if r.Local > 0 {
		v.count(v.in.local, r.Local, plain)
	}
	if errors, told := r.Errors(); told {
		for k, n := range errors.Counts {
			if n > 0 {
				v.count(v.in.errors, n, v.set.other(kindKey, breakerwatch.Kind(k).String()))
			}
		}
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

// since is how long ago an instant was, never less than nothing; with the names
// of Prometheus it is the instant itself, in seconds since 1970.
func (v *view) since(t time.Time) float64 {
	if v.prometheus {
		return float64(t.UnixMilli()) / 1000
	}
	return max(v.now.Sub(t).Seconds(), 0)
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
