package breakerslog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// Options change what a Listener writes. The zero value and nil mean the
// defaults.
type Options struct {
	// Level is the level of a change. It may run concurrently.
	// Default: [Level].
	Level func(atomicbreaker.Transition) slog.Level

	// Burst outages of one breaker, 1 to 1000, are written of in each Interval,
	// 1 s to 24 h, which begins with the first record. The opening and the
	// closing of such an outage are both written, whatever else is. Further
	// outages are counted, and told in one record when the Interval is over, with
	// the state by then. What happens within outages has a Burst of its own.
	// Records below the Logger's level do not count. Defaults: 10, 1 minute.
	Burst    int
	Interval time.Duration

	// Remind is after how long an outage that lasts is logged again, 1 s to
	// 24 h, or atomicbreaker.Off. Each later reminder comes after twice the time
	// of the one before, at most an hour. A breaker that has not changed since a
	// reminder gets no other: nobody asks it, or an operator holds it.
	// Default: 5 minutes.
	Remind time.Duration

	// Watch, if not nil, is asked for the latest error of a breaker, see
	// breakerwatch.Watch.Errors. Records of openings, reminders and closings then
	// have error_kind, a word of a fixed set, and error, a bounded text.
	Watch *breakerwatch.Watch
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
	if o.Remind != 0 && o.Remind != atomicbreaker.Off && (o.Remind < time.Second || o.Remind > 24*time.Hour) {
		faults = append(faults, fmt.Errorf("breakerslog: Options.Remind is %v, want 1s to 24h, or atomicbreaker.Off", o.Remind))
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
// concurrent use. It has a timer for each outage that lasts, and one for each
// breaker that was written of in the last Interval.
func Listener(logger *slog.Logger, o *Options) func(atomicbreaker.Transition) {
	if logger == nil {
		panic("breakerslog: Listener with a nil Logger")
	}
	var options Options
	if o != nil {
		if err := o.Validate(); err != nil {
			panic(err)
		}
		options = *o
	}
	return newListener(logger, options).transition
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
