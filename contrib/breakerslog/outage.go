package breakerslog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

type listener struct {
	Options
	logger *slog.Logger

	mu      sync.Mutex
	outages map[string]*outage // of the breakers that are not closed
	bursts  map[string]*burst  // of those that have been written of in the last Interval
}

func newListener(logger *slog.Logger, o Options) *listener {
	l := &listener{Options: o, logger: logger, outages: map[string]*outage{}, bursts: map[string]*burst{}}
	if l.Level == nil {
		l.Level = Level
	}
	if l.Burst == 0 {
		l.Burst = 10
	}
	if l.Interval == 0 {
		l.Interval = time.Minute
	}
	if l.Remind == 0 {
		l.Remind = 5 * time.Minute
	}
	return l
}

// An outage lasts from an opening to the next close.
type outage struct {
	began    time.Time
	beganAt  time.Duration // on the breaker's clock
	opening  atomicbreaker.Transition
	last     atomicbreaker.State
	reopened int
	probes   uint64 // judged in episodes that are over
	failed   uint64 // of these
	held     bool   // its opening was held back, and nothing in the log tells of it
	changed  bool   // since the last reminder
	remind   *time.Timer
	next     time.Duration // until the next reminder
}

// maxOutages bounds the outages remembered: a breaker that is dropped while it
// is open never closes. Those in excess close without a duration.
const maxOutages = 4096

// longestRemind is the longest time between two reminders.
const longestRemind = time.Hour

// burst is what was written of a breaker since the first record.
type burst struct {
	outages, between int // written
	heldOutages      int // back
	heldBetween      int
	lastBetween      atomicbreaker.Transition // held
	last             atomicbreaker.Transition // of all
}

func (l *listener) transition(t atomicbreaker.Transition) {
	level := l.Level(t)
	enabled := l.logger.Enabled(context.Background(), level)
	o, write := l.note(t, enabled)
	if !write {
		return
	}
	attrs := attributes(t)
	if o != nil && t.To == atomicbreaker.StateClosed {
		attrs = append(attrs, slog.Duration("outage", t.At-o.beganAt), slog.Int("reopened", o.reopened))
	}
	if t.From == atomicbreaker.StateClosed || t.To == atomicbreaker.StateClosed {
		attrs = l.withError(attrs, t.Name)
	}
	l.logger.LogAttrs(context.Background(), level, message(t), attrs...)
}

// note follows the outage of t's breaker. It returns the outage that t ends,
// and whether t is to be written.
func (l *listener) note(t atomicbreaker.Transition, enabled bool) (ended *outage, write bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.outages[t.Name]
	if o != nil {
		o.last, o.changed = t.To, true
		if t.From == atomicbreaker.StateHalfOpen {
			o.probes += t.Counts.Calls
			o.failed += t.Counts.Failures
		}
	}
	switch {
	case t.To == atomicbreaker.StateClosed:
		delete(l.outages, t.Name)
		if o != nil && o.remind != nil {
			o.remind.Stop()
		}
		if enabled {
			l.follow(t)
		}
		return o, enabled && (o == nil || !o.held)
	case t.From == atomicbreaker.StateClosed:
		write = enabled && l.room(t)
		if len(l.outages) < maxOutages || o != nil {
			l.begin(t, o, enabled && !write)
		}
		return nil, write
	case o != nil && t.To == atomicbreaker.StateOpen:
		o.reopened++
	}
	return nil, enabled && l.room(t)
}

// begin remembers an outage, in place of one whose breaker was replaced before
// it closed. The lock is held.
func (l *listener) begin(t atomicbreaker.Transition, instead *outage, held bool) {
	if instead != nil && instead.remind != nil {
		instead.remind.Stop()
	}
	o := &outage{began: time.Now(), beganAt: t.At, opening: t, last: t.To, held: held, changed: true, next: l.Remind}
	l.outages[t.Name] = o
	if l.Remind > 0 {
		o.remind = time.AfterFunc(o.next, func() { l.reminder(o) })
	}
}

// reminder tells of an outage that lasts.
func (l *listener) reminder(o *outage) {
	l.mu.Lock()
	if l.outages[o.opening.Name] != o || !o.changed {
		l.mu.Unlock()
		return
	}
	o.held, o.changed = false, false
	o.next = min(2*o.next, max(longestRemind, l.Remind))
	o.remind = time.AfterFunc(o.next, func() { l.reminder(o) })
	attrs := []slog.Attr{
		slog.String("breaker", o.opening.Name), slog.String("state", o.last.String()),
		slog.Duration("outage", time.Since(o.began)), slog.Int("reopened", o.reopened),
		slog.Uint64("probes", o.probes), slog.Uint64("failures", o.failed),
		slog.String("reason", o.opening.Reason.String()),
	}
	l.mu.Unlock()
	l.logger.LogAttrs(context.Background(), slog.LevelWarn, "circuit breaker still not closed", l.withError(attrs, o.opening.Name)...)
}

// withError adds the latest error, if the Watch knows one.
func (l *listener) withError(attrs []slog.Attr, name string) []slog.Attr {
	if l.Watch == nil {
		return attrs
	}
	if e, ok := l.Watch.LastError(name); ok {
		attrs = append(attrs, slog.String("error_kind", e.Kind.String()), slog.String("error", e.Text))
	}
	return attrs
}

// room reports whether there is room for a record of t, which closes nothing;
// if not, t is held back. The lock is held.
func (l *listener) room(t atomicbreaker.Transition) bool {
	b := l.follow(t)
	if t.From != atomicbreaker.StateClosed {
		if b.between < l.Burst {
			b.between++
			return true
		}
		b.heldBetween++
		b.lastBetween = t
		return false
	}
	if b.outages < l.Burst {
		b.outages++
		return true
	}
	b.heldOutages++
	return false
}

// follow returns the burst of t's breaker, begun now if there is none. The
// lock is held.
func (l *listener) follow(t atomicbreaker.Transition) *burst {
	b := l.bursts[t.Name]
	if b == nil {
		b = new(burst)
		l.bursts[t.Name] = b
		time.AfterFunc(l.Interval, func() { l.end(t.Name) })
	}
	b.last = t
	return b
}

// end forgets a burst and tells what it held back.
func (l *listener) end(name string) {
	l.mu.Lock()
	b := l.bursts[name]
	delete(l.bursts, name)
	if o := l.outages[name]; o != nil && b.heldOutages > 0 {
		o.held = false // the record that follows tells of it
	}
	l.mu.Unlock()
	if b.heldOutages > 0 {
		l.logger.LogAttrs(context.Background(), slog.LevelWarn, "circuit breaker flaps",
			slog.String("breaker", name), slog.Int("unwritten_outages", b.heldOutages), slog.Duration("within", l.Interval),
			slog.String("state", b.last.To.String()), slog.String("reason", b.last.Reason.String()))
	}
	if b.heldBetween > 0 {
		l.logger.LogAttrs(context.Background(), l.Level(b.lastBetween), "circuit breaker goes on probing",
			slog.String("breaker", name), slog.Int("unwritten", b.heldBetween), slog.Duration("within", l.Interval),
			slog.String("state", b.lastBetween.To.String()), slog.String("reason", b.lastBetween.Reason.String()))
	}
}
