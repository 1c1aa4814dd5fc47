package breakerwatch

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Watch is a set of breakers and what was heard of them. The zero Watch is
// empty and ready. All methods are safe for concurrent use; a Watch must not
// be copied.
//
// What it keeps is bounded: a record per breaker that the last two readings
// have met, at most 4096 for breakers that no reading has met yet, the latest
// 1024 changes of state, and the latest 256 outages that are over. An outage that
// lasts is in its breaker's record.
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
	past       outageLog
	limits     sync.Map // name of a configuration to *Limits
	book       limitsBook
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
// this a Watch knows no more than snapshots show. It also notes the thresholds
// of c for [Reading].Limits: change c before, not after.
func (w *Watch) Config(c atomicbreaker.Config) atomicbreaker.Config {
	w.noteLimits(c)
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
