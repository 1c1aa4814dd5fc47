package sim

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// Run plays a scenario with a contender and returns the books. The same
// arguments give the same result, bit for bit, on any machine. Pass the zero
// Time unless the contender needs its own. It panics on a scenario without
// length, workers or traffic.
func Run(sc *Scenario, c Contender, seedNumber uint64, t Time) *Result {
	return play(sc, c, seedNumber, t, nil)
}

// run is one simulation under way.
type run struct {
	sc      *Scenario
	seed    seed
	advance func(time.Duration)
	now     time.Duration
	agenda  agenda
	server  *server
	guards  []guard
	calls   []call
	free    []int32
	made    uint64 // calls born, for their numbers
	rate    int    // index of the rate in force
	books   books
	trace   func(traceLine)
}

// guard is one breaker of the fleet, and what it was last seen doing.
type guard struct {
	policy Policy
	teller stateTeller // nil if the policy does not tell
	window windowTeller
	state  atomicbreaker.State
}

// call is one piece of work that a caller wants done, through all attempts.
type call struct {
	id      uint64
	ticket  Ticket
	stamp   uint32 // changes whenever the call moves on
	attempt uint32
	guard   int32
	behind  bool // has been refused or has failed before
	guest   bool
	looping bool // a closed-loop caller's
	probe   bool // sent by a half-open breaker
}

func play(sc *Scenario, c Contender, number uint64, t Time, trace func(traceLine)) *Result {
	if sc.Length <= 0 || sc.Dependency.Workers <= 0 || len(sc.Traffic.Rate) == 0 && sc.Traffic.Callers == 0 {
		panic("sim: scenario " + sc.ID() + " needs a length, workers and traffic")
	}
	if t.Advance == nil {
		m := &clock.Manual{}
		t = Time{Clock: m, Advance: m.Advance}
	}
	r := &run{sc: sc, seed: seed(number), advance: t.Advance, trace: trace}
	r.server = newServer(r, &sc.Dependency)
	r.books.incident = sc.Incident
	var lease breakerlease.Lease
	if sc.Lease != nil {
		lease = &leaseStore{LeaseStore: *sc.Lease, seed: r.seed, clock: t.Clock}
	}
	for i := range max(1, sc.Breakers) {
		d := r.seed.draw(forPolicy, uint64(i), 0)
		r.guards = append(r.guards, newGuard(c.New(Site{Clock: t.Clock, Rand: d.float, HasRoom: r.server.hasRoom, Timeout: sc.Traffic.Timeout, Lease: lease})))
	}
	r.begin()
	for {
		e, ok := r.agenda.next()
		if !ok || e.at > sc.Length || e.at == sc.Length && e.kind != secondEnds {
			break // the run is a half-open interval, like its seconds
		}
		if e.at > r.now {
			r.advance(e.at - r.now)
			r.now = e.at
		}
		r.handle(e)
	}
	return r.books.result(sc, c, number)
}

func newGuard(p Policy) guard {
	g := guard{policy: p}
	g.teller, _ = p.(stateTeller)
	g.window, _ = p.(windowTeller)
	return g
}

// begin makes the first appointments.
func (r *run) begin() {
	for i, p := range r.sc.Dependency.Phases {
		r.agenda.add(event{at: p.From, kind: phaseBegins, call: int32(i)})
	}
	for t := time.Second; t <= r.sc.Length; t += time.Second {
		r.agenda.add(event{at: t, kind: secondEnds})
	}
	if len(r.sc.Traffic.Rate) > 0 {
		r.scheduleBirth()
	}
	for i := range r.sc.Traffic.Callers + r.sc.Traffic.Guests {
		index := r.newCall()
		c := &r.calls[index]
		c.looping = true
		c.guest = i >= r.sc.Traffic.Callers
		if c.guest {
			r.think(index, r.sc.Incident.From)
		} else {
			r.think(index, 0)
		}
	}
}

func (r *run) handle(e event) {
	switch e.kind {
	case callBorn:
		index := r.newCall()
		r.scheduleBirth()
		r.books.born(r.now)
		r.try(index)
	case callThought:
		if c := &r.calls[e.call]; c.guest && r.now >= r.sc.Incident.To {
			return
		}
		r.books.born(r.now)
		r.try(e.call)
	case callTries:
		r.try(e.call)
	case callTimesOut:
		if r.calls[e.call].stamp == e.stamp {
			r.settle(e.call, atomicbreaker.Failure)
		}
	case callCancels:
		if r.calls[e.call].stamp == e.stamp {
			r.settle(e.call, atomicbreaker.Ignored)
		}
	case callAnswered:
		r.answered(e.call, e.stamp, e.failed)
	case workEnds:
		r.server.ended(e.call, e.stamp)
	case phaseBegins:
		r.server.enter(r.sc.Dependency.Phases[e.call])
	case secondEnds:
		r.closeSecond()
	}
}

// newCall makes a call and returns its index.
func (r *run) newCall() int32 {
	var index int32
	if n := len(r.free); n > 0 {
		index, r.free = r.free[n-1], r.free[:n-1]
	} else {
		index = int32(len(r.calls))
		r.calls = append(r.calls, call{})
	}
	r.renew(&r.calls[index])
	return index
}

// renew gives a slot the identity of the next call.
func (r *run) renew(c *call) {
	r.made++
	c.id, c.attempt, c.behind = r.made, 0, false
	c.stamp++
	d := r.seed.draw(forBreaker, c.id, 0)
	c.guard = int32(d.between(0, time.Duration(len(r.guards))))
}

// scheduleBirth makes the appointment for the next open-loop call. The rate
// may change on the way there; a Poisson process has no memory, so the part
// of the wait that is left is stretched by the ratio of the rates.
func (r *run) scheduleBirth() {
	rates := r.sc.Traffic.Rate
	units := 1.0
	if !r.sc.Traffic.Regular {
		d := r.seed.draw(forArrival, r.made, 0)
		units = d.exponential()
	}
	at := max(r.now, rates[0].From)
	for {
		for r.rate+1 < len(rates) && rates[r.rate+1].From <= at {
			r.rate++
		}
		perSecond := rates[r.rate].PerSecond
		last := r.rate+1 == len(rates)
		if perSecond > 0 {
			wait := time.Duration(units / perSecond * float64(time.Second))
			if last || at+wait < rates[r.rate+1].From {
				r.agenda.add(event{at: at + wait, kind: callBorn})
				return
			}
		} else if last {
			return
		}
		spent := rates[r.rate+1].From - at
		units -= float64(float64(spent) / float64(time.Second) * perSecond)
		at = rates[r.rate+1].From
	}
}

// think lets a closed-loop caller think from an instant on.
func (r *run) think(index int32, from time.Duration) {
	c := &r.calls[index]
	d := r.seed.draw(forThink, c.id, 0)
	r.agenda.add(event{at: from + d.between(r.sc.Traffic.Think.From, r.sc.Traffic.Think.To), kind: callThought, call: index})
}
