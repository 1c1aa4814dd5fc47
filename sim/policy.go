package sim

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// A Policy decides which calls are sent. The engine asks from one goroutine.
type Policy interface {
	// Ready says whether Acquire would admit a call now, and changes nothing.
	Ready() bool

	// Acquire admits a call, with a ticket that is handed back to Settle, or
	// refuses it. A nil ticket is as good as any.
	Acquire() (Ticket, bool)

	// Settle tells how an admitted call went: Success, Failure, or Ignored when
	// its caller cancelled it. It is called once per ticket, or never for a
	// call that hangs and whose caller never gives up.
	Settle(Ticket, atomicbreaker.Outcome)
}

// A Ticket is whatever a policy needs to recognise a call that it admitted.
type Ticket any

// A Policy may also tell what it is doing, so that reports can show it.
type (
	stateTeller  interface{ State() atomicbreaker.State }
	windowTeller interface{ Window() int }
)

// A Site is what a policy is given when it is made.
type Site struct {
	// Clock is the simulation's clock. A policy that reads package time
	// instead must run in a testing/synctest bubble; see [Time].
	Clock clock.Clock

	// Rand draws numbers in [0, 1) from a stream that belongs to this policy.
	Rand func() float64

	// HasRoom tells the truth about the dependency: it is up, and a worker is
	// free or the queue is short. Only an oracle can know this.
	HasRoom func() bool

	// Timeout is how long callers wait for an answer, as the context of their calls
	// tells the breaker; 0 if they wait forever.
	Timeout time.Duration

	// Lease is what the breakers of this run share. nil: nothing.
	Lease breakerlease.Lease
}

// A Contender is a way to make a policy, with the name that tables show.
type Contender struct {
	Name  string // short, lower case, of letters, digits and hyphens
	Title string // for a reader, with the settings that matter
	New   func(Site) Policy
}

// Time is what moves a simulation. The zero value is a clock.Manual of the
// run's own.
//
// A policy that cannot be given a clock runs inside a testing/synctest bubble,
// whose time moves when every goroutine in it sleeps:
//
//	Time{Clock: clock.System(), Advance: func(d time.Duration) { time.Sleep(d); synctest.Wait() }}
type Time struct {
	Clock   clock.Clock
	Advance func(time.Duration) // lets d pass; everything due by then has happened when it returns
}

// None admits every call.
func None() Contender {
	return Contender{Name: "none", Title: "no breaker", New: func(Site) Policy { return none{} }}
}

type none struct{}

func (none) Ready() bool                          { return true }
func (none) Acquire() (Ticket, bool)              { return nil, true }
func (none) Settle(Ticket, atomicbreaker.Outcome) {}

// Oracle admits a call exactly when the dependency has room for it. What it
// reaches is the physical limit of a scenario, not something to be had.
func Oracle() Contender {
	return Contender{Name: "oracle", Title: "oracle: knows the dependency's queue",
		New: func(s Site) Policy { return oracle{s.HasRoom} }}
}

type oracle struct{ hasRoom func() bool }

func (o oracle) Ready() bool                        { return o.hasRoom() }
func (o oracle) Acquire() (Ticket, bool)            { return nil, o.hasRoom() }
func (oracle) Settle(Ticket, atomicbreaker.Outcome) {}

// Breaker is the real breaker of this module with the given settings. Clock,
// Rand and Stripes are the simulation's.
func Breaker(name, title string, config atomicbreaker.Config) Contender {
	return Contender{Name: name, Title: title, New: func(s Site) Policy {
		c := config
		c.Clock, c.Rand, c.Stripes = s.Clock, s.Rand, 1
		if c.Deadline == 0 {
			c.Deadline = s.Timeout
		}
		if s.Lease == nil {
			return &breaker{Breaker: atomicbreaker.MustNew(c)}
		}
		b, err := breakerlease.New(c, s.Lease, breakerlease.Options{})
		if err != nil {
			panic(err)
		}
		if store, ok := s.Lease.(*leaseStore); ok {
			store.members = append(store.members, b)
		}
		return &breaker{Breaker: b}
	}}
}

// breaker adapts the real thing. Tickets must not be copied, so each lives in
// a slot that is used again after it was settled.
type breaker struct {
	*atomicbreaker.Breaker
	free []*atomicbreaker.Ticket
}

func (b *breaker) Acquire() (Ticket, bool) {
	var slot *atomicbreaker.Ticket
	if n := len(b.free); n > 0 {
		slot, b.free = b.free[n-1], b.free[:n-1]
	} else {
		slot = new(atomicbreaker.Ticket)
	}
	var err error
	if *slot, err = b.Breaker.Acquire(); err != nil {
		b.free = append(b.free, slot)
		return nil, false
	}
	return slot, true
}

func (b *breaker) Settle(t Ticket, o atomicbreaker.Outcome) {
	slot := t.(*atomicbreaker.Ticket)
	if o == atomicbreaker.Ignored {
		slot.Cancel()
	} else {
		slot.Report(o)
	}
	b.free = append(b.free, slot)
}

func (b *breaker) Window() int {
	if b.State() != atomicbreaker.StateHalfOpen {
		return 0
	}
	return b.Snapshot().ProbeWindow
}
