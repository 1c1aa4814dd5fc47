package locked

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// snapshot tells everything and changes nothing.
func (m *machine) snapshot(now time.Duration) atomicbreaker.Snapshot {
	t := &m.totals
	s := atomicbreaker.Snapshot{
		Name:       m.rules.name,
		State:      m.state,
		Mode:       m.mode,
		Generation: m.generation,
		At:         now,
		Since:      m.since,
		Reason:     m.reason,
		RetryAfter: m.retryAfter(now),

		Rolling: m.window.sum,

		Succeeded: t.succeeded,
		Failed:    t.failed,
		Ignored:   t.ignored,
		Cancelled: t.cancelled,
		Late:      t.late,
		Local:     t.local,
		Slow:      t.slow,
		Abandoned: t.abandoned,

		RefusedOpen:     t.refused[refusedOpen],
		RefusedHalfOpen: t.refused[refusedHalfOpen],
		RefusedForced:   t.refused[refusedForced],
		WouldRefuse:     t.wouldRefuse,

		LastProbe: t.lastProbe,
		Opened:    t.opened,
		TimeOpen:  t.timeOpen,
	}
	switch m.state {
	case atomicbreaker.StateOpen:
		s.TimeOpen += now - m.since
	case atomicbreaker.StateHalfOpen:
		s.ProbesInFlight = m.probing.inFlight
		s.ProbeWindow = m.limit()
		s.Unprobed = !m.probing.asked
	}
	return s
}
