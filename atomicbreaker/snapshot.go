package atomicbreaker

import (
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/clock"
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

	Local     uint64 `json:"local"`     // of the ignored, those that this process or the caller caused
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

	Latency Latency `json:"latency"` // what calls take, as far as it is known

	Opened         uint64        `json:"opened"`       // how often the breaker has opened
	TimeOpen       time.Duration `json:"time_open_ns"` // how long it has been open in all, this time included
	ListenerPanics uint64        `json:"listener_panics"`
}

// Latency is what a breaker knows of how long calls take. It times a few of the calls of
// a closed breaker, at most 40 a second, or 400 where callers wait for less than a second.
type Latency struct {
	Usual    time.Duration `json:"usual_ns"`    // the median of the successes; 0: not known yet
	High     time.Duration `json:"high_ns"`     // what 95 of 100 of them do not exceed; 0: not known yet
	Deadline time.Duration `json:"deadline_ns"` // how long callers wait, as seen last; 0: not known
}

// LastProbe is the probe that was settled last, late ones left out.
type LastProbe struct {
	Settled bool          `json:"settled"` // false: there has been none
	Outcome Outcome       `json:"outcome"`
	Latency time.Duration `json:"latency_ns"`
}

// Refused returns the number of refusals of every kind.
func (s Snapshot) Refused() uint64 { return s.RefusedOpen + s.RefusedHalfOpen + s.RefusedForced }

// snapshotTries is how often Snapshot begins anew because the state changes
// while it reads. What it shows at last is of one state even if it changes each
// time, but for RetryAfter and Rolling, which may be of a later one.
const snapshotTries = 1000

// Snapshot reads everything. It changes nothing that a call goes by. State,
// mode, generation, since, reason, openings and probes belong together; counts
// are read one after the other while calls go on.
func (b *Breaker) Snapshot() Snapshot {
	b.mustBeMade()
	if w := b.load(); w.phase() != phaseClosed && !w.forced() {
		b.question()
	}
	var s Snapshot
	var w word
	for range snapshotTries {
		w = b.load()
		now := b.cfg().Clock.Now()
		x, ok := b.records.of(w)
		if !ok {
			continue
		}
		s = Snapshot{
			Name: b.cfg().Name, State: w.state(), Mode: w.mode(), Generation: w.generation(),
			At: now, Since: x.since, Reason: x.reason,
			RetryAfter: b.retryAfter(w, now),
			TimeOpen:   x.timeOpen,
			Opened:     x.opened,
		}
		if w.phase() == phaseOpen {
			s.TimeOpen = later(s.TimeOpen, passed(x.since, now))
		}
		if w.phase() == phaseClosed {
			s.Rolling = b.rolling(w, now)
		}
		if w.phase() == phaseHalfOpen {
			s.ProbesInFlight, s.ProbeWindow = w.inFlight(), w.window()
			s.Unprobed = b.asked.Load() != markOf(w.generation())
		}
		if b.load().generation() == w.generation() {
			break
		}
	}
	if p := b.lastProbe.Load(); p != 0 {
		s.LastProbe = LastProbe{Settled: true, Outcome: Outcome(p&3 - 1), Latency: time.Duration(p >> 2)}
	}
	s.TimeOpen = time.Duration(highest(&b.seen.timeOpen, uint64(s.TimeOpen)))
	if x := b.sampler.Load(); x != nil {
		s.Latency = Latency{x.usualLatency(), x.highLatency(), time.Duration(x.deadline.Load())}
	}
	b.fillTotals(&s)
	return s
}

func (b *Breaker) fillTotals(s *Snapshot) {
	c := b.ring.Totals()
	s.Succeeded = highest(&b.seen.succeeded, c[ring.Success])
	s.Failed = highest(&b.seen.failed, c[ring.Failure])
	s.Slow = highest(&b.seen.slow, c[ring.Slow])
	s.Ignored = b.ring.Counter(countIgnored)
	s.Local = b.ring.Counter(countLocal)
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

// RetryAfter returns how long a caller who was refused had better wait.
//
// While the breaker is open that is the rest of the cooldown, or after it the
// time until BeforeProbe is asked again; on a clock of real time a millisecond
// more, because timers come late. While it is half-open and its probe window is
// full it is a hint: as long as the last probe took, at most Recovery.Quiet.
// Both are at least 1 ms. It is 0 where Acquire would admit a call, and while
// the breaker is forced open, because nobody knows.
func (b *Breaker) RetryAfter() time.Duration {
	b.mustBeMade()
	if w := b.load(); w.phase() == phaseClosed || w.forced() {
		return 0
	}
	return b.retryAfter(b.question())
}

func (b *Breaker) retryAfter(w word, now time.Duration) time.Duration {
	switch {
	case w.forced():
		return 0
	case w.phase() == phaseOpen:
		return max(b.openFor(w, now), time.Millisecond)
	case w.phase() == phaseHalfOpen && w.mode() != Shadow && w.inFlight() >= w.window():
		return max(b.lastProbeTook(), time.Millisecond)
	}
	return 0
}

// openFor is the time until the timer ends the cooldown of w.
func (b *Breaker) openFor(w word, now time.Duration) time.Duration {
	end, _ := b.cooldownEnd(w)
	if h := b.cfg().hold; h != nil && now >= end {
		end = max(end, time.Duration(h.until.Load()))
	}
	if left := passed(now, end); clock.Real(b.cfg().Clock) {
		return later(left, time.Millisecond)
	} else {
		return left
	}
}

// lastProbeTook is the latency of the last probe, Quiet if there was none or it took longer.
func (b *Breaker) lastProbeTook() time.Duration {
	quiet := b.cfg().Recovery.Quiet
	if p := b.lastProbe.Load(); p != 0 {
		return min(time.Duration(p>>2), quiet)
	}
	return quiet
}
