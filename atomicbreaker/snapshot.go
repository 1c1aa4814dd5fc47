package atomicbreaker

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// Snapshot is everything an operator asks of a breaker, read without
// disturbing it. The totals only ever rise.
type Snapshot struct {
	Name       string        `json:"name"`
	State      State         `json:"state"`
	Mode       Mode          `json:"mode"`
	Generation uint32        `json:"generation"` // grows by one with every change of state and every Reset
	At         time.Duration `json:"at_ns"`      // the instant of this snapshot on the breaker's clock
	Since      time.Duration `json:"since_ns"`   // the instant of the last change of state
	Reason     Reason        `json:"reason"`     // why it changed
	RetryAfter time.Duration `json:"retry_after_ns"`

	Rolling Counts `json:"rolling"` // the rolling window of a closed breaker; empty otherwise

	// Every ticket ends in exactly one of these five.
	Succeeded uint64 `json:"succeeded"`
	Failed    uint64 `json:"failed"`
	Ignored   uint64 `json:"ignored"`
	Cancelled uint64 `json:"cancelled"`
	Late      uint64 `json:"late"` // settled after their generation was over

	Slow      uint64 `json:"slow"`      // of the succeeded and failed
	Abandoned uint64 `json:"abandoned"` // probes given up; each is late if it ever settles

	RefusedOpen     uint64 `json:"refused_open"`
	RefusedHalfOpen uint64 `json:"refused_half_open"`
	RefusedForced   uint64 `json:"refused_forced"`
	WouldRefuse     uint64 `json:"would_refuse"` // let through by Shadow

	ProbesInFlight int       `json:"probes_in_flight"` // in half-open, otherwise 0
	ProbeWindow    int       `json:"probe_window"`     // how many may be, in half-open, otherwise 0
	Unprobed       bool      `json:"unprobed"`         // half-open, and no call has come that could be a probe
	LastProbe      LastProbe `json:"last_probe"`

	Opened         uint64        `json:"opened"`       // how often the breaker has opened
	TimeOpen       time.Duration `json:"time_open_ns"` // how long it has been open in all, this time included
	ListenerPanics uint64        `json:"listener_panics"`

	Lease LeaseInfo `json:"lease,omitzero"` // zero for a breaker without one
}

// LastProbe is the probe that was settled last, late ones left out.
type LastProbe struct {
	Settled bool          `json:"settled"` // false: there has been none
	Outcome Outcome       `json:"outcome"`
	Latency time.Duration `json:"latency_ns"`
}

// Refused returns the number of refusals of every kind.
func (s Snapshot) Refused() uint64 { return s.RefusedOpen + s.RefusedHalfOpen + s.RefusedForced }

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
	case StateClosed:
		attrs = append(attrs,
			slog.Uint64("rolling_calls", s.Rolling.Calls),
			slog.Float64("failure_rate", s.Rolling.FailureRate()))
		if s.Rolling.Slow > 0 {
			attrs = append(attrs, slog.Float64("slow_rate", s.Rolling.SlowRate()))
		}
	case StateOpen:
		attrs = append(attrs, slog.Duration("retry_after", s.RetryAfter))
	case StateHalfOpen:
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
	if l := s.Lease; l != (LeaseInfo{}) {
		attrs = append(attrs, slog.Bool("lease_held", l.Held), slog.Bool("lease_alone", l.Alone))
		if l.Failed > 0 {
			attrs = append(attrs, slog.Uint64("lease_failed", l.Failed), slog.String("lease_error", l.Error))
		}
	}
	if s.TimeOpen > 0 {
		attrs = append(attrs, slog.Duration("time_open", s.TimeOpen))
	}
	return slog.GroupValue(attrs...)
}

// Snapshot reads everything. It changes nothing that a call goes by. State,
// mode, generation and probes are of one instant; counts are read one after
// the other while calls go on.
func (b *Breaker) Snapshot() Snapshot {
	b.mustBeMade()
	var s Snapshot
	var w word
	for range 8 { // until no change comes between; what is tagged is right even then
		w = b.load()
		now := b.cfg.Clock.Now()
		s = Snapshot{
			Name: b.cfg.Name, State: w.state(), Mode: w.mode(), Generation: w.generation(),
			At: now, Since: time.Duration(b.since.Load()), Reason: Reason(b.reason.Load()),
			RetryAfter: b.retryAfter(w, now),
			TimeOpen:   time.Duration(b.timeOpen.Load()),
			Opened:     b.opened.Load(),
		}
		if w.phase() == phaseOpen {
			s.TimeOpen += max(now-time.Duration(b.openedAt.Load()), 0)
		}
		if w.phase() == phaseClosed {
			s.Rolling = b.rolling(w, now)
		}
		if b.load().generation() == w.generation() {
			break
		}
	}
	if l := b.cfg.lease; l != nil {
		s.Lease = b.leaseInfo(l, w, s.At)
	}
	if w.phase() == phaseHalfOpen {
		s.ProbesInFlight, s.ProbeWindow = w.inFlight(), w.window()
		s.Unprobed = b.asked.Load() != markOf(w.generation())
	}
	if p := b.lastProbe.Load(); p != 0 {
		s.LastProbe = LastProbe{Settled: true, Outcome: Outcome(p&3 - 1), Latency: time.Duration(p >> 2)}
	}
	s.TimeOpen = time.Duration(highest(&b.seen.timeOpen, uint64(s.TimeOpen)))
	b.fillTotals(&s)
	return s
}

func (b *Breaker) fillTotals(s *Snapshot) {
	c := b.ring.Totals()
	s.Succeeded = highest(&b.seen.succeeded, c[ring.Success])
	s.Failed = highest(&b.seen.failed, c[ring.Failure])
	s.Slow = highest(&b.seen.slow, c[ring.Slow])
	s.Ignored = b.ring.Counter(countIgnored)
	s.Cancelled = b.ring.Counter(countCancelled)
	s.Late = b.ring.Counter(countLate)
	s.Abandoned = b.abandoned.Load()
	s.RefusedOpen = b.ring.Counter(countRefusedOpen)
	s.RefusedHalfOpen = b.ring.Counter(countRefusedHalfOpen)
	s.RefusedForced = b.ring.Counter(countRefusedForced)
	s.WouldRefuse = b.ring.Counter(countWouldRefuse)
	s.ListenerPanics = b.panics.Load()
}

// highest returns the larger of a total and the highest shown so far.
func highest(shown *atomic.Uint64, total uint64) uint64 {
	for {
		old := shown.Load()
		if total <= old {
			return old
		}
		if shown.CompareAndSwap(old, total) {
			return total
		}
	}
}

// rolling returns the rolling window of a closed word.
func (b *Breaker) rolling(w word, now time.Duration) Counts {
	if b.last != nil {
		if h := b.last.Head(); b.last.Live(h, w.generation()) {
			return countsOf(b.last.Sum(h))
		}
		return Counts{}
	}
	now = max(now, time.Duration(b.turned.Load()))
	return countsOf(b.ring.SumAt(w.generation(), b.bucketNumber(now)))
}

// shown is what a transition out of w tells: the window, or the probes.
func (b *Breaker) shown(w word) Counts {
	switch w.phase() {
	case phaseClosed:
		return b.rolling(w, b.cfg.Clock.Now())
	case phaseHalfOpen:
		return b.episode(w.generation())
	}
	return Counts{}
}

// RetryAfter returns how long the breaker will go on refusing every call: what
// is left of the cooldown, or after it until its Lease is asked again, at
// least 1 ms, while it is open. It is 0 otherwise, and while it is forced open,
// because nobody knows.
func (b *Breaker) RetryAfter() time.Duration {
	b.mustBeMade()
	w := b.load()
	if w.phase() != phaseOpen {
		return 0
	}
	return b.retryAfter(w, b.cfg.Clock.Now())
}

func (b *Breaker) retryAfter(w word, now time.Duration) time.Duration {
	if w.phase() != phaseOpen || w.mode() == ForcedOpen {
		return 0
	}
	end, _ := b.cooldownEnd(w)
	if l := b.cfg.lease; l != nil && now >= end {
		end = time.Duration(l.retry.Load())
	}
	return max(end-now, time.Millisecond)
}
