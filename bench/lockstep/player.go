package lockstep

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// player is one breaker with its clock and everything that can be told apart
// about it.
type player struct {
	name     string
	observed bool // looked at after every step; the others only at the end
	b        Breaker
	clock    *clock.Manual
	events   []atomicbreaker.Transition
	notes    notes
	tickets  []Ticket // the latest ones, settled or not
	leaked   []Ticket // those that fell out of tickets
	admitted uint64
	refused  uint64
}

// notes are what the user's functions saw.
type notes struct {
	draws, asked, classified int
	askedAbout               atomicbreaker.Counts
	sawState                 atomicbreaker.State
	sawGeneration            uint32
	sawReady                 bool
}

// view is what a look at a player tells.
type view struct {
	snapshot   atomicbreaker.Snapshot
	state      atomicbreaker.State
	ready      bool
	retryAfter time.Duration
	name       string
}

// without tells the parts of a view in which it differs from another.
func (v view) without(other view) string {
	var parts []string
	var add func(a, b reflect.Value)
	add = func(a, b reflect.Value) {
		for i := range a.NumField() {
			x, y := a.Field(i), b.Field(i)
			switch {
			case x.Equal(y):
			case x.Kind() == reflect.Struct:
				add(x, y)
			default:
				parts = append(parts, fmt.Sprintf("%s:%v", a.Type().Field(i).Name, x))
			}
		}
	}
	add(reflect.ValueOf(v), reflect.ValueOf(other))
	return fmt.Sprintf("%s (at %v, %v)", strings.Join(parts, " "), v.snapshot.At, v.state)
}

func (p *player) look() view {
	return view{p.b.Snapshot(), p.b.State(), p.b.Ready(), p.b.RetryAfter(), p.b.Name()}
}

// untilTimer is the time until the clock's next timer, plus a little.
func (p *player) untilTimer(plus time.Duration) time.Duration {
	at, running := p.clock.Next()
	if !running {
		return sec
	}
	return max(at-p.clock.Now()+plus, 0)
}

// answer is what an operation returned.
type answer struct {
	ok         int    // how many settled, or were admitted
	refusal    string // the kind of error
	retryAfter time.Duration
	panicked   string
	inner      string // what the function given to Do saw
}

// do carries out one step and keeps what panics.
func (p *player) do(s step) (a answer) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case panicValue:
			a.panicked = string(v)
		case error:
			panic(v) // a fault in the breaker
		default:
			a.panicked = "by the breaker"
		}
	}()
	switch s.kind {
	case acquire:
		for range s.count {
			p.acquire(&a)
		}
	case settle:
		if t := p.ticket(s.which); t != nil && s.how.apply(t) {
			a.ok++
		}
	case call:
		for range s.count {
			if t := p.acquire(&a); t != nil {
				s.how.apply(t)
			}
		}
	case do:
		p.call(s, &a)
	case landAll:
		for _, t := range append(p.leaked, p.tickets...) {
			p.land(t, s.how, &a)
		}
		p.leaked = nil
	case advance, toTimer:
		p.clock.Advance(s.duration)
	case ask:
		for range s.count {
			p.look()
		}
	case trip:
		p.b.Trip()
	case reset:
		p.b.Reset()
	case setMode:
		p.b.SetMode(s.mode)
	}
	return a
}

// land settles one ticket of many: a panic of the user's rule is for that one.
func (p *player) land(t Ticket, how ending, a *answer) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case panicValue:
			a.panicked += string(v)
		default:
			panic(v)
		}
	}()
	if how.apply(t) {
		a.ok++
	}
}

// acquire asks for a ticket and keeps it.
func (p *player) acquire(a *answer) Ticket {
	t, err := p.b.Acquire()
	if err != nil {
		p.refused++
		a.refuse(err)
		return nil
	}
	p.admitted++
	a.ok++
	if len(p.tickets) == maxTickets {
		p.leaked = append(p.leaked, p.tickets[0])
		p.tickets = p.tickets[1:]
	}
	p.tickets = append(p.tickets, t)
	return t
}

// maxTickets is how many tickets a program can reach.
const maxTickets = 64

// ticket finds a ticket, counted from the latest.
func (p *player) ticket(which int) Ticket {
	if len(p.tickets) == 0 {
		return nil
	}
	return p.tickets[len(p.tickets)-1-which%len(p.tickets)]
}

// refuse notes an error by what it is.
func (a *answer) refuse(err error) {
	for _, kind := range []error{atomicbreaker.ErrForced, atomicbreaker.ErrOpen, atomicbreaker.ErrProbeLimit, context.Canceled} {
		if errors.Is(err, kind) {
			a.refusal += kind.Error() + ";"
		}
	}
	for _, known := range someErrors {
		if err == known {
			a.refusal += known.Error() + ";"
		}
	}
	var refusal interface {
		Name() string
		RetryAfter() time.Duration
	}
	if errors.As(err, &refusal) {
		a.refusal += refusal.Name()
		a.retryAfter = refusal.RetryAfter()
	}
}
