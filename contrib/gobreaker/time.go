package gobreaker

import (
	"time"

	"github.com/atomicbreaker/breaker/clock"
)

// What time does to a breaker of this package, it does to the first call that
// comes after, on that call's goroutine: OnStateChange never runs on another.
// So the core's timer is none; it is the instant from which on a call
// has to do the core's work.
//
// A call need not look at the clock to know that it is not that one. Some time before
// the next instant at which something is due an alarm goes off, and only then
// does a call look. If there is still time it sets another alarm, nearer to the
// instant. So edges are exact, though alarms may be late. One that nobody comes
// after goes off once: an idle breaker has none.

const (
	// slackShare of the time that is left, but at least minSlack, is what an
	// alarm may be late without harm. On a busy machine callbacks have been
	// 16 ms late.
	slackShare = 8
	minSlack   = 20 * time.Millisecond

	// longestAlarm is for how long an alarm may outlive a breaker that nobody
	// holds any more. It costs a look at the clock each time.
	longestAlarm = 10 * time.Minute
)

// slack is how long before an instant, so much from now, calls look at the clock.
func slack(left time.Duration) time.Duration { return max(left/slackShare, minSlack) }

// coreClock is the clock that the core is given.
type coreClock struct{ b *breaker }

func (c coreClock) Now() time.Duration { return c.b.clock.Now() }

// AfterFunc is called by atomicbreaker.New, once, for a timer that it stops.
func (c coreClock) AfterFunc(_ time.Duration, work func()) clock.Timer {
	c.b.work = work
	return coreTimer(c)
}

type coreTimer struct{ b *breaker }

func (t coreTimer) Reset(d time.Duration) bool {
	return t.b.setDue(after(t.b.clock.Now(), max(d, 0)))
}

func (t coreTimer) Stop() bool { return t.b.setDue(never) }

func (b *breaker) setDue(at time.Duration) bool {
	old := b.due.Swap(int64(at))
	b.wind()
	return old != int64(never)
}

// next returns the frame, when the core is due, and the earlier of that and
// the frame's edge.
func (b *breaker) next() (f *frame, due, next time.Duration) {
	f, due = b.frame.Load(), time.Duration(b.due.Load())
	return f, due, min(f.edge, due)
}

// wind sets the alarm for what is next. Two that do so at once may leave
// the alarm as the slower one meant it, who therefore looks again.
func (b *breaker) wind() {
	for {
		_, _, next := b.next()
		b.windFor(next)
		if _, _, now := b.next(); now == next {
			return
		}
	}
}

// windFor lowers the flag before it sets the alarm: whoever lowers it last,
// the alarm will go off after that.
func (b *breaker) windFor(next time.Duration) {
	if next == never {
		b.near.Store(false)
		b.alarm.Stop()
		return
	}
	left := next - b.clock.Now()
	if left <= slack(left) {
		b.near.Store(true)
		return
	}
	b.near.Store(false)
	b.alarm.Reset(min(left-slack(left), longestAlarm))
}

// present returns the frame after what is due has been done.
func (b *breaker) present() *frame {
	if b.near.Load() {
		b.advance()
	}
	return b.frame.Load()
}

// advance does what is due at one instant. What falls due while it does so is
// left to the next call: where a window is shorter than this takes, there would
// be no end.
func (b *breaker) advance() {
	now := b.clock.Now()
	for {
		f, due, next := b.next()
		switch {
		case next == never:
			return
		case now < next:
			if left := next - now; left > slack(left) {
				b.wind()
			}
			return
		case now >= due:
			if b.due.CompareAndSwap(int64(due), int64(never)) {
				b.work() // it sets due again, and may change the state
				b.follow()
			}
		default:
			if g := b.timing.next(f, now); b.frame.CompareAndSwap(f, g) {
				f.forget(g)
				b.wind()
			}
		}
	}
}

// follow brings the frame to the core's generation. A state is a new window.
func (b *breaker) follow() {
	for {
		f, s := b.frame.Load(), b.core.Snapshot()
		if int32(s.Generation-f.generation) <= 0 {
			return
		}
		next := b.timing.begin(&window{state: s.State, generation: s.Generation, start: s.At})
		if b.frame.CompareAndSwap(f, next) {
			b.wind()
		}
	}
}

// inStep reports whether f is of the frame's state and that state the core's. A
// window of the same state may have begun since f was the frame.
func (b *breaker) inStep(f *frame) bool {
	return b.core.State() == f.state && b.frame.Load().generation == f.generation
}
