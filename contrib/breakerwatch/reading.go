package breakerwatch

import (
	"encoding/json"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// Stats tells how a Watch is doing.
type Stats struct {
	Breakers   int    `json:"breakers"`   // met by the last reading
	Clashes    int    `json:"clashes"`    // left out of it because their name was taken
	Unrecorded uint64 `json:"unrecorded"` // changes of state and probes that there was no room to record
}

// Stats returns the figures of the last reading.
func (w *Watch) Stats() Stats {
	w.reading.Lock()
	defer w.reading.Unlock()
	return Stats{Breakers: w.met, Clashes: w.clashes, Unrecorded: w.unrecorded.Load()}
}

// Reading is a breaker at one moment.
//
// A breaker does not note when it was last asked, since its calls read no
// clock. LastOutcome and LastRefusal are therefore told from the totals: they
// are the instant of the reading that first saw the total as it is. What they
// count happened before, and after the reading before that one.
type Reading struct {
	atomicbreaker.Snapshot

	Changed     time.Time `json:"changed"`               // of the last change of state, or when the breaker was made
	LastOutcome time.Time `json:"last_outcome,omitzero"` // zero: no call has been settled yet
	LastRefusal time.Time `json:"last_refusal,omitzero"` // zero: none has been refused yet

	// Outage is the outage that lasts, nil while the breaker is closed. Read
	// only. A breaker whose configuration did not come from Watch.Config has one
	// too, as far as readings tell.
	Outage *Outage `json:"outage,omitempty"`

	// Limits are what opens the breaker; nil if its configuration, or its Group's,
	// did not come from Watch.Config, or that has no name. Read only.
	Limits *Limits `json:"limits,omitempty"`

	// Outages is how many outages have begun since Counted.
	Outages uint64 `json:"outages"`

	// OpenedLately is how often the breaker opened from closed in the last 15
	// minutes, the one that runs included.
	OpenedLately uint64 `json:"opened_15m"`

	// Counted is since when the totals count: when the breaker was made, or the
	// Watch first met one of its name. The totals of a breaker that is made again
	// under the name of one that is gone go on from where those were.
	Counted time.Time `json:"counted"`

	Lease breakerlease.Status `json:"lease,omitzero"` // zero for a breaker that takes part in none, or has not asked yet

	// Transitions counts changes of state. Read only. Empty if the breaker's
	// configuration did not come from Watch.Config. A breaker that is made again
	// under the name of one that is gone continues its counts.
	Transitions []TransitionCount `json:"transitions,omitempty"`

	Breaker *atomicbreaker.Breaker `json:"-"`
	record  *record
}

// MarshalJSON gives the fields of the snapshot and those of the reading side
// by side, and probes and errors, if there were any.
func (r Reading) MarshalJSON() ([]byte, error) {
	type fields Reading // without this method
	whole := struct {
		fields
		Probes *Probes `json:"probes,omitempty"`
		Errors *Errors `json:"errors,omitempty"`
	}{fields: fields(r)}
	if e, ok := r.Errors(); ok {
		whole.Errors = &e
	}
	if p, ok := r.Probes(); ok {
		whole.Probes = &p
	}
	return json.Marshal(whole)
}

// Read appends a reading of every breaker to into.
func (w *Watch) Read(into []Reading) []Reading {
	w.reading.Lock()
	defer w.reading.Unlock()
	pass := w.pass.Add(1)
	now := time.Now()
	w.met, w.clashes = 0, 0
	for b := range w.all() {
		r := w.recordFor(b.Name())
		if r.pass.Load() == pass && r.met {
			if r.breaker.Value() != b {
				w.clashes++
				r.clashed = true
			}
			continue
		}
		r.pass.Store(pass)
		if !r.met {
			r.met = true
			w.known++
		}
		w.met++
		into = append(into, r.read(b, now, w))
	}
	w.prune(pass, now)
	return into
}

// prune drops the records that this reading and the one before have not met.
// One reading is not enough: a breaker that a Group has just made may have told
// of a change before it is in the iteration.
func (w *Watch) prune(pass uint64, now time.Time) {
	if w.known == w.met && w.strangers.Load() == 0 {
		return
	}
	for name, v := range w.records.Range {
		r := v.(*record)
		if r.pass.Load()+1 >= pass {
			continue
		}
		w.records.Delete(name)
		r.story.gone(now, &w.past)
		if r.met {
			w.known--
		} else {
			w.strangers.Add(-1)
		}
	}
}

// recordFor returns the record of a breaker that a reading meets.
func (w *Watch) recordFor(name string) *record {
	v, ok := w.records.Load(name)
	if !ok {
		v, ok = w.records.LoadOrStore(name, new(record))
	}
	r := v.(*record)
	if ok && !r.met {
		w.strangers.Add(-1) // a listener has made it
	}
	return r
}

// A record is what is kept of a breaker between readings.
type record struct {
	transitions atomic.Pointer[[]TransitionCount] // replaced, never written to
	probes      atomic.Pointer[probeCounters]
	errors      atomic.Pointer[errorCounters]
	pass        atomic.Uint64 // the reading that met it last, or that was the last when it was made
	story       story

	// What follows belongs to the reader.
	met      bool
	clashed  bool // another breaker of the name was met
	breaker  weak.Pointer[atomicbreaker.Breaker]
	since    time.Duration
	changed  time.Time
	counted  time.Time
	limits   *Limits
	limitsAt uint64
	outcomes watermark
	refusals watermark
	calm     uint64 // refusals by the last reading that found the breaker closed
	last     totals // as the last reading showed them
	before   *totals
}

func (r *record) read(b *atomicbreaker.Breaker, now time.Time, w *Watch) Reading {
	s := b.Snapshot()
	replaced := false
	if p := weak.Make(b); p != r.breaker {
		replaced = !r.counted.IsZero()
		r.replace(p)
	}
	if r.changed.IsZero() || r.since != s.Since {
		r.since, r.changed = s.Since, now.Add(s.Since-s.At)
	}
	if r.counted.IsZero() {
		r.counted = now
		if s.Reason == atomicbreaker.ReasonNone { // nothing has changed since it was made
			r.counted = r.changed
		}
	}
	if last := w.book.last.Load(); replaced || r.limitsAt != last {
		r.limits, r.limitsAt = w.limitsOf(s.Name), last
	}
	lease, _ := breakerlease.StatusOf(b, s)
	reading := Reading{
		Snapshot: s, Lease: lease, Breaker: b, record: r, Limits: r.limits, Changed: r.changed, Counted: r.counted,
		LastOutcome: r.outcomes.at(s.Succeeded+s.Failed+s.Ignored+s.Late, now),
		LastRefusal: r.refusals.at(s.Refused()+s.WouldRefuse, now),
	}
	if s.State == atomicbreaker.StateClosed {
		r.calm = s.Refused()
	}
	reading.Outage, reading.OpenedLately = r.story.read(&reading, now, s.Refused()-r.calm, replaced, r, &w.past)
	if r.before != nil {
		reading.Snapshot = r.before.onTop(s)
	}
	r.last = totalsOf(reading.Snapshot)
	if t := r.transitions.Load(); t != nil {
		reading.Transitions = *t
	}
	return reading
}

// replace begins with another breaker of the name.
func (r *record) replace(by weak.Pointer[atomicbreaker.Breaker]) {
	r.breaker, r.changed, r.outcomes, r.refusals, r.calm = by, time.Time{}, watermark{}, watermark{}, 0
	if r.clashed || r.counted.IsZero() {
		r.before, r.counted = nil, time.Time{} // two that take turns are not one after the other
		return
	}
	before := r.last
	r.before = &before
}

// totals are the fields of a Snapshot that only rise.
type totals struct {
	succeeded, failed, ignored, cancelled, late, local, slow, abandoned uint64
	refusedOpen, refusedHalfOpen, refusedForced, wouldRefuse            uint64
	opened, panics                                                      uint64
	timeOpen                                                            time.Duration
}

func totalsOf(s atomicbreaker.Snapshot) totals {
	return totals{
		s.Succeeded, s.Failed, s.Ignored, s.Cancelled, s.Late, s.Local, s.Slow, s.Abandoned,
		s.RefusedOpen, s.RefusedHalfOpen, s.RefusedForced, s.WouldRefuse, s.Opened, s.ListenerPanics, s.TimeOpen,
	}
}

// onTop is s with its totals on top of t.
func (t *totals) onTop(s atomicbreaker.Snapshot) atomicbreaker.Snapshot {
	s.Succeeded += t.succeeded
	s.Failed += t.failed
	s.Ignored += t.ignored
	s.Cancelled += t.cancelled
	s.Late += t.late
	s.Local += t.local
	s.Slow += t.slow
	s.Abandoned += t.abandoned
	s.RefusedOpen += t.refusedOpen
	s.RefusedHalfOpen += t.refusedHalfOpen
	s.RefusedForced += t.refusedForced
	s.WouldRefuse += t.wouldRefuse
	s.Opened += t.opened
	s.ListenerPanics += t.panics
	s.TimeOpen += t.timeOpen
	return s
}

// watermark is a total and when it was first seen as high as it is.
type watermark struct {
	total uint64
	seen  time.Time
}

func (m *watermark) at(total uint64, now time.Time) time.Time {
	if total != m.total {
		m.total, m.seen = total, now
	}
	return m.seen
}
