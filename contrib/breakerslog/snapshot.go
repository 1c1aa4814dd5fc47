package breakerslog

import (
	"log/slog"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Snapshot is a snapshot that log/slog writes as a group of attributes:
//
//	slog.Info("stock", "breaker", breakerslog.Snapshot(b.Snapshot()))
type Snapshot atomicbreaker.Snapshot

// LogValue is the snapshot as a group of attributes, named as in its JSON form.
// What is zero and could not be anything else in this state is left out.
func (s Snapshot) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("name", s.Name),
		slog.String("state", s.State.String()),
		slog.String("mode", s.Mode.String()),
		slog.Duration("in_state", s.At-s.Since),
		slog.String("reason", s.Reason.String()),
	}
	switch s.State {
	case atomicbreaker.StateClosed:
		attrs = append(attrs,
			slog.Uint64("rolling_calls", s.Rolling.Calls),
			slog.Float64("failure_rate", s.Rolling.FailureRate()))
		if s.Rolling.Slow > 0 {
			attrs = append(attrs, slog.Float64("slow_rate", s.Rolling.SlowRate()))
		}
	case atomicbreaker.StateOpen:
		attrs = append(attrs, slog.Duration("retry_after", s.RetryAfter))
	case atomicbreaker.StateHalfOpen:
		attrs = append(attrs, slog.Int("probes_in_flight", s.ProbesInFlight), slog.Int("probe_window", s.ProbeWindow))
	}
	attrs = append(attrs, slog.Uint64("succeeded", s.Succeeded), slog.Uint64("failed", s.Failed))
	for _, total := range []slog.Attr{
		slog.Uint64("ignored", s.Ignored), slog.Uint64("cancelled", s.Cancelled), slog.Uint64("late", s.Late),
		slog.Uint64("slow", s.Slow), slog.Uint64("abandoned", s.Abandoned),
		slog.Uint64("refused_open", s.RefusedOpen), slog.Uint64("refused_half_open", s.RefusedHalfOpen),
		slog.Uint64("refused_forced", s.RefusedForced), slog.Uint64("would_refuse", s.WouldRefuse),
		slog.Uint64("opened", s.Opened), slog.Uint64("listener_panics", s.ListenerPanics),
	} {
		if total.Value.Uint64() > 0 {
			attrs = append(attrs, total)
		}
	}
	if s.TimeOpen > 0 {
		attrs = append(attrs, slog.Duration("time_open", s.TimeOpen))
	}
	return slog.GroupValue(attrs...)
}
