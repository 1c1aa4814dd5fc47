package atomicbreaker_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// State and counts cannot contradict each other: failures at once from many
// goroutines open the breaker, once, and after the cooldown as many probes go
// as there are places.
//
// Field: S140, ahawkins/breaker#7 (2016-03-17).
func TestFieldStateAndCountsAgree(t *testing.T) {
	rounds := 1000
	if reduced() {
		rounds = 100
	}
	p := examine(t, streakConfig())
	for round := range rounds {
		told := len(p.events())
		tickets := make([]*ab.Ticket, 64)
		for i := range tickets {
			tickets[i] = p.acquire()
		}
		crowd(128, func(i int) {
			if i < 64 {
				tickets[i].Report(ab.Failure)
				return
			}
			p.Snapshot()
			if _, err := p.Acquire(); err != nil && p.State() != ab.StateOpen {
				t.Errorf("refused with %v by a breaker that is %v", err, p.State())
			}
		})
		p.is(ab.StateOpen)
		if n := len(p.events()) - told; n != 1 {
			t.Fatalf("round %d: %d events, want one opening", round, n)
		}
		p.clock.Advance(5 * time.Second)
		var probe atomic.Pointer[ab.Ticket]
		var admitted atomic.Int64
		crowd(8, func(int) {
			if ticket, err := p.Acquire(); err == nil {
				admitted.Add(1)
				probe.Store(&ticket)
			}
		})
		if n := admitted.Load(); n != 1 {
			t.Fatalf("round %d: %d probes, want 1", round, n)
		}
		probe.Load().Report(ab.Success)
		p.is(ab.StateClosed)
	}
}

// disturb does to a breaker what can be done to one, from many goroutines.
func disturb(p *patient, goroutines, steps int) {
	crowd(goroutines, func(g int) {
		rnd := rand.New(rand.NewPCG(6, uint64(g)))
		var out []*ab.Ticket
		for range steps {
			switch rnd.IntN(16) {
			case 0:
				p.Trip()
			case 1:
				p.Reset()
			case 2:
				p.SetMode(ab.Mode(rnd.IntN(4)))
			case 3, 4:
				p.SetMode(ab.Auto)
			case 5, 6:
				p.clock.Advance(time.Duration(rnd.IntN(3)) * time.Second)
			case 7:
				p.Snapshot()
				p.State()
				p.Ready()
				p.RetryAfter()
			case 8:
				p.Do(p.t.Context(), succeed)
			case 9, 10:
				if len(out) > 0 {
					out[0].ReportAfter(ab.Outcome(rnd.IntN(3)), time.Second)
					out = out[1:]
				}
			case 11:
				if len(out) > 0 {
					out[0].Cancel()
				}
			default:
				ticket, err := p.Acquire()
				if err != nil {
					_ = err.Error()
					continue
				}
				out = append(out, &ticket)
			}
		}
	})
}

// Whatever happens at once, the race detector has nothing to say, and what is
// announced is what happened.
//
// Field: S141, afex/hystrix-go#71 (2017-08-14), #36, #37 (2015-07-27).
func TestFieldEverythingAtOnce(t *testing.T) {
	for _, windowCalls := range []int{0, 32} {
		c := streakConfig()
		c.FailureRate, c.SlowCallDuration, c.WindowCalls = 0.5, time.Second, windowCalls
		c.Recovery = ab.Recovery{ProbeTimeout: 2 * time.Second}
		var p *patient
		c.OnTransition = func(tr ab.Transition) {
			if _, err := json.Marshal(p.Snapshot()); err != nil {
				t.Error(err)
			}
		}
		p = examine(t, c)
		disturb(p, 16, 3000)
		chained(t, p.events())
	}
}

// Only the documented edges are ever taken, each for a reason that belongs to
// it, and each begins the next generation.
//
// Field: S143, resilience4j/resilience4j#562 (2019-08), #674 (2019-10-08); twitter/finagle
// commits 24c237123, 1988ee205.
func TestFieldOnlyDocumentedEdges(t *testing.T) {
	type edge struct{ from, to ab.State }
	allowed := map[edge][]ab.Reason{
		{ab.StateClosed, ab.StateOpen}:     {ab.ReasonStreak, ab.ReasonTripCalled, ab.ReasonSetModeCalled},
		{ab.StateOpen, ab.StateHalfOpen}:   {ab.ReasonCooldown, ab.ReasonSetModeCalled},
		{ab.StateHalfOpen, ab.StateOpen}:   {ab.ReasonProbeFailed, ab.ReasonProbeTimeout, ab.ReasonTripCalled, ab.ReasonSetModeCalled},
		{ab.StateHalfOpen, ab.StateClosed}: {ab.ReasonRecovered, ab.ReasonResetCalled, ab.ReasonSetModeCalled},
		{ab.StateOpen, ab.StateClosed}:     {ab.ReasonResetCalled, ab.ReasonSetModeCalled},
	}
	p := examine(t, streakConfig())
	disturb(p, 32, 3000)
	told := p.events()
	chained(t, told)
	seen := map[edge]int{}
	for _, tr := range told {
		e := edge{tr.From, tr.To}
		seen[e]++
		if !slices.Contains(allowed[e], tr.Reason) {
			t.Errorf("%v to %v because of %v", tr.From, tr.To, tr.Reason)
		}
	}
	if len(seen) != len(allowed) {
		t.Errorf("the edges %v were taken, want all of %d", seen, len(allowed))
	}

	// Without commands every generation is a change, and is announced.
	p = examine(t, streakConfig())
	crowd(32, func(int) {
		for n := range 1000 {
			if ticket, err := p.Acquire(); err == nil {
				ticket.Report(ab.Outcome(n / 5 % 2))
			} else {
				p.clock.Advance(time.Second)
			}
		}
	})
	for i, tr := range p.events() {
		if tr.Generation != uint32(i+1) {
			t.Fatalf("event %d is of generation %d", i, tr.Generation)
		}
	}
	if n := len(p.events()); n != int(p.Snapshot().Generation) || n == 0 {
		t.Errorf("%d events in %d generations", n, p.Snapshot().Generation)
	}
}

// gate is a clock at which the first reader waits once it is shut.
type gate struct {
	clock.Manual
	shut    atomic.Bool
	waiting atomic.Int64
	open    chan struct{}
}

func (g *gate) Now() time.Duration {
	if g.shut.Load() && g.waiting.Add(1) == 1 {
		<-g.open
	}
	return g.Manual.Now()
}

// sill is a clock of which, once it is shut, the first who sets a timer waits:
// one who has changed the word and sleeps before what follows.
type sill struct {
	clock.Manual
	shut    atomic.Bool
	open    chan struct{}
	waiting atomic.Int64
}

func (s *sill) AfterFunc(d time.Duration, f func()) clock.Timer {
	return sillTimer{s.Manual.AfterFunc(d, f), s}
}

type sillTimer struct {
	clock.Timer
	s *sill
}

func (t sillTimer) Reset(d time.Duration) bool {
	if t.s.shut.Load() && t.s.waiting.Add(1) == 1 {
		<-t.s.open
	}
	return t.Timer.Reset(d)
}

// sleeps runs f, which changes the state, up to where it has changed the word and
// is about to set the timer, and then g; after that f goes on to its end.
func (s *sill) sleeps(t *testing.T, f, g func()) {
	t.Helper()
	s.open, s.waiting = make(chan struct{}), atomic.Int64{}
	s.shut.Store(true)
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	within(t, func() {
		for s.waiting.Load() == 0 {
			runtime.Gosched()
		}
	})
	g()
	s.shut.Store(false)
	close(s.open)
	<-done
}

// Between the change of the word and what follows it, too, all others are
// answered at once.
//
// Field: S144, resilience4j/resilience4j#2038 (2024-11), #2095 (2024-01-17).
func TestFieldNobodyWaitsBehindAChangeOfTheWord(t *testing.T) {
	s := new(sill)
	c := streakConfig()
	c.Clock = s
	p := examineOn(t, &s.Manual, c)
	p.call(ab.Success)
	s.Advance(0)
	var admitted, refused atomic.Int64
	acquireAll := func() {
		admitted.Store(0)
		refused.Store(0)
		within(t, func() {
			crowd(32, func(int) {
				switch _, err := p.Acquire(); {
				case err == nil:
					admitted.Add(1)
				case errors.Is(err, ab.ErrOpen) || errors.Is(err, ab.ErrProbeLimit):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		})
	}
	s.sleeps(t, p.Trip, func() {
		acquireAll()
		if a, r := admitted.Load(), refused.Load(); a != 0 || r != 32 {
			t.Errorf("while the one who opens it sleeps: %d admitted, %d refused, want none and 32", a, r)
		}
	})
	p.is(ab.StateOpen)
	s.Advance(0)
	s.sleeps(t, func() { s.Advance(p.RetryAfter()) }, func() {
		acquireAll()
		if a, r := admitted.Load(), refused.Load(); a != 1 || r != 31 {
			t.Errorf("while the one who ends the cooldown sleeps: %d admitted, %d refused, want one and 31", a, r)
		}
	})
	s.Advance(0)
	p.is(ab.StateHalfOpen)
	s.sleeps(t, p.Reset, func() {
		acquireAll()
		if a := admitted.Load(); a != 32 {
			t.Errorf("while the one who resets it sleeps: %d admitted, want all", a)
		}
	})
}

// Nobody waits for one who sleeps while he changes the state: those who come
// meanwhile are answered at once, by the old state or the new.
//
// Field: S144, resilience4j/resilience4j#2038 (2024-11), #2095 (2024-01-17).
func TestFieldNobodyWaitsForTheWinner(t *testing.T) {
	acquireAll := func(p *patient) (admitted int64) {
		var n atomic.Int64
		within(t, func() {
			crowd(32, func(int) {
				if _, err := p.Acquire(); err == nil {
					n.Add(1)
				} else if !errors.Is(err, ab.ErrOpen) && !errors.Is(err, ab.ErrProbeLimit) {
					t.Error(err)
				}
			})
		})
		return n.Load()
	}
	g := &gate{open: make(chan struct{})}
	c := streakConfig()
	c.Clock = g
	p := examineOn(t, &g.Manual, c)
	p.trip()
	g.Advance(0)
	g.shut.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Advance(5 * time.Second) // sleeps in the timer, before half-open
	}()
	within(t, func() {
		for g.waiting.Load() == 0 {
			runtime.Gosched()
		}
	})
	if n := acquireAll(p); n != 0 || p.State() != ab.StateOpen {
		t.Errorf("%d admitted by a breaker that is %v", n, p.State())
	}
	g.shut.Store(false)
	close(g.open)
	<-done

	told, proceed := make(chan ab.Transition), make(chan struct{})
	c.Clock = nil
	c.OnTransition = func(tr ab.Transition) {
		if tr.To == ab.StateHalfOpen {
			told <- tr
			<-proceed
		}
	}
	p = examine(t, c)
	p.trip()
	go p.clock.Advance(5 * time.Second)
	within(t, func() { <-told }) // and sleeps in the announcement, after it
	if n := acquireAll(p); n != 1 {
		t.Errorf("%d admitted while half-open is being announced, want 1", n)
	}
	close(proceed)
}
