package breakerslog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Options change what a Listener writes. The zero value and nil mean the
// defaults.
type Options struct {
	// Level is the level of a change. It may run concurrently.
	// Default: [Level].
	Level func(atomicbreaker.Transition) slog.Level

	// Burst records of one breaker, 1 to 1000, are written in each Interval,
	// 1 s to 24 h, which begins with the first. What exceeds that is counted, and
	// told in one record when the Interval is over, with the state by then.
	// Records below the Logger's level do not count. Defaults: 10, 1 minute.
	Burst    int
	Interval time.Duration
}

// Validate returns every fault of o, joined.
func (o Options) Validate() error {
	var faults []error
	if o.Burst < 0 || o.Burst > 1000 {
		faults = append(faults, fmt.Errorf("breakerslog: Options.Burst is %d, want 1 to 1000", o.Burst))
	}
	if o.Interval != 0 && (o.Interval < time.Second || o.Interval > 24*time.Hour) {
		faults = append(faults, fmt.Errorf("breakerslog: Options.Interval is %v, want 1s to 24h", o.Interval))
	}
	return errors.Join(faults...)
}

// Level is Warn for a breaker that opens from closed, Info for one that
// closes, and Debug for what happens in between.
func Level(t atomicbreaker.Transition) slog.Level {
	switch {
	case t.From == atomicbreaker.StateClosed:
		return slog.LevelWarn
	case t.To == atomicbreaker.StateClosed:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// Listener returns a listener for Config.OnTransition. It panics if the logger
// is nil or the options are faulty; see [Options.Validate]. It is safe for
// concurrent use. While it holds records back it has one timer for each such
// breaker.
func Listener(logger *slog.Logger, o *Options) func(atomicbreaker.Transition) {
	if logger == nil {
		panic("breakerslog: Listener with a nil Logger")
	}
	l := &listener{logger: logger, outages: map[string]outageOf{}, bursts: map[string]*burst{}}
	if o != nil {
		if err := o.Validate(); err != nil {
			panic(err)
		}
		l.Options = *o
	}
	if l.Level == nil {
		l.Level = Level
	}
	if l.Burst == 0 {
		l.Burst = 10
	}
	if l.Interval == 0 {
		l.Interval = time.Minute
	}
	return l.transition
}

type listener struct {
	Options
	logger *slog.Logger

	mu      sync.Mutex
	outages map[string]outageOf // of the breakers that are not closed
	bursts  map[string]*burst   // of those that have been written of in the last Interval
}

// An outage lasts from an opening to the next close.
type outageOf struct {
	began    time.Duration
	reopened int
}

// maxOutages bounds the outages remembered: a breaker that is dropped while it
// is open never closes. Those in excess close without a duration.
const maxOutages = 4096

// burst is what was written of a breaker since the first record.
type burst struct {
	written int
	held    int                      // back
	last    atomicbreaker.Transition // held
}

func (l *listener) transition(t atomicbreaker.Transition) {
	o, known := l.note(t)
	level := l.Level(t)
	if !l.logger.Enabled(context.Background(), level) || !l.mayWrite(t) {
		return
	}
	attrs := attributes(t)
	if known && t.To == atomicbreaker.StateClosed {
		attrs = append(attrs, slog.Duration("outage", t.At-o.began), slog.Int("reopened", o.reopened))
	}
	l.logger.LogAttrs(context.Background(), level, message(t), attrs...)
}

// note keeps the outage of t's breaker and returns it as it was before.
func (l *listener) note(t atomicbreaker.Transition) (o outageOf, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, known = l.outages[t.Name]
	switch {
	case t.To == atomicbreaker.StateClosed:
		delete(l.outages, t.Name)
	case known && t.To == atomicbreaker.StateOpen:
		l.outages[t.Name] = outageOf{o.began, o.reopened + 1}
	case t.From == atomicbreaker.StateClosed && len(l.outages) < maxOutages:
		l.outages[t.Name] = outageOf{began: t.At}
	}
	return o, known
}

// mayWrite reports whether there is room for a record of t; if not, t is held
// back.
func (l *listener) mayWrite(t atomicbreaker.Transition) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bursts[t.Name]
	if b == nil {
		b = new(burst)
		l.bursts[t.Name] = b
		time.AfterFunc(l.Interval, func() { l.end(t.Name) })
	}
	if b.written < l.Burst {
		b.written++
		return true
	}
	b.held++
	b.last = t
	return false
}

// end forgets a burst and tells what it held back.
func (l *listener) end(name string) {
	l.mu.Lock()
	b := l.bursts[name]
	delete(l.bursts, name)
	l.mu.Unlock()
	if b.held == 0 {
		return
	}
	l.logger.LogAttrs(context.Background(), slog.LevelWarn, "circuit breaker flaps",
		slog.String("breaker", name), slog.Int("unwritten", b.held), slog.Duration("within", l.Interval),
		slog.String("state", b.last.To.String()), slog.String("reason", b.last.Reason.String()))
}

func message(t atomicbreaker.Transition) string {
	switch {
	case t.To == atomicbreaker.StateClosed:
		return "circuit breaker closed"
	case t.To == atomicbreaker.StateHalfOpen:
		return "circuit breaker half-open"
	case t.From == atomicbreaker.StateHalfOpen:
		return "circuit breaker reopened"
	}
	return "circuit breaker opened"
}

func attributes(t atomicbreaker.Transition) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("breaker", t.Name),
		slog.String("from", t.From.String()),
		slog.String("to", t.To.String()),
		slog.String("reason", t.Reason.String()),
		slog.Uint64("generation", uint64(t.Generation)),
	}
	if t.Counts.Calls > 0 {
		kind := "calls"
		if t.From == atomicbreaker.StateHalfOpen {
			kind = "probes"
		}
		attrs = append(attrs, slog.Uint64(kind, t.Counts.Calls), slog.Uint64("failures", t.Counts.Failures))
		if t.Counts.Slow > 0 {
			attrs = append(attrs, slog.Uint64("slow", t.Counts.Slow))
		}
	}
	return attrs
}
