package linear

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// action is one step of one call.
type action uint8

const (
	actAdmit action = iota
	actLook
	actJudge // of a closed call: count
	actTake  // of a closed call: trip
	actBack
	actAgain // a second settling
	actTrip
	actReset
	actForget
	actSet
	actTimerBefore // what was due, or set to now, before the clock moves
	actMove
	actTimer
	actTimerLast
	actReady
	actState
	actSnapshot
	actRest
)

// answer is what Acquire said.
type answer uint8

const (
	admitted answer = iota
	refusedOpen
	refusedProbe
	refusedForced
)

// input is a step's part of its call.
type input struct {
	client  int
	act     action
	ticket  int
	outcome settling
	mode    atomicbreaker.Mode
	d       time.Duration
	at      time.Duration // on the breaker's clock, when the call began
}

// settling is how a ticket is settled.
type settling uint8

const (
	succeed settling = iota
	fail
	ignore
	cancel
)

// output is what the call returned.
type output struct {
	answer answer
	yes    bool // of Ready, and of a second settling
	shown  atomicbreaker.Snapshot
}

// step returns the states that may follow s. The steps of one call come in
// their order.
func (r rule) step(s state, in input, out output) []state {
	switch in.act {
	case actAdmit:
		return r.admit(s, in, out)
	case actLook, actJudge, actTake, actBack:
		return r.settle(s, in)
	case actAgain:
		if out.yes {
			return nil
		}
	case actTrip:
		s.trip(in.at, r)
	case actReset:
		s.reset(in.at, r)
	case actForget:
		s.forgot |= 1 << in.client
		if emptied := s; s.streak > 0 || s.recent.held > 0 {
			emptied.streak, emptied.recent = 0, lastWindow{}
			return []state{s, emptied}
		}
	case actSet:
		if s.forgot&(1<<in.client) == 0 {
			return nil
		}
		s.forgot &^= 1 << in.client
		s.setMode(in.mode, in.at, r)
	case actTimerBefore, actMove, actTimer, actTimerLast:
		return r.time(s, in)
	default:
		if !s.agrees(in, out, r) {
			return nil
		}
	}
	return []state{s}
}

// time does a step of Advance: something that was due, the move, and then
// whatever falls due.
func (r rule) time(s state, in input) (after []state) {
	from, to := afterMove, afterMove
	switch in.act {
	case actTimerBefore:
		from, to = resting, beforeMove
	case actMove:
		from = beforeMove
	case actTimerLast:
		to = resting
		defer func() { // what was seen is of this Advance
			for i := range after {
				after[i].silence = silence{}
			}
		}()
	}
	if s.clock != from {
		return nil
	}
	s.clock = to
	if in.act == actMove {
		s.before = s.now
		s.now += in.d
		return []state{s}
	}
	return append(s.due(r), s)
}

// agrees compares what a question was answered.
func (s *state) agrees(in input, out output, r rule) bool {
	switch in.act {
	case actReady:
		ready := s.phase == atomicbreaker.StateClosed || s.mode == atomicbreaker.Shadow ||
			s.phase == atomicbreaker.StateHalfOpen && s.inFlight < s.window
		return ready == out.yes
	case actState:
		return s.phase == out.shown.State
	case actRest:
		return s.shows(out.shown) && s.settled() && s.totals.shows(out.shown) &&
			(s.phase != atomicbreaker.StateClosed || !r.last || s.recent.counts() == out.shown.Rolling)
	default:
		return s.shows(out.shown)
	}
}

// admit is Acquire. The cut is read before the word: a cut that comes between
// is one that the probe was sent before.
func (r rule) admit(s state, in input, out output) []state {
	if s.admit(in.ticket, in.at) != out.answer {
		return nil
	}
	if t := s.tickets[in.ticket]; t.part == probe && t.cut > 0 {
		older := s
		older.tickets[in.ticket].cut--
		return []state{s, older}
	}
	return []state{s}
}

// settle does a step of settling a ticket.
func (r rule) settle(s state, in input) []state {
	t := &s.tickets[in.ticket]
	if !t.nextStep(in, r) {
		return nil
	}
	var all []state
	if t.part == probe && t.gen == s.gen && s.mustGiveUp() && (in.act == actJudge || in.act == actBack) {
		late := s
		late.giveUp(in.at, r)
		all = r.settleOnce(late, in)
	}
	return append(all, r.settleOnce(s, in)...)
}

// nextStep reports whether in is the ticket's next step, and notes that it is
// made.
func (t *ticket) nextStep(in input, r rule) bool {
	want := judging
	switch {
	case in.act == actTake:
		want = judged
	case in.act == actLook:
		want = notSettled
	case in.act == actBack, in.outcome == fail, r.probes > 0:
		want = notSettled
	}
	if t.stage != want {
		return false
	}
	switch in.act {
	case actLook:
		t.stage = judging
	case actJudge:
		t.stage = judged
	}
	return true
}

func (r rule) settleOnce(s state, in input) []state {
	t := &s.tickets[in.ticket]
	failed := in.outcome == fail
	switch in.act {
	case actBack:
		total := &s.ignored
		if in.outcome == cancel {
			total = &s.cancelled
		}
		s.back(t, total, in.at)
	case actLook:
		if t.part == probe && t.gen == s.gen {
			t.used, t.window = s.inFlight, s.window
		}
	case actTake:
		if t.part != bystander {
			s.take(t, in.at, r)
		}
		*t = ticket{}
	case actJudge:
		if t.part == probe && !failed {
			slow := s
			slow.judge(&slow.tickets[in.ticket], false, true, r)
			s.judge(t, false, false, r)
			if slow != s {
				return []state{s, slow}
			}
			break
		}
		s.count(t, failed, r)
		if t.part == probe && r.probes == 0 {
			return s.narrowed(in.ticket)
		}
	}
	return []state{s}
}

// shows compares the fields of a snapshot that are of one instant.
func (s *state) shows(got atomicbreaker.Snapshot) bool {
	want := [...]int{int(s.phase), int(s.mode), int(s.gen), 0, 0}
	if s.phase == atomicbreaker.StateHalfOpen {
		want[3], want[4] = int(s.inFlight), int(s.window)
	}
	return want == [...]int{int(got.State), int(got.Mode), int(got.Generation), got.ProbesInFlight, got.ProbeWindow}
}

func (t *totals) shows(got atomicbreaker.Snapshot) bool {
	want := [...]uint8{
		t.succeeded, t.failed, t.ignored, t.cancelled, t.late, t.abandoned, t.open, t.halfOpen, t.forced, t.would,
	}
	have := [...]uint64{
		got.Succeeded, got.Failed, got.Ignored, got.Cancelled, got.Late, got.Abandoned,
		got.RefusedOpen, got.RefusedHalfOpen, got.RefusedForced, got.WouldRefuse,
	}
	for i := range want {
		if uint64(want[i]) != have[i] {
			return false
		}
	}
	return true
}
