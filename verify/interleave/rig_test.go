//go:build interleave

package interleave

import (
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/verify/sched"
	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

const (
	cooldown = 10 * time.Millisecond
	quiet    = 20 * time.Millisecond
	timeout  = 50 * time.Millisecond
	bucket   = 5 * time.Millisecond
	tick     = 100 * time.Millisecond // between looks at the samples
)

// base is a breaker whose times are exact and whose rules are simple: two
// failures in a row trip it.
func base() atomicbreaker.Config {
	return atomicbreaker.Config{
		Window: 2 * bucket, Buckets: 2,
		FailureRate:         atomicbreaker.Off,
		ConsecutiveFailures: 2,
		Cooldown:            atomicbreaker.Cooldown{Min: cooldown, Max: 8 * cooldown, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Quiet: quiet, ProbeTimeout: timeout},
		Stripes:             1,
		Deadline:            atomicbreaker.Off, Patience: atomicbreaker.Off, // see sampling
	}
}

// sampling is base with samples: programs that are not about them have none, because each
// look of the worker takes many steps.
func sampling() atomicbreaker.Config {
	c := base()
	c.Deadline, c.Patience = time.Second, 0
	return c
}

// learnt has the breaker learn that calls take a millisecond.
func (r *rig) learnt() *rig {
	for range 12 {
		t := r.acquire()
		r.m.Advance(time.Millisecond)
		t.Report(success)
		r.m.Advance(tick)
	}
	r.last = r.b.Snapshot()
	return r
}

func classic(probes, successes, concurrent int) atomicbreaker.Config {
	c := base()
	c.Recovery.Probes, c.Recovery.Successes, c.Recovery.Concurrent = probes, successes, concurrent
	return c
}

// rig is a breaker and what the actors and the checks know of it.
type rig struct {
	b       *atomicbreaker.Breaker
	m       *clock.Manual
	told    []atomicbreaker.Transition
	tickets []*atomicbreaker.Ticket
	probes  map[*atomicbreaker.Ticket]uint32    // that were surely admitted in half-open, by generation
	states  map[atomicbreaker.Snapshot]struct{} // seen over all schedules

	admitted, refused, resets uint64
	silence                   bool // time may pass far enough for silence to raise the window
	last                      atomicbreaker.Snapshot
	tripped                   time.Duration // the earliest instant at which the present opening can have begun
	isClassic, modes, brakes  bool
	exact                     bool // no two actors try to bring about the same change, for different reasons
	began                     map[uint32]began
}

// began is what a Snapshot tells of the beginning of its generation.
type began struct {
	state  atomicbreaker.State
	reason atomicbreaker.Reason
	since  time.Duration
	opened uint64
}

func newRig(c atomicbreaker.Config, states map[atomicbreaker.Snapshot]struct{}) *rig {
	m := new(clock.Manual)
	c.Clock = m
	return newRigOn(c, m, states)
}

// newRigOn is newRig for a clock of the caller's, whose timers are those of m.
func newRigOn(c atomicbreaker.Config, m *clock.Manual, states map[atomicbreaker.Snapshot]struct{}) *rig {
	r := &rig{m: m, states: states, began: make(map[uint32]began)}
	c.OnTransition = func(t atomicbreaker.Transition) { r.told = append(r.told, t) }
	r.b = atomicbreaker.MustNew(c)
	r.last = r.b.Snapshot()
	return r
}

// halfOpen brings the breaker to half-open and lets n probes in.
func (r *rig) halfOpen(n int) *rig {
	r.b.Trip()
	r.m.Advance(cooldown)
	for range n {
		r.acquire()
	}
	r.m.Advance(0)
	r.last = r.b.Snapshot()
	return r
}

func (r *rig) acquire() *atomicbreaker.Ticket {
	before := r.look()
	t, err := r.b.Acquire()
	if err != nil {
		r.refused++
		return nil
	}
	r.admitted++
	r.tickets = append(r.tickets, &t)
	if after := r.look(); after.Generation == before.Generation && after.State == atomicbreaker.StateHalfOpen {
		if r.probes == nil {
			r.probes = map[*atomicbreaker.Ticket]uint32{}
		}
		r.probes[&t] = after.Generation
	}
	return &t
}

// look is a Snapshot that takes no step of the schedule.
func (r *rig) look() atomicbreaker.Snapshot {
	hook := atomic.Hook
	atomic.Hook = nil
	defer func() { atomic.Hook = hook }()
	return r.b.Snapshot()
}

// call acquires and reports.
func (r *rig) call(o atomicbreaker.Outcome) {
	if t := r.acquire(); t != nil {
		t.Report(o)
	}
}

func (r *rig) reset() {
	r.b.Reset()
	r.resets++
}

// step checks what must hold between any two atomic operations.
func (r *rig) step() error {
	s, old := r.b.Snapshot(), r.last
	r.last = s
	if r.states != nil {
		key := s
		key.Name = ""
		r.states[key] = struct{}{}
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	now := began{s.State, s.Reason, s.Since, s.Opened}
	if seen, ok := r.began[s.Generation]; !ok {
		r.began[s.Generation] = now
	} else if seen != now && r.exact {
		fault("generation %d began with %+v, and then with %+v", s.Generation, seen, now)
	}
	switch s.Generation - old.Generation {
	case 0:
		if s.State != old.State {
			fault("state %v to %v within generation %d", old.State, s.State, s.Generation)
		}
	case 1:
		if !r.mayFollow(old.State, s.State) {
			fault("state %v after %v", s.State, old.State)
		}
	default:
		fault("generation %d after %d", s.Generation, old.Generation)
	}
	if s.State == atomicbreaker.StateHalfOpen && s.Generation == old.Generation {
		switch more := s.ProbesInFlight - old.ProbesInFlight; {
		case more > 1 || more < -1:
			fault("probes in flight %d after %d", s.ProbesInFlight, old.ProbesInFlight)
		case more == 1 && old.ProbesInFlight >= old.ProbeWindow:
			fault("a probe was admitted with %d in flight and a window of %d", old.ProbesInFlight, old.ProbeWindow)
		}
	}
	if s.ProbesInFlight < 0 || uint64(s.ProbesInFlight) > r.admitted+3 {
		fault("%d probes in flight, %d tickets handed out", s.ProbesInFlight, r.admitted)
	}
	if s.State == atomicbreaker.StateHalfOpen && s.ProbeWindow < 1 {
		fault("probe window %d", s.ProbeWindow)
	}
	if s.State == atomicbreaker.StateHalfOpen && !r.silence && s.Succeeded == 0 && s.ProbeWindow > 1 && s.Reason == atomicbreaker.ReasonCooldown && r.window() {
		fault("probe window %d before any success", s.ProbeWindow)
	}
	if s.State == atomicbreaker.StateHalfOpen && old.State == atomicbreaker.StateOpen && s.Mode == atomicbreaker.Auto &&
		old.Mode == atomicbreaker.Auto && r.m.Now() < r.tripped+cooldown {
		fault("half-open at %v, %v after the opening", r.m.Now(), r.m.Now()-r.tripped)
	}
	for _, c := range [...][2]uint64{
		{old.Succeeded, s.Succeeded}, {old.Failed, s.Failed}, {old.Ignored, s.Ignored}, {old.Cancelled, s.Cancelled},
		{old.Late, s.Late}, {old.RefusedOpen, s.RefusedOpen}, {old.RefusedHalfOpen, s.RefusedHalfOpen}, {old.Abandoned, s.Abandoned},
	} {
		if c[1] < c[0] {
			fault("a total fell from %d to %d", c[0], c[1])
		}
	}
	return errors.Join(faults...)
}

// window reports whether the breaker judges by the probe window: a classic
// breaker may begin with more than one place.
func (r *rig) window() bool { return !r.isClassic }

func (r *rig) mayFollow(from, to atomicbreaker.State) bool {
	switch {
	case to == atomicbreaker.StateClosed:
		return true // Reset, or the probes succeeded
	case from == atomicbreaker.StateClosed, from == atomicbreaker.StateHalfOpen:
		return to == atomicbreaker.StateOpen || from == atomicbreaker.StateClosed && (r.modes || r.brakes)
	default:
		return to == atomicbreaker.StateHalfOpen
	}
}

// rest checks what must hold when everybody has ended: the books balance,
// every change was announced once and in order, and no timer was lost.
func (r *rig) rest() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	r.m.Advance(0)
	atRest, held := r.b.Snapshot(), 0
	for _, t := range r.tickets {
		if gen, probe := r.probes[t]; t.Cancel() && probe && gen == atRest.Generation {
			held++
		}
	}
	if held > atRest.ProbesInFlight {
		fault("%d probes are out, and only %d in flight", held, atRest.ProbesInFlight)
	}
	r.m.Advance(0)
	s := r.b.Snapshot()
	if s.State == atomicbreaker.StateHalfOpen && s.ProbesInFlight != 0 {
		fault("%d probes in flight at rest", s.ProbesInFlight)
	}
	if got := s.Succeeded + s.Failed + s.Ignored + s.Cancelled + s.Late; got != r.admitted {
		fault("%d outcomes of %d tickets: %+v", got, r.admitted, s)
	}
	if s.Refused() != r.refused {
		fault("%d refusals counted, %d given", s.Refused(), r.refused)
	}
	if s.RetryAfter > 8*cooldown {
		fault("RetryAfter %v at rest", s.RetryAfter)
	}
	r.m.Advance(time.Hour)
	s = r.b.Snapshot()
	if s.State == atomicbreaker.StateOpen && s.Mode != atomicbreaker.ForcedOpen {
		fault("open for an hour")
	}
	if n := r.m.Timers(); n != 0 {
		fault("%d timers run in an idle breaker", n)
	}
	from, gen, silent := atomicbreaker.StateClosed, uint32(0), uint64(0)
	for _, t := range r.told {
		if t.From != from || t.From == t.To {
			fault("announced %v to %v after %v", t.From, t.To, from)
		}
		if t.Generation <= gen {
			fault("announced generation %d after %d", t.Generation, gen)
		}
		if b, ok := r.began[t.Generation]; ok && (b.state != t.To || r.exact && (b.since != t.At || b.reason != t.Reason)) {
			fault("announced %+v, shown as %+v", t, b)
		}
		silent += uint64(t.Generation - gen - 1)
		from, gen = t.To, t.Generation
	}
	silent += uint64(s.Generation - gen)
	if from != s.State {
		fault("the last announcement says %v, the state is %v", from, s.State)
	}
	if silent > r.resets {
		fault("%d generations without announcement, %d calls of Reset", silent, r.resets)
	}
	return errors.Join(faults...)
}

func (r *rig) program(actors ...func()) sched.Program {
	return sched.Program{Actors: actors, Step: r.step, End: r.rest}
}
