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

	Lease breakerlease.Status `json:"lease,omitzero"` // zero for a breaker that takes part in none, or has not asked yet

	// Transitions counts changes of state. Read only. Empty if the breaker's
	// configuration did not come from Watch.Config. A breaker that is made again
	// under the name of one that is gone continues its counts.
	Transitions []TransitionCount `json:"transitions,omitempty"`

	Breaker *atomicbreaker.Breaker `json:"-"`
	record  *record
}

// MarshalJSON gives the fields of the snapshot and those of the reading side
// by side, and probes, if there were any.
func (r Reading) MarshalJSON() ([]byte, error) {
	type fields Reading // without this method
	whole := struct {
		fields
		Probes *Probes `json:"probes,omitempty"`
	}{fields: fields(r)}
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
			}
			continue
		}
		r.pass.Store(pass)
		if !r.met {
			r.met = true
			w.known++
		}
		w.met++
		into = append(into, r.read(b, now))
	}
	w.prune(pass)
	return into
}

// prune drops the records that this reading and the one before have not met.
// One reading is not enough: a breaker that a Group has just made may have told
// of a change before it is in the iteration.
func (w *Watch) prune(pass uint64) {
	if w.known == w.met && w.strangers.Load() == 0 {
		return
	}
	for name, v := range w.records.Range {
		r := v.(*record)
		if r.pass.Load()+1 >= pass {
			continue
		}
		w.records.Delete(name)
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
	pass        atomic.Uint64 // the reading that met it last, or that was the last when it was made

	// What follows belongs to the reader.
	met      bool
	breaker  weak.Pointer[atomicbreaker.Breaker]
	since    time.Duration
	changed  time.Time
	outcomes watermark
	refusals watermark
}

func (r *record) read(b *atomicbreaker.Breaker, now time.Time) Reading {
	s := b.Snapshot()
	if p := weak.Make(b); p != r.breaker {
		r.breaker, r.changed, r.outcomes, r.refusals = p, time.Time{}, watermark{}, watermark{}
	}
	if r.changed.IsZero() || r.since != s.Since {
		r.since, r.changed = s.Since, now.Add(s.Since-s.At)
	}
	lease, _ := breakerlease.StatusOf(b, s)
	reading := Reading{
		Snapshot: s, Lease: lease, Breaker: b, record: r, Changed: r.changed,
		LastOutcome: r.outcomes.at(s.Succeeded+s.Failed+s.Ignored+s.Late, now),
		LastRefusal: r.refusals.at(s.Refused()+s.WouldRefuse, now),
	}
	if t := r.transitions.Load(); t != nil {
		reading.Transitions = *t
	}
	return reading
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
