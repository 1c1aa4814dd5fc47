// Package linear checks histories of concurrent calls against a sequential
// model of the breaker: whether some order of the calls, each at one instant
// between its beginning and its end, explains every answer.
//
// Where one call of the breaker acts at several instants, its history entry is
// split into steps that the model orders freely within the call:
//
//	Report, of a     judge (late or counted, and the streak or the window), then
//	closed call      take (trips, if the rule was met)
//	Report, of a     for a success in the probe window look (reads probes in
//	probe            flight and window); judge (the evidence), take (the word)
//	SetMode          forget (empties the window), then set (the word)
//	Advance          a step of the timer, move (the clock), then more of the timer
//
// Everything else is one step. What the model leaves open, and nothing else:
//
//   - When the timer acts. A timer's step may do any one thing that is due, or
//     nothing; at rest nothing may be left to do. An outcome that comes when the
//     probes should have been given up may find that done or not.
//   - Whether probes that the timer saw silent for too long are given up though
//     they have been settled and others admitted since, as long as generation,
//     probes in flight and window are the same numbers.
//   - Which reading of the clock a call went by, between its beginning and its
//     end: the model takes the earliest, so that what is due by any reading is
//     due in the model. It never lets a cooldown end before its length has
//     passed since the call that opened began.
//   - Whether a quiet tick found the probe window full: the flag is set after
//     the admission or refusal that it tells of. It closes only with a success
//     since the last cut and after a whole quiet time.
//   - How much doubt there is, where an outage has relapsed: how many net failures
//     cut, whether a quiet tick closes, and whether a cut or a quiet tick reopens because what
//     failed since the last cut is too much.
//   - Whether a success was slow against the fastest of its episode.
//   - Whether a probe that is admitted after a cut counts as sent before it.
//   - Whether a SetMode that finds its work done by another has emptied the
//     window in between.
//
// So the verdict of a probe and the change of the word that follows it are two
// steps: between them another probe may be judged by the evidence, and counted,
// though the verdict that ends the episode has been given already.
package linear

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Times of the breakers under test. Silence admits another probe after Quiet,
// because the cooldown is shorter.
const (
	unit     = time.Millisecond
	cooldown = 2 * unit
	quiet    = 3 * unit
	timeout  = 5 * unit

	streakLimit = 2
	lastCalls   = 3
	lastMinimum = 2
	lastRate    = 0.6
	maxTickets  = 16
	maxWindow   = 1<<14 - 1
	cutsAt      = 5 * 8 // five net failures at a weight of one half
)

// tolerances are what the tally must reach to cut, by the relapses of an outage. The model
// counts those that may be relapses: it takes any number of them for the true one.
var tolerances = [...]int8{cutsAt, 3 * 8, 2 * 8, 1 * 8}

// config is the configuration of the breakers under test: exact times, and one
// rule, either two failures in a row or two of the last two or three calls. With
// probes 0 it has the probe window.
func (r rule) config() atomicbreaker.Config {
	c := atomicbreaker.Config{
		FailureRate:         atomicbreaker.Off,
		ConsecutiveFailures: streakLimit,
		Cooldown:            atomicbreaker.Cooldown{Min: cooldown, Max: cooldown, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery: atomicbreaker.Recovery{
			Probes: r.probes, Successes: r.successes, Concurrent: r.concurrent, Quiet: quiet, ProbeTimeout: timeout,
		},
		Stripes: 1,
	}
	if r.last {
		c.ConsecutiveFailures = atomicbreaker.Off
		c.WindowCalls, c.MinimumCalls, c.FailureRate = lastCalls, lastMinimum, lastRate
	}
	return c
}

// rule is the recovery rule, as in atomicbreaker.Recovery, and whether the last
// calls are judged in place of the streak.
type rule struct {
	probes, successes, concurrent int
	last                          bool
}

// lastWindow is the window of the last calls, oldest first.
type lastWindow struct {
	held   uint8
	failed [lastCalls]bool
}

// add appends an outcome and reports whether the window then meets the rule.
func (w *lastWindow) add(failed bool) bool {
	if w.held == lastCalls {
		copy(w.failed[:], w.failed[1:])
		w.held--
	}
	w.failed[w.held] = failed
	w.held++
	c := w.counts()
	return failed && c.Calls >= lastMinimum && c.FailureRate() >= lastRate
}

func (w *lastWindow) counts() (c atomicbreaker.Counts) {
	for _, failed := range w.failed[:w.held] {
		c.Calls++
		if failed {
			c.Failures++
		}
	}
	return c
}

type part uint8

const (
	notOut part = iota
	ordinary
	probe
	bystander
)

// ticket is what the model knows of an admitted call.
type ticket struct {
	part part
	gen  uint8
	cut  uint8

	others int16 // of a probe: in flight when it was sent

	// Of the settling that is under way.
	used, window int16
	does         verdict
	grow         int8
	stage        stage
}

// stage is how far the settling of a ticket has come.
type stage uint8

const (
	notSettled stage = iota
	judging
	judged
)

type verdict uint8

const (
	goOn verdict = iota
	cut
	reopen
	recovered
	tripped
)

type totals struct {
	succeeded, failed, ignored, cancelled, late, abandoned uint8
	open, halfOpen, forced, would                          uint8
}

// state is the sequential breaker. It is comparable.
type state struct {
	phase            atomicbreaker.State
	mode             atomicbreaker.Mode
	gen              uint8
	inFlight, window int16
	command          command
	streak           uint8
	recent           lastWindow

	// Evidence of a half-open generation.
	cut    uint8
	alive  bool
	tally  int8
	credit int8

	failedProbe bool  // since the generation began
	relapses    uint8 // trips and reopenings that may be relapses, with the outages before
	recovered   bool  // how the closed state began
	good, bad   int8  // of the classic rule

	// Instants, each the earliest that it can be.
	now, since, opened, heard, raised time.Duration
	before                            time.Duration // now, before the last step of the clock

	totals
	tickets [maxTickets]ticket

	// Of the calls that are under way.
	forgot uint8 // clients between two steps of SetMode
	clock  clockStage
	silence
}

// silence is a word whose probes the timer saw silent for too long.
type silence struct {
	gen              uint8
	inFlight, window int16
	seen             bool
}

// clockStage is how far an Advance has come.
type clockStage uint8

const (
	resting clockStage = iota
	beforeMove
	afterMove
)

type command uint8

const (
	commandNone command = iota
	commandTrip
	commandReset
)

func (s *state) isForced() bool {
	return s.mode == atomicbreaker.ForcedOpen || s.mode == atomicbreaker.ForcedClosed
}

// to begins a generation.
func (s *state) to(p atomicbreaker.State, at time.Duration, r rule) {
	answered := s.phase == atomicbreaker.StateHalfOpen && r.probes == 0 && (s.alive || s.cut > 0)
	if p == atomicbreaker.StateOpen && (answered || s.phase == atomicbreaker.StateClosed && s.recovered) {
		s.relapses = min(s.relapses+1, 3)
	}
	s.recovered = p == atomicbreaker.StateClosed && s.phase == atomicbreaker.StateHalfOpen
	s.failedProbe = false
	s.phase = p
	s.gen++
	s.inFlight, s.window, s.streak, s.recent = 0, 0, 0, lastWindow{}
	s.cut, s.alive, s.tally, s.credit, s.good, s.bad = 0, false, 0, 0, 0, 0
	s.since, s.heard, s.raised = at, at, at
	if p == atomicbreaker.StateHalfOpen {
		s.window = int16(max(1, r.concurrent))
	}
}

func (s *state) open(at time.Duration, r rule) {
	s.to(atomicbreaker.StateOpen, at, r)
	s.opened = at
}

// admit is the admission of Acquire. It reports which answer was given.
func (s *state) admit(id int, at time.Duration) answer {
	t := &s.tickets[id]
	*t = ticket{gen: s.gen, stage: notSettled}
	switch {
	case s.phase == atomicbreaker.StateClosed:
		t.part = ordinary
	case s.phase == atomicbreaker.StateHalfOpen && s.inFlight < s.window:
		t.part = probe
		t.cut, t.others = s.cut, s.inFlight
		if s.inFlight == 0 {
			s.heard = max(s.heard, at)
		}
		s.inFlight++
	case s.mode == atomicbreaker.Shadow:
		t.part = bystander
		s.would++
	case s.mode == atomicbreaker.ForcedOpen:
		s.forced++
		return refusedForced
	case s.phase == atomicbreaker.StateOpen:
		s.totals.open++
		return refusedOpen
	default:
		s.halfOpen++
		return refusedProbe
	}
	return admitted
}

// count is judge for any ticket.
func (s *state) count(t *ticket, failed bool, r rule) {
	switch {
	case t.part == probe:
		s.judge(t, failed, false, r)
	case t.part != bystander && t.gen != s.gen:
		s.late++
	case !failed:
		s.totals.succeeded++
	default:
		s.totals.failed++
	}
	if t.part == ordinary && t.gen == s.gen && s.met(failed, r) && s.mode != atomicbreaker.ForcedClosed {
		t.does = tripped
	}
}

// met takes an outcome of a closed call into the streak or the window and
// reports whether the rule is met.
func (s *state) met(failed bool, r rule) bool {
	switch {
	case r.last:
		return s.recent.add(failed)
	case failed:
		s.streak = min(s.streak+1, 100)
		return s.streak >= streakLimit
	}
	s.streak = 0
	return false
}

func (s *state) trip(at time.Duration, r rule) {
	switch {
	case s.isForced():
		s.command = commandTrip
	case s.phase != atomicbreaker.StateOpen:
		s.open(at, r)
	}
}

func (s *state) reset(at time.Duration, r rule) {
	if s.isForced() {
		s.command = commandReset
		return
	}
	s.to(atomicbreaker.StateClosed, at, r)
}
