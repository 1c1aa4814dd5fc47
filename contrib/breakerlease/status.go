package breakerlease

import (
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Status is what a breaker's Lease has done for it.
type Status struct {
	Alone   bool          `json:"alone"`            // the last half-open episode began without a lease, because the Lease gave no answer or kept the breaker for too long
	Held    bool          `json:"held"`             // it is half-open under a lease
	Waiting time.Duration `json:"waiting_ns"`       // for how long it has been waiting after its cooldown, for an answer or because it was refused; 0: it is not
	Holder  string        `json:"holder,omitempty"` // while it waits: who has the lease, as the Lease says

	Members int `json:"members,omitempty"` // processes that take part, as far as this one knows; 0: unknown

	// Every question ends in one of these, or is overtaken by a command or by
	// EndCooldown before it is answered.
	Granted uint64 `json:"granted"`
	Refused uint64 `json:"refused"`
	Failed  uint64 `json:"failed"` // errors, timeouts and panics, also of news that could not be sent

	Error string `json:"error"` // the last failure; it stays when later questions are answered
}

// StatusOf returns the status of a breaker that takes part in a Lease, at the
// moment of a snapshot of it, and whether it does. One that comes from [Join]
// takes part from its first question on.
func StatusOf(b *atomicbreaker.Breaker, at atomicbreaker.Snapshot) (Status, bool) {
	v, ok := seats.Load(weak.Make(b))
	if !ok {
		return Status{}, false
	}
	return v.(*seat).status(at), true
}

func (s *seat) status(at atomicbreaker.Snapshot) Status {
	halfOpen := at.State == atomicbreaker.StateHalfOpen
	status := Status{Alone: s.alone.Load(), Granted: s.granted.Load(), Refused: s.refused.Load(), Failed: s.failed.Load()}
	if halfOpen {
		g := s.held.Load()
		status.Held = g != nil && g.gen == at.Generation
		status.Alone = s.lone.Load() == markOf(at.Generation)
	}
	if q := s.asked.Load(); q != nil && at.State == atomicbreaker.StateOpen && q.gen == at.Generation &&
		at.Mode != atomicbreaker.ForcedOpen {
		status.Waiting = max(at.At-q.since, 1)
		if h := s.holder.Load(); h != nil {
			status.Holder = *h
		}
	}
	if l, ok := s.lease.(interface{ Members() int }); ok {
		status.Members = l.Members()
	}
	if text := s.lastError.Load(); text != nil {
		status.Error = *text
	}
	return status
}
