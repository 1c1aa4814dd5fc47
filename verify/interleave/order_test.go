//go:build interleave

package interleave

import (
	"fmt"
	"slices"
	"strings"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// lastRule is how a breaker with a window of the last calls trips.
type lastRule struct {
	calls, minimum int
	failed, slow   float64                           // rates, 0 for none
	ready          func(c atomicbreaker.Counts) bool // ReadyToTrip, or nil
}

// step is one call of a history: an outcome, or a look at the window.
type step struct {
	failed, slow bool
	looks        bool
	shown        atomicbreaker.Counts
	call, end    int // steps of the schedule
}

func (s step) String() string {
	if s.looks {
		return fmt.Sprintf("look, %+v", s.shown)
	}
	return fmt.Sprintf("failed %t, slow %t", s.failed, s.slow)
}

// sequence is the sequential window: plain, slow, and right at a glance.
type sequence []step

func (q sequence) window(calls int) (c atomicbreaker.Counts) {
	for _, o := range q[max(0, len(q)-calls):] {
		c.Calls++
		if o.failed {
			c.Failures++
		}
		if o.slow {
			c.Slow++
		}
	}
	return c
}

// trips reports whether the last outcome of the sequence trips.
func (r lastRule) trips(q sequence) bool {
	o, c := q[len(q)-1], q.window(r.calls)
	switch {
	case !o.failed && !o.slow:
		return false
	case c.Calls >= uint64(r.minimum) && r.failed > 0 && o.failed && float64(c.Failures) >= r.failed*float64(c.Calls):
		return true
	case c.Calls >= uint64(r.minimum) && r.slow > 0 && float64(c.Slow) >= r.slow*float64(c.Calls):
		return true
	}
	return r.ready != nil && r.ready(c)
}

// history is what a breaker went through and what it is at rest.
type history struct {
	rule  lastRule
	first sequence // one after the other, before all others
	steps []step
	open  bool
	rest  atomicbreaker.Counts // the window, of a closed one
}

// explained reports whether some order of the steps, each between its beginning
// and its end, leads to what the breaker is at rest: open only if the order
// trips, closed only if it does not, and with that order's window. What is
// looked at must be the window at that place of the order.
func (h *history) explained() bool { return h.from(slices.Clone(h.first), 0) }

func (h *history) from(q sequence, done uint) bool {
	if done == 1<<len(h.steps)-1 {
		return !h.open && q.window(h.rule.calls) == h.rest
	}
	for i, s := range h.steps {
		if done&(1<<i) != 0 || h.waits(i, done) {
			continue
		}
		if s.looks {
			if s.shown == q.window(h.rule.calls) && h.from(q, done|1<<i) {
				return true
			}
			continue
		}
		next := append(q[:len(q):len(q)], s)
		if h.rule.trips(next) {
			if h.open {
				return true
			}
			continue
		}
		if h.from(next, done|1<<i) {
			return true
		}
	}
	return false
}

// waits reports whether another step, not done, has ended before step i began.
func (h *history) waits(i int, done uint) bool {
	for k, s := range h.steps {
		if done&(1<<k) == 0 && s.end < h.steps[i].call {
			return true
		}
	}
	return false
}

func (h *history) err() error {
	if h.explained() {
		return nil
	}
	var text strings.Builder
	for _, s := range h.first {
		fmt.Fprintf(&text, "\n  before       %v", s)
	}
	for _, s := range h.steps {
		fmt.Fprintf(&text, "\n  %4d to %4d %v", s.call, s.end, s)
	}
	rule := h.rule
	return fmt.Errorf("the last %d calls, at least %d, rates %v and %v, predicate %t: at rest open is %t and the window %+v, which no order explains:%s",
		rule.calls, rule.minimum, rule.failed, rule.slow, rule.ready != nil, h.open, h.rest, text.String())
}
