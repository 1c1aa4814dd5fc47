package atomicbreaker

import (
	"context"
	"time"
)

// A Lease lets breakers of many processes take turns at probing the dependency
// that they share; see [Config].Lease. When a cooldown is over, the breaker
// asks before it becomes half-open. No call ever waits for a Lease, and none
// is refused because of one that fails: without an answer in time the breaker
// does what it would do without a Lease.
//
// A Lease says who begins. It does not see to it that one breaker at a time
// is half-open: one that has begun goes on, whatever becomes of its lease.
//
// All methods may be called concurrently, by many breakers. A panic in Ask or
// Tell counts as an error.
type Lease interface {
	// Ask asks whether b may probe now. It may block until ctx is done, which
	// it is after [Config].LeaseTimeout; what comes later is given back. An
	// error lets b probe by itself. A Lease that keeps b should hold it weakly.
	Ask(ctx context.Context, b *Breaker) (LeaseAnswer, error)

	// Tell is told what became of a lease that was granted: once or twice,
	// Answered first. It may block until ctx is done. Two of these may overlap:
	// a higher Verdict is the later one.
	Tell(ctx context.Context, n LeaseNews) error

	// Go runs f, which calls Ask or Tell. Breakers call Go from the goroutine that
	// moves them in time, so that for a Lease that may block it is `go f()`.
	// A Lease that answers at once, as in a simulation, may run f before Go
	// returns, or later on a clock of its own.
	Go(f func())
}

// LeaseAnswer is what a [Lease] answers to the question who may probe.
type LeaseAnswer struct {
	Granted bool

	// Token is a granted lease's: higher than that of every lease granted
	// before it under the same name. It goes back with every LeaseNews.
	Token uint64

	// Wait is after how long to ask again if the lease was not granted; the
	// breaker adds its jitter. It is kept between 1 ms and Cooldown.Max; 0
	// means Cooldown.Min.
	Wait time.Duration
}

// LeaseVerdict is what became of a lease. A higher one is a later one.
type LeaseVerdict uint8

const (
	LeaseUnused    LeaseVerdict = iota // nothing was learnt: overtaken by a command, or granted too late
	LeaseAnswered                      // a probe has succeeded; the breaker goes on probing
	LeaseRecovered                     // the breaker has closed
	LeaseReopened                      // the probes failed or were silent
)

var leaseVerdictNames = [...]string{"unused", "answered", "recovered", "reopened"}

// String returns unused, answered, recovered or reopened.
func (v LeaseVerdict) String() string { return nameOf(leaseVerdictNames[:], "verdict", uint64(v)) }

// LeaseNews tells a [Lease] what became of a grant.
type LeaseNews struct {
	Breaker  *Breaker
	Token    uint64
	Verdict  LeaseVerdict
	Cooldown time.Duration // of LeaseReopened: how long the breaker now stays open, jitter left out
}

// LeaseInfo is what [Snapshot] tells of a breaker's [Lease].
type LeaseInfo struct {
	Alone   bool `json:"alone"`   // the last half-open episode began by the breaker's own leave, because the Lease gave no answer
	Held    bool `json:"held"`    // it is half-open under a lease
	Waiting bool `json:"waiting"` // it is open after its cooldown, for an answer or because it was refused

	// Every question ends in one of these, or is overtaken by a command or by
	// EndCooldown before it is answered.
	Granted uint64 `json:"granted"`
	Refused uint64 `json:"refused"`
	Failed  uint64 `json:"failed"` // errors, timeouts and panics; the news that could not be told included

	Error string `json:"error"` // the last failure; it stays when later questions are answered
}

// EndCooldown makes an open breaker half-open now, without asking its Lease:
// for whoever has reason to think that the dependency is back, such as
// another breaker's success. It reports whether this call did it; a breaker
// that is not open, or forced, is left as it is.
func (b *Breaker) EndCooldown() bool {
	b.mustBeMade()
	defer b.tellAll()
	for {
		w := b.load()
		if w.phase() != phaseOpen || w.forced() {
			return false
		}
		now := b.cfg.Clock.Now()
		if b.toHalfOpen(w, w.to(phaseHalfOpen, b.kind.firstWindow()), ReasonEndCooldownCalled, now) {
			if l := b.cfg.lease; l != nil {
				l.alone.Store(false)
			}
			return true
		}
	}
}

// Warn lowers the limit of consecutive failures to failures, at least 1, for a
// while: for whoever knows that other breakers in front of the same dependency
// have tripped. It has no effect where the rule is Off, where the limit is
// lower, or on a breaker without a Lease. A later Warn replaces an earlier one;
// one for no time ends it. A limit above 3 is late as [Config].ConsecutiveFailures is.
func (b *Breaker) Warn(failures int, lasts time.Duration) {
	b.mustBeMade()
	l := b.cfg.lease
	if l == nil {
		return
	}
	if lasts <= 0 {
		l.warnedTo.Store(0)
		return
	}
	l.warnLimit.Store(uint32(min(max(failures, 1), maxConsecutive)))
	l.warnedTo.Store(int64(b.cfg.Clock.Now() + min(lasts, maxDuration)))
}
