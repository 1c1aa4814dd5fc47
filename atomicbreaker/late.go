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

const (
	// lateness is how late the timer may be before others do its work. On a
	// busy machine timers are a few milliseconds late; to do their work earlier
	// does no harm, but is work.
	lateness = 10 * time.Millisecond

	// lateEvery is how many refusals there are to one that reads the clock, in
	// each stripe: 40 ns in 256 refusals of 3 ns.
	lateEvery = 256
)

// late reports whether the timer should have gone off long ago.
func (b *Breaker) late(now time.Duration) bool {
	return passed(time.Duration(b.due.Load()), now) >= lateness
}

// look is for one refusal in so many.
func (b *Breaker) look(s ring.Stripe, counter int) {
	if n := b.ring.Check(s, counter); n%lateEvery == 0 {
		b.inTime()
		b.tellAll()
	}
}

// inTime does what is overdue. It returns the word after that, and the instant.
func (b *Breaker) inTime() (word, time.Duration) {
	w, now := b.load(), b.cfg().Clock.Now()
	if w.mode() != ForcedOpen && b.late(now) {
		b.work()
		w = b.load()
	}
	return w, now
}

// question is inTime for a question. Whoever asks may hold a lock that the
// listener wants. So another goroutine announces what has happened, as that of
// a timer would.
func (b *Breaker) question() (word, time.Duration) {
	w, now := b.inTime()
	switch {
	case b.notes.Load() == nil:
	case clock.Real(b.cfg().Clock):
		go b.tellAll()
	default: // such a clock's timers have no goroutine either
		b.tellAll()
	}
	return w, now
}
