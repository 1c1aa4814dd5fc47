package atomicbreaker

import (
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
)

// A timer can be lost, or hours late: a fake clock's that nobody moves, one
// whose Reset panics, one of a machine that slept. The breaker does not depend
// on it alone. One refusal in so many, every probe, and every State, Snapshot
// and RetryAfter look whether something is overdue, and do it.

// lateness is how late the timer may be before others do its work. On a
// busy machine timers are a few milliseconds late; to do its work earlier does no
// harm, but is work.
const lateness = 10 * time.Millisecond

// late reports whether the timer should have gone off long ago.
func (b *Breaker) late(now time.Duration) bool {
	return passed(time.Duration(b.due.Load()), now) >= lateness
}

// look is for one refusal in so many.
func (b *Breaker) look(s ring.Stripe, counter int) {
	b.ring.Look(s, counter)
	b.inTime()
	b.tellAll()
}

// inTime does what is overdue in a breaker that is not closed. It returns the
// word after that, and the instant.
func (b *Breaker) inTime() (word, time.Duration) {
	w, now := b.load(), b.cfg.Clock.Now()
	switch {
	case w.phase() == phaseClosed || w.forced():
		return w, now
	case w.phase() == phaseOpen && b.cfg.lease == nil:
		if end, ok := b.cooldownEnd(w); ok && passed(end, now) >= lateness {
			b.tickOpen(w, now)
		}
	}
	if b.late(now) {
		b.work()
	}
	return b.load(), now
}

// question is inTime for a question. Whoever asks may hold a lock that the
// listener wants: what has happened is announced by another goroutine, as
// by that of a timer. A clock that is not of real time has none of its own.
func (b *Breaker) question() (word, time.Duration) {
	w, now := b.inTime()
	switch {
	case b.notes.Load() == nil:
	case clock.Real(b.cfg.Clock):
		go b.tellAll()
	default:
		b.tellAll()
	}
	return w, now
}

// retryAfter returns how long a caller refused at w had better wait: see RetryAfter.
func (b *Breaker) retryAfter(w word, now time.Duration) time.Duration {
	if w.phase() != phaseOpen || w.mode() == ForcedOpen {
		return 0
	}
	end, _ := b.cooldownEnd(w)
	if l := b.cfg.lease; l != nil && now >= end {
		end = time.Duration(l.retry.Load())
	}
	return max(later(passed(now, end), spare(b.cfg.Clock)), time.Millisecond)
}

// spare is what RetryAfter adds to the time left, for the timer's sake.
func spare(c clock.Clock) time.Duration {
	if clock.Real(c) {
		return time.Millisecond
	}
	return 0
}
