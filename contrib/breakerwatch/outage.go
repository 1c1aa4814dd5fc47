package breakerwatch

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Outage is the time from when a breaker leaves closed until it is closed
// again, with every probing in between. The Watch keeps the outage that lasts
// with its breaker, however many changes of state come, and the latest 256 that
// are over; see [Reading].Outage and [Watch.Outages].
type Outage struct {
	Number uint64 `json:"number,omitempty"` // counts those that are over, from 1 in the order of their ends; 0 while it lasts
	Name   string `json:"name"`             // of the breaker

	Began  time.Time            `json:"began"`
	Reason atomicbreaker.Reason `json:"reason"` // what took the breaker out of closed, of ReasonStreak to ReasonSetModeCalled
	Counts atomicbreaker.Counts `json:"counts"` // the rolling window that tripped

	Ended  time.Time            `json:"ended,omitzero"` // zero while it lasts
	Ending atomicbreaker.Reason `json:"ending"`         // what closed the breaker; none while the outage lasts, and for one that is Gone
	Gone   bool                 `json:"gone"`           // the breaker was dropped or replaced before it closed

	// Partial says that the Watch met the breaker in the middle. Began and
	// Reason are then those of the state that it was met in, and what happened
	// before is not counted.
	Partial bool `json:"partial"`

	Reopened        uint64 `json:"reopened"`         // times that the breaker went back from half-open to open
	ProbesSucceeded uint64 `json:"probes_succeeded"` // in time
	ProbesFailed    uint64 `json:"probes_failed"`    // slow ones included, those that were given up not
	Refused         uint64 `json:"refused"`          // calls, by the latest reading; at the end by the last reading before it

	Error LastError `json:"error,omitzero"` // the latest error before or in the outage, where errors are reported
}

// Lasted is how long the outage has lasted by now, or how long it lasted.
func (o *Outage) Lasted(now time.Time) time.Duration {
	if !o.Ended.IsZero() {
		now = o.Ended
	}
	return max(now.Sub(o.Began), 0)
}

// openingsOver is the time over which Reading.OpenedLately counts, in minutes.
const openingsOver = 15

// story is what the listeners and the readings know of a breaker's outages.
// The outage is replaced, never written to, so that readings may hold it.
type story struct {
	mu         sync.Mutex
	outage     *Outage
	generation uint32 // in which the outage was met by a reading, if it is Partial
	told       bool   // a listener has told of a change
	minute     int64  // of the last opening, since 1970
	openings   [openingsOver]uint16
	began      uint64 // outages
}

// maxOutages is how many outages are kept that are over.
const maxOutages = 256

// outageLog keeps outages that are over. The one of number n is at
// (n - 1) % maxOutages.
type outageLog struct {
	mu   sync.Mutex
	ring []Outage
	last uint64
}

func (l *outageLog) add(o Outage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	o.Number = l.last
	if len(l.ring) < maxOutages {
		l.ring = append(l.ring, o)
	} else {
		l.ring[(o.Number-1)%maxOutages] = o
	}
}

// Outages returns the outages after number since that are over and still
// kept, in the order of their ends. With 0 it returns all that are kept. Those
// that last are in the readings.
func (w *Watch) Outages(since uint64) []Outage {
	l := &w.past
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Outage
	for n := max(since+1, l.last-uint64(len(l.ring))+1); n <= l.last; n++ {
		list = append(list, l.ring[(n-1)%maxOutages])
	}
	return list
}

// changed follows a change of state.
func (s *story) changed(t atomicbreaker.Transition, now time.Time, r *record, past *outageLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = true
	switch {
	case t.To == atomicbreaker.StateClosed:
		s.end(now, t.Reason, past)
	case t.From == atomicbreaker.StateClosed:
		if t.To == atomicbreaker.StateOpen {
			s.opened(now)
		}
		if o := s.outage; o != nil && (!o.Partial || int32(t.Generation-s.generation) > 0) {
			s.end(now, atomicbreaker.ReasonNone, past) // of a breaker that this one replaces
		}
		if s.outage == nil {
			s.began++
		}
		s.outage = &Outage{Name: t.Name, Began: now, Reason: t.Reason, Counts: t.Counts, Error: r.lastError()}
	case t.To == atomicbreaker.StateOpen && s.outage != nil:
		o := *s.outage
		o.Reopened++
		s.outage = &o
	}
}

// probed counts a probe that was judged.
func (s *story) probed(good bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outage == nil {
		return
	}
	o := *s.outage
	if good {
		o.ProbesSucceeded++
	} else {
		o.ProbesFailed++
	}
	s.outage = &o
}

// read brings the outage up to date with a snapshot and returns it, or nil if
// the breaker is closed, and how often it opened lately. Where listeners tell,
// one of them ends the outage; otherwise the reading does.
func (s *story) read(r *Reading, now time.Time, refused uint64, replaced bool, rec *record, past *outageLog) (*Outage, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { r.Outages = s.began }()
	if o := s.outage; o != nil && replaced && (!s.told || r.State == atomicbreaker.StateClosed && !o.Began.After(r.Changed)) {
		s.end(now, atomicbreaker.ReasonNone, past)
	}
	if r.State == atomicbreaker.StateClosed {
		if s.outage != nil && !s.told {
			s.end(r.Changed, r.Reason, past)
		}
		return nil, s.lately(now)
	}
	if s.outage == nil {
		s.outage = &Outage{Name: r.Name, Began: r.Changed, Reason: r.Reason, Partial: true}
		s.generation = r.Generation
		s.began++
	}
	o := *s.outage
	o.Refused = refused
	if e := rec.lastError(); !e.Time.IsZero() {
		o.Error = e
	}
	s.outage = &o
	return s.outage, s.lately(now)
}

// gone ends the outage of a breaker that is read no more.
func (s *story) gone(now time.Time, past *outageLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(now, atomicbreaker.ReasonNone, past)
}

// end ends the outage, if there is one. The lock is held.
func (s *story) end(at time.Time, why atomicbreaker.Reason, past *outageLog) {
	if s.outage == nil {
		return
	}
	o := *s.outage
	o.Ended, o.Ending, o.Gone = at, why, why == atomicbreaker.ReasonNone
	s.outage = nil
	past.add(o)
}

// opened counts an opening from closed in its minute.
func (s *story) opened(now time.Time) {
	s.advance(now)
	if n := &s.openings[s.minute%openingsOver]; *n < 1<<16-1 {
		*n++
	}
}

// lately is how many openings there were in the last minutes.
func (s *story) lately(now time.Time) (n uint64) {
	s.advance(now)
	for _, k := range s.openings {
		n += uint64(k)
	}
	return n
}

// advance empties the minutes that have begun since the last opening.
func (s *story) advance(now time.Time) {
	minute := now.Unix() / 60
	for m := max(s.minute+1, minute-openingsOver+1); m <= minute; m++ {
		s.openings[m%openingsOver] = 0
	}
	s.minute = max(s.minute, minute)
}

// MarshalJSON gives how long the outage has lasted too, in nanoseconds.
func (o Outage) MarshalJSON() ([]byte, error) {
	type fields Outage // without this method
	return json.Marshal(struct {
		fields
		Lasted time.Duration `json:"lasted_ns"`
	}{fields(o), o.Lasted(time.Now())})
}
