package breakertest

import (
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// TB is the part of [testing.TB] that this package uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start is what a breaker is doing when a test gets it.
type Start int

const (
	// Closed: every call is admitted, and nothing has been counted.
	Closed Start = iota

	// NearlyOpen: closed, and the next failure opens it. It has counted as
	// many failures as that takes.
	NearlyOpen

	// Open: every call is refused with ErrOpen, for Cooldown.Min.
	Open

	// HalfOpen: the next call is a probe. By default a second one beside it
	// is refused.
	HalfOpen

	// ProbesFull: half-open with as many probes in flight as it admits; every
	// call is refused with ErrProbeLimit. [Breaker.SettleProbes] ends them.
	ProbesFull

	// ForcedOpen: an operator holds it open; every call is refused with ErrForced.
	ForcedOpen

	// ForcedClosed: an operator holds it closed; outcomes are counted and nothing trips.
	ForcedClosed
)

// Breaker is a breaker under test, with its clock and a record of what has
// happened to it since [New] returned it. Its methods may be called concurrently.
// Give the code under test the Breaker in it.
type Breaker struct {
	*atomicbreaker.Breaker

	t      TB
	manual *clock.Manual // nil: the breaker goes by a clock of the user's
	clock  clock.Clock
	before Outcomes // what New counted

	mu      sync.Mutex
	probes  []*atomicbreaker.Ticket // that fill it, see ProbesFull
	began   time.Duration           // when New returned, on the breaker's clock
	changes []atomicbreaker.Transition
}

// New makes a breaker. It has the settings of c, except for what c leaves open: a clock that is nil is a
// [clock.Manual], and a Cooldown.Jitter of 0 is Off. A c that is not valid, and one
// that cannot get to s, end the test.
//
// c.OnTransition and c.OnProbe are called for what New does, too. c.ReadyToTrip is
// asked more often for NearlyOpen: the failures are counted on a copy first.
func New(t TB, s Start, c atomicbreaker.Config) *Breaker {
	t.Helper()
	b := &Breaker{t: t}
	if c.Clock == nil {
		b.manual = new(clock.Manual)
		c.Clock = b.manual
	} else {
		b.manual, _ = c.Clock.(*clock.Manual)
	}
	b.clock = c.Clock
	if c.Cooldown.Jitter == 0 {
		c.Cooldown.Jitter = atomicbreaker.Off
	}
	failures := 0
	if s == NearlyOpen {
		failures = failuresToOpen(t, c) - 1
	}
	c.OnTransition = atomicbreaker.Transitions(b.record, c.OnTransition)
	var err error
	if b.Breaker, err = atomicbreaker.New(c); err != nil {
		t.Fatalf("breakertest: the configuration is not valid:\n%v", err)
		return nil
	}
	b.bring(s, failures)
	b.mu.Lock()
	b.began, b.changes = b.clock.Now(), nil
	b.mu.Unlock()
	b.before = OutcomesOf(b.Snapshot())
	return b
}

// bring brings a new breaker to its start.
func (b *Breaker) bring(s Start, failures int) {
	b.t.Helper()
	switch s {
	case Closed:
	case NearlyOpen:
		for range failures {
			b.fail()
		}
	case Open:
		b.Trip()
	case HalfOpen, ProbesFull:
		mode := b.Snapshot().Mode
		b.SetMode(atomicbreaker.ForcedOpen)
		b.SetMode(mode) // one that leaves ForcedOpen is half-open
		if s == ProbesFull {
			b.fill()
		}
	case ForcedOpen:
		b.SetMode(atomicbreaker.ForcedOpen)
	case ForcedClosed:
		b.SetMode(atomicbreaker.ForcedClosed)
	default:
		b.t.Fatalf("breakertest: the start is %d, want one of Closed to ForcedClosed", int(s))
	}
}

const (
	maxProbes     = 1024   // of atomicbreaker.Recovery
	failuresToTry = 50_000 // at least: a ReadyToTrip may want any number
)

// fill takes every probe's place.
func (b *Breaker) fill() {
	b.t.Helper()
	for range maxProbes + 1 {
		ticket, err := b.Acquire()
		if err != nil {
			return
		}
		b.probes = append(b.probes, &ticket)
	}
	b.t.Fatalf("breakertest: the breaker admits every call: in mode %v it cannot be full of probes", b.Snapshot().Mode)
}

func (b *Breaker) fail() {
	ticket, err := b.Acquire()
	if err == nil {
		ticket.Report(atomicbreaker.Failure)
	}
}

// failuresToOpen counts the failures, one right after the other, that open a
// breaker with this configuration.
func failuresToOpen(t TB, c atomicbreaker.Config) int {
	t.Helper()
	c.Mode, c.Clock = atomicbreaker.Auto, new(clock.Manual)
	c.OnTransition, c.OnProbe = nil, nil
	copied, err := atomicbreaker.New(c)
	if err != nil {
		return 1 // New will say so
	}
	b := Breaker{Breaker: copied}
	limit := 2 * max(c.ConsecutiveFailures, c.MinimumCalls, failuresToTry)
	for n := 1; n <= limit; n++ {
		if b.fail(); copied.State() == atomicbreaker.StateOpen {
			return n
		}
	}
	t.Fatalf("breakertest: NearlyOpen: %d failures in a row do not open a breaker of this configuration", limit)
	return 1
}

// SettleProbes settles the probes that a breaker made with [ProbesFull] started with.
func (b *Breaker) SettleProbes(o atomicbreaker.Outcome) {
	b.mu.Lock()
	probes := b.probes
	b.probes = nil
	b.mu.Unlock()
	for _, ticket := range probes {
		ticket.Report(o)
	}
}

// Now returns the time that has passed since New, on the breaker's clock.
func (b *Breaker) Now() time.Duration { return b.clock.Now() - b.began }

// Advance makes d pass, and what falls due in that time happen: a cooldown ends,
// the window moves, a half-open breaker closes. On a [clock.Manual] it moves the
// clock. On every other clock it sleeps, and has to be called in a testing/synctest
// bubble, where that takes no time; outside of one it ends the test.
func (b *Breaker) Advance(d time.Duration) {
	b.t.Helper()
	if d < 0 {
		b.t.Fatalf("breakertest: Advance got %v, want 0 or more", d)
		return
	}
	if b.manual != nil {
		b.manual.Advance(d)
		return
	}
	if !inBubble() {
		b.t.Fatalf("breakertest: Advance would sleep for %v of real time: leave Config.Clock nil, or run the test inside of synctest.Test", d)
		return
	}
	time.Sleep(d)
	synctest.Wait()
}

// AdvanceToReady makes time pass until the cooldown of an open breaker is over.
// A breaker that is not open, or forced open, is left as it is.
func (b *Breaker) AdvanceToReady() {
	b.t.Helper()
	for b.State() == atomicbreaker.StateOpen {
		left := b.RetryAfter()
		if left <= 0 { // forced open, and nobody knows for how long
			return
		}
		b.Advance(left)
	}
}

// inBubble reports whether the caller runs inside of a testing/synctest bubble.
func inBubble() (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	synctest.Wait() // panics outside of one
	return true
}

func (b *Breaker) record(t atomicbreaker.Transition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes = append(b.changes, t)
}

// String names the start as this package does.
func (s Start) String() string {
	names := [...]string{"Closed", "NearlyOpen", "Open", "HalfOpen", "ProbesFull", "ForcedOpen", "ForcedClosed"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("Start(%d)", int(s))
	}
	return names[s]
}
