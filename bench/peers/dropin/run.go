package dropin

import (
	"fmt"
	"strings"
	"time"

	ours "github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// Seen counts what programs have come by, so that a test can tell that they
// come by everything.
type Seen struct {
	Steps, Requests                   int
	RefusedOpen, RefusedHalfOpen      int
	Trips, HalfOpens, Reopens, Closes int
	Late, Asked, Excluded             int
	Again, Goexits, Panics, Held      int
}

// Difference is the first one that a program has come by.
type Difference struct {
	Setup        string
	Steps        []string
	What         string
	Ours, Theirs string
}

func (d *Difference) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n  ours:   %s\n  theirs: %s\nsettings: %s\n", d.What, d.Ours, d.Theirs, d.Setup)
	for i, s := range d.Steps {
		fmt.Fprintf(&text, "%4d %s\n", i+1, s)
	}
	return text.String()
}

// Run carries out a program and returns a *Difference or nil. It belongs inside
// of a testing/synctest bubble.
func Run(program []byte, seen *Seen) error { return compare(program, seen, false) }

// RunV1 is Run for version 1 of the original, and what stands in for that. It has no
// rolling window and excludes no request.
func RunV1(program []byte, seen *Seen) error { return compare(program, seen, true) }

func compare(program []byte, seen *Seen, v1 bool) error {
	head := program[:min(len(program), headerLen)]
	u := settings(head)
	if u.v1 = v1; v1 {
		u.period, u.excludes = 0, false
	}
	r := &run{setup: u, steps: decode(program[len(head):]), seen: seen, changed: time.Now()}
	r.heard = r.changed
	if v1 {
		r.ours, r.theirs = newOursV1(r.setup), newTheirsV1(r.setup)
	} else {
		r.ours, r.theirs = newOurs(r.setup), newTheirs(r.setup)
	}
	for len(r.steps) > 0 && r.err == nil {
		r.next()
	}
	if r.err == nil {
		r.end()
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

type run struct {
	setup        setup
	steps        []step
	taken        []string
	ours, theirs *side
	settled      []bool // of the two-step requests
	compared     int    // events
	state        ours.State
	changed      time.Time // when the state changed
	heard        time.Time // when it did, or a request began while none was under way
	seen         *Seen
	err          *Difference
}

func (r *run) differ(what string, ours, theirs any) {
	if r.err == nil {
		r.err = &Difference{
			Setup: r.setup.String(), Steps: r.taken, What: what,
			Ours: fmt.Sprintf("%+v", ours), Theirs: fmt.Sprintf("%+v", theirs),
		}
	}
}

// next takes a step, which takes along those inside of it.
func (r *run) next() {
	s := r.steps[0]
	r.steps = r.steps[1:]
	r.seen.Steps++
	r.taken = append(r.taken, s.String())
	switch s.kind {
	case execute:
		r.request(s.how, nil)
	case burst:
		for range s.times() {
			r.request(s.how, nil)
		}
	case around:
		r.request(s.how, func() {
			r.compare()
			for range s.times() {
				if len(r.steps) > 0 && r.err == nil {
					r.next()
				}
			}
			r.taken = append(r.taken, "(the request around ends)")
		})
	case allow:
		r.allow()
	case done:
		r.done(s)
	case again:
		r.again(s)
	case askState:
		if a, b := r.ours.state(), r.theirs.state(); a != b {
			r.differ("State", a, b)
		}
	case pass:
		r.sleep(r.span(s.n))
	case reach:
		r.sleep(r.untilEdge(s.n))
	}
	r.compare()
}

// end lets every state come to its end and compares once more.
func (r *run) end() {
	for range 3 {
		r.steps = []step{{kind: reach, n: 3}, {kind: askState}}
		for len(r.steps) > 0 {
			r.next()
		}
	}
	for i := range r.settled {
		r.done(step{n: i, how: fails})
		r.compare()
	}
}

// compare looks at what can be seen without asking State.
func (r *run) compare() {
	if a, b := r.ours.counts(), r.theirs.counts(); a != b {
		r.differ("Counts", a, b)
	}
	for r.compared < max(len(r.ours.events), len(r.theirs.events)) && r.err == nil {
		a, b := eventAt(r.ours.events, r.compared), eventAt(r.theirs.events, r.compared)
		if a != b {
			r.differ("what the functions were asked and told", a, b)
		}
		r.compared++
		r.take(b)
	}
}

func eventAt(events []event, i int) event {
	if i < len(events) {
		return events[i]
	}
	return event{what: "nothing"}
}

// take keeps track of the state and of what was seen.
func (r *run) take(e event) {
	switch e.what {
	case "ReadyToTrip":
		r.seen.Asked++
	case "IsExcluded":
		if e.answer {
			r.seen.Excluded++
		}
	case "OnStateChange":
		r.state, r.changed = e.to, time.Now()
		r.heard = r.changed
		switch {
		case e.from == ours.StateClosed:
			r.seen.Trips++
		case e.to == ours.StateHalfOpen:
			r.seen.HalfOpens++
		case e.to == ours.StateOpen:
			r.seen.Reopens++
		default:
			r.seen.Closes++
		}
	}
}

// span is a length of time that has to do with the settings.
func (r *run) span(n int) time.Duration {
	u := r.setup
	spans := []time.Duration{1, ms, u.period, u.period - 1, u.interval + 1, u.interval, u.openFor(), u.openFor() + 1,
		u.openFor() / 2, u.interval / 3, 2*u.period + 1, u.interval - u.period, 100 * ms, 0, sec, 5 * u.interval}
	return spans[n%len(spans)]
}

// untilEdge is the time to an instant, in nanoseconds before or after one at which
// something is due.
func (r *run) untilEdge(n int) time.Duration {
	gone := time.Since(r.changed)
	var edge time.Duration
	switch u := r.setup; {
	case r.state == ours.StateOpen:
		edge = u.openFor()
	case u.interval > 0 && u.period > 0:
		edge = (gone/u.period + time.Duration(n/4%3+1)) * u.period
	default:
		edge = u.interval
	}
	return edge - gone + time.Duration(n%4-1)
}

// waiting reports whether requests are under way, of those that still count.
func (r *run) waiting() bool {
	c := r.theirs.counts()
	return c.Requests != c.TotalSuccesses+c.TotalFailures+c.TotalExclusions
}

// hear is for a request that may be about to begin.
func (r *run) hear() {
	if !r.waiting() {
		r.heard = time.Now()
	}
}

// sleep lets time pass, but less than what ours lets half-open requests be silent for.
func (r *run) sleep(d time.Duration) {
	d = min(max(d, 0), 25*time.Hour)
	limit := max(5*time.Minute, r.setup.openFor())
	halfOpen := r.state == ours.StateHalfOpen || !r.setup.listens
	if halfOpen && r.waiting() && time.Since(r.heard)+d >= limit {
		r.seen.Held++
		return
	}
	time.Sleep(d)
}
