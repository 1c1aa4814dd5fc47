package linear

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// judge takes a probe's outcome into the evidence.
func (s *state) judge(t *ticket, failed, slow bool, r rule) {
	if t.gen != s.gen {
		s.late++
		return
	}
	if failed {
		s.totals.failed++
	} else {
		s.totals.succeeded++
	}
	t.does, t.grow = goOn, 0
	switch {
	case r.probes > 0:
		s.judgeTrial(t, failed, r)
	case t.cut != s.cut:
	case failed:
		s.failedProbe = true
		if !s.alive && s.cut == 0 {
			t.does = reopen
			return
		}
		s.tally += 8 // and see narrowed
	default:
		s.alive = true
		s.tally = max(0, s.tally-8)
		if 3*t.used < t.window {
			return
		}
		switch {
		case slow:
			s.credit++
		case s.cut == 0:
			t.grow = 2
		default:
			s.credit += 8
		}
		t.grow += s.credit / 64
		s.credit %= 64
	}
}

// narrowed returns what may come of a failure that has been taken into the tally.
// How many net failures cut depends on how often the outage has relapsed; whether the
// cut reopens instead, on what there was since the last one, and on the window at a moment that
// the model does not know.
func (s state) narrowed(id int) []state {
	t := &s.tickets[id]
	if t.does != goOn || t.cut != s.cut || t.gen != s.gen {
		return []state{s}
	}
	var all []state
	if s.tally < cutsAt {
		all = append(all, s)
	}
	if s.tally < tolerances[min(int(s.relapses), len(tolerances)-1)] {
		return all
	}
	reopens := s
	reopens.tally, reopens.credit = 0, 0
	reopens.tickets[id].does = reopen
	if !s.alive || t.others == 0 || s.window == 1 || s.cut > 0 {
		all = append(all, reopens)
	}
	if s.alive && t.others > 0 {
		cuts := reopens
		cuts.alive = false
		cuts.cut++
		cuts.tickets[id].does = cut
		all = append(all, cuts)
	}
	return all
}

func (s *state) judgeTrial(t *ticket, failed bool, r rule) {
	if failed {
		s.bad++
	} else {
		s.good++
	}
	switch {
	case int(s.good) >= r.successes:
		t.does = recovered
	case int(s.bad) > r.probes-r.successes:
		t.does = reopen
	case int(s.good+s.bad) > r.probes-r.concurrent:
		t.grow = -1
	}
}

// take does to the word what the verdict says.
func (s *state) take(t *ticket, at time.Duration, r rule) {
	does := t.does
	t.does = goOn
	if t.gen != s.gen {
		return
	}
	s.heard = max(s.heard, at)
	switch does {
	case tripped:
		if s.phase == atomicbreaker.StateClosed && !s.isForced() {
			s.open(at, r)
		}
		return
	case reopen:
		s.open(at, r)
		return
	case recovered:
		s.to(atomicbreaker.StateClosed, at, r)
		return
	}
	window := s.window + int16(t.grow)
	if does == cut {
		window = min(s.window, t.others) * 5 / 8
	}
	if window > maxWindow {
		s.to(atomicbreaker.StateClosed, at, r)
		return
	}
	s.inFlight--
	s.window = max(1, window)
}

// back settles a ticket that says nothing.
func (s *state) back(t *ticket, total *uint8, at time.Duration) {
	switch {
	case t.part == bystander, t.gen == s.gen:
		*total++
		if t.part == probe { // its place
			s.inFlight--
			s.heard = max(s.heard, at)
		}
	default:
		s.late++
	}
	*t = ticket{}
}

func (s *state) mustGiveUp() bool { return s.inFlight > 0 && s.now >= s.heard+timeout }

func (s *state) giveUp(at time.Duration, r rule) {
	s.abandoned += uint8(s.inFlight)
	s.open(at, r)
}
