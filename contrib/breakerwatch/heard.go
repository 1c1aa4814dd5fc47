package breakerwatch

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// TransitionCount is how often one kind of change of state happened.
type TransitionCount struct {
	From   atomicbreaker.State  `json:"from"`
	To     atomicbreaker.State  `json:"to"`
	Reason atomicbreaker.Reason `json:"reason"`
	Count  uint64               `json:"count"`
}

// Transition is the listener that [Watch.Config] adds. Call it for breakers
// whose OnTransition is set in another way.
func (w *Watch) Transition(t atomicbreaker.Transition) {
	w.events.add(t)
	w.count(t)
	for _, l := range w.listening() {
		if l.transition != nil {
			l.transition(t)
		}
	}
}

func (w *Watch) count(t atomicbreaker.Transition) {
	r := w.heard(t.Name)
	if r == nil {
		return
	}
	for {
		old := r.transitions.Load()
		if next := counted(old, t); r.transitions.CompareAndSwap(old, &next) {
			break
		}
	}
	r.story.changed(t, time.Now(), r, &w.past)
}

// counted returns a copy of the counts with one more of t's kind.
func counted(counts *[]TransitionCount, t atomicbreaker.Transition) []TransitionCount {
	var next []TransitionCount
	if counts != nil {
		next = append(make([]TransitionCount, 0, len(*counts)+1), *counts...)
	}
	for i := range next {
		if c := &next[i]; c.From == t.From && c.To == t.To && c.Reason == t.Reason {
			c.Count++
			return next
		}
	}
	return append(next, TransitionCount{From: t.From, To: t.To, Reason: t.Reason, Count: 1})
}

// heard returns the record that a listener writes to, or nil if there is no
// room for another one.
func (w *Watch) heard(name string) *record {
	if v, ok := w.records.Load(name); ok {
		return v.(*record)
	}
	if w.strangers.Add(1) > maxStrangers {
		w.strangers.Add(-1)
		w.unrecorded.Add(1)
		return nil
	}
	r := new(record)
	r.pass.Store(w.pass.Load())
	v, loaded := w.records.LoadOrStore(name, r)
	if loaded {
		w.strangers.Add(-1)
	}
	return v.(*record)
}

// probeBounds are the upper bounds of the buckets of probe latencies; one
// without a bound follows. They span a cache and a call that has hung for the
// default Recovery.ProbeTimeout.
var probeBounds = [...]time.Duration{
	1 * time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second,
}

// ProbeBounds returns the upper bounds of all but the last of
// [Probes].Buckets, which has none.
func ProbeBounds() []time.Duration { return append([]time.Duration(nil), probeBounds[:]...) }

// Probes counts the probes of a breaker. Each is in exactly one of the first
// four; Snapshot.Abandoned counts those that were given up.
type Probes struct {
	Succeeded uint64 `json:"succeeded"` // in time
	Slow      uint64 `json:"slow"`      // succeeded but took Config.SlowCallDuration or longer: judged a failure
	Failed    uint64 `json:"failed"`
	Ignored   uint64 `json:"ignored"` // local ones included

	// Latencies of those that were judged, the ignored left out: how many lie
	// at or below a bound and above the one before.
	Buckets [len(probeBounds) + 1]uint64 `json:"latency_buckets"`
	Sum     time.Duration                `json:"latency_sum_ns"`
}

// probeCounters is Probes while it is written to.
type probeCounters struct {
	outcomes [4]atomic.Uint64 // in the order of Probes
	buckets  [len(probeBounds) + 1]atomic.Uint64
	sum      atomic.Int64
}

// Probe is the listener that [Watch.Config] adds. Call it for breakers whose
// OnProbe is set in another way.
func (w *Watch) Probe(p atomicbreaker.Probe) {
	w.judge(p)
	for _, l := range w.listening() {
		if l.probe != nil {
			l.probe(p)
		}
	}
}

func (w *Watch) judge(p atomicbreaker.Probe) {
	r := w.heard(p.Name)
	if r == nil {
		return
	}
	c := r.probes.Load()
	if c == nil {
		r.probes.CompareAndSwap(nil, new(probeCounters))
		c = r.probes.Load()
	}
	switch {
	case p.Outcome == atomicbreaker.Ignored, p.Outcome == atomicbreaker.Local:
		c.outcomes[3].Add(1)
		return
	case p.Outcome == atomicbreaker.Failure:
		c.outcomes[2].Add(1)
	case p.Slow:
		c.outcomes[1].Add(1)
	default:
		c.outcomes[0].Add(1)
	}
	i := 0
	for i < len(probeBounds) && p.Latency > probeBounds[i] {
		i++
	}
	c.buckets[i].Add(1)
	c.sum.Add(int64(p.Latency))
	r.story.probed(p.Outcome == atomicbreaker.Success && !p.Slow)
}

// Probes returns what is known of the breaker's probes. It reports false if
// it has got none.
func (r *Reading) Probes() (Probes, bool) {
	if r.record == nil {
		return Probes{}, false
	}
	c := r.record.probes.Load()
	if c == nil {
		return Probes{}, false
	}
	p := Probes{
		Succeeded: c.outcomes[0].Load(), Slow: c.outcomes[1].Load(), Failed: c.outcomes[2].Load(), Ignored: c.outcomes[3].Load(),
		Sum: time.Duration(c.sum.Load()),
	}
	for i := range p.Buckets {
		p.Buckets[i] = c.buckets[i].Load()
	}
	return p, true
}

// Event is a change of state and when the Watch got it.
type Event struct {
	Number uint64 // counts from 1
	Time   time.Time
	atomicbreaker.Transition
}

// maxEvents is how many changes of state are kept.
const maxEvents = 1024

type eventLog struct {
	mu   sync.Mutex
	ring []Event // the event of number n is at (n - 1) % maxEvents
	last uint64
}

func (l *eventLog) add(t atomicbreaker.Transition) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e := Event{Number: l.last, Time: now, Transition: t}
	if len(l.ring) < maxEvents {
		l.ring = append(l.ring, e)
	} else {
		l.ring[(e.Number-1)%maxEvents] = e
	}
}

// Events returns the changes of state after number since that are still kept,
// in order. With 0 it returns all that are kept.
func (w *Watch) Events(since uint64) []Event {
	l := &w.events
	l.mu.Lock()
	defer l.mu.Unlock()
	first := max(since+1, l.last-uint64(len(l.ring))+1)
	var events []Event
	for n := first; n <= l.last; n++ {
		events = append(events, l.ring[(n-1)%maxEvents])
	}
	return events
}
