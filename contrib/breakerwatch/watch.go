// Package breakerwatch reads many breakers for the packages that show them:
// breakerprom, breakerotel, breakerexpvar and breakerpage. It adds what a
// snapshot cannot tell, because it happens between two of them: how often a
// breaker went from which state to which and why, how its probes ended and how
// long they took, and when it was last asked.
//
//	var watch breakerwatch.Watch
//	b := atomicbreaker.MustNew(watch.Config(atomicbreaker.Config{Name: "inventory"}))
//	err := watch.Add(b)
//	http.Handle("/debug/breakers/", breakerpage.New(&watch))
//
// Reading is pure: it changes nothing that a call goes by. Breakers are told
// apart by name.
package breakerwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Watch is a set of breakers and what was heard of them. The zero Watch is
// empty and ready. All methods are safe for concurrent use; a Watch must not
// be copied.
//
// What it keeps is bounded: a record per breaker that the last two readings
// have met, at most 4096 for breakers that no reading has met yet, and the
// latest 1024 changes of state.
type Watch struct {
	mu      sync.Mutex // of what was added
	singles []*atomicbreaker.Breaker
	taken   map[string]bool // names of singles
	seqs    []*iter.Seq[*atomicbreaker.Breaker]

	records    sync.Map     // name to *record
	strangers  atomic.Int64 // records that no reading has met yet
	unrecorded atomic.Uint64
	pass       atomic.Uint64 // readings begun
	events     eventLog
	listeners  atomic.Pointer[[]*listener] // replaced under mu

	reading sync.Mutex // one reading at a time; guards what follows and the records' reader
	known   int        // records that readings have met
	clashes int        // in the last reading
	met     int        // in the last reading
}

// maxStrangers bounds the records of breakers that no reading has met: of
// those that were never added, or of all while nobody reads.
const maxStrangers = 4096

// Config returns c with listeners added that tell the Watch of changes of
// state and of probes. A listener that c has already is called first. Without
// this a Watch knows no more than snapshots show.
func (w *Watch) Config(c atomicbreaker.Config) atomicbreaker.Config {
	c.OnTransition = atomicbreaker.Transitions(c.OnTransition, w.Transition)
	theirs := c.OnProbe
	if theirs == nil {
		c.OnProbe = w.Probe
		return c
	}
	c.OnProbe = func(p atomicbreaker.Probe) {
		defer w.Probe(p) // even if theirs panics
		theirs(p)
	}
	return c
}

// Add adds breakers, which it then holds. It adds those that it can and
// returns an error for every one that is nil or whose name is taken by a
// breaker added before.
func (w *Watch) Add(breakers ...*atomicbreaker.Breaker) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken == nil {
		w.taken = map[string]bool{}
	}
	var faults []error
	for _, b := range breakers {
		switch {
		case b == nil:
			faults = append(faults, errors.New("breakerwatch: cannot add a nil Breaker"))
		case w.taken[b.Name()]:
			faults = append(faults, fmt.Errorf("breakerwatch: a breaker named %q is there already; names must differ", b.Name()))
		default:
			w.taken[b.Name()] = true
			w.singles = append(w.singles, b)
		}
	}
	return errors.Join(faults...)
}

// Remove takes out a breaker that was added and reports whether it was there.
func (w *Watch) Remove(b *atomicbreaker.Breaker) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.singles, b)
	if i >= 0 {
		w.singles = slices.Delete(w.singles, i, i+1)
		delete(w.taken, b.Name())
	}
	return i >= 0
}

// AddAll adds whatever breakers an iterator gives at each reading, such as
// those of a Group: watch.AddAll(breakerwatch.Values(group.All())). One whose
// name is taken, by an earlier breaker of the same reading, is left out and
// counted in [Stats].Clashes. The iterator must not read the Watch. remove
// takes it out again.
func (w *Watch) AddAll(breakers iter.Seq[*atomicbreaker.Breaker]) (remove func()) {
	if breakers == nil {
		panic("breakerwatch: AddAll of a nil iterator")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &breakers
	w.seqs = append(w.seqs, p)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seqs = slices.DeleteFunc(slices.Clone(w.seqs), func(q *iter.Seq[*atomicbreaker.Breaker]) bool { return q == p })
	}
}

// listener is a pair of functions that are told on.
type listener struct {
	transition func(atomicbreaker.Transition)
	probe      func(atomicbreaker.Probe)
}

// Listen has what the Watch is told told on, after it has recorded it, until
// stop is called. Either function may be nil. They run as the listeners of a
// breaker do, concurrently for different breakers, and for probes of one.
func (w *Watch) Listen(transition func(atomicbreaker.Transition), probe func(atomicbreaker.Probe)) (stop func()) {
	added := &listener{transition, probe}
	w.relisten(func(all []*listener) []*listener { return append(all, added) })
	return func() {
		w.relisten(func(all []*listener) []*listener {
			return slices.DeleteFunc(all, func(l *listener) bool { return l == added })
		})
	}
}

func (w *Watch) relisten(change func([]*listener) []*listener) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := change(slices.Clone(w.listening()))
	w.listeners.Store(&all)
}

func (w *Watch) listening() []*listener {
	if all := w.listeners.Load(); all != nil {
		return *all
	}
	return nil
}

// Values leaves the keys out, for [Watch.AddAll].
func Values[K any](pairs iter.Seq2[K, *atomicbreaker.Breaker]) iter.Seq[*atomicbreaker.Breaker] {
	return func(yield func(*atomicbreaker.Breaker) bool) {
		for _, b := range pairs {
			if !yield(b) {
				return
			}
		}
	}
}

// all gives every breaker added, without a lock held.
func (w *Watch) all() iter.Seq[*atomicbreaker.Breaker] {
	w.mu.Lock()
	singles, seqs := slices.Clone(w.singles), slices.Clone(w.seqs)
	w.mu.Unlock()
	return func(yield func(*atomicbreaker.Breaker) bool) {
		for _, b := range singles {
			if !yield(b) {
				return
			}
		}
		for _, seq := range seqs {
			for b := range *seq {
				if b != nil && !yield(b) {
					return
				}
			}
		}
	}
}

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
// tell of happened before, and after the reading before that one.
type Reading struct {
	atomicbreaker.Snapshot

	Changed     time.Time `json:"changed"`               // of the last change of state, or when the breaker was made
	LastOutcome time.Time `json:"last_outcome,omitzero"` // zero: no call has been settled yet
	LastRefusal time.Time `json:"last_refusal,omitzero"` // zero: none has been refused yet

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
	reading := Reading{
		Snapshot: s, Breaker: b, record: r, Changed: r.changed,
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
