package atomicbreaker

import (
	"context"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
)

// Breaker is a circuit breaker. Make one with [New], once for each dependency,
// and share it; the zero Breaker panics when it is used. All methods are safe
// for concurrent use. There is nothing to close: a Breaker that nobody holds is
// collected, in any state.
//
// [Do] and [Breaker.Do] run a call through it; [Breaker.Acquire] is for calls
// that do not fit in a function.
type Breaker struct {
	// The fields are grouped by who writes them. The first group is read by every
	// call and written by changes of state and probes only. What a busy closed
	// breaker writes is in the stripes of the ring, and in streak, which has a line
	// of resting fields on both sides: no processor's writes disturb another's reads.

	word    atomic.Uint64
	timed   bool // every call reads the clock, to find the slow ones
	ring    ring.Ring
	last    *ring.Last              // the window, if it is counted in calls
	sampler atomic.Pointer[sampler] // nil until there is something to time
	madeAt  time.Duration           // instant on the clock, zero of the bucket numbers
	timer   clock.Timer

	refused  [refusals]RejectedError
	settings settingsNow // what it goes by

	// Read and written around changes of state and in half-open.
	opening
	probing
	streak streak // of consecutive failures
	worker
	announcer
	seen totals
}

// totals are the highest totals shown so far, so that one that is read while
// the ring folds a bucket into them, or a stay in open is being added, is not
// seen to fall.
type totals struct{ succeeded, failed, slow, timeOpen atomic.Uint64 }

// The plain counters of the ring.
const (
	countRefusedOpen = iota
	countRefusedHalfOpen
	countRefusedForced
	countWouldRefuse
	countIgnored
	countCancelled
	countLate
	countLocal // of the ignored
	counters
)

// New makes a breaker. The error, if any, joins every fault of the
// configuration; see [Config.Validate].
func New(c Config) (*Breaker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s := c.settings()
	c = s.Config
	b := &Breaker{timed: c.SlowCallDuration != Off}
	b.settings.v.Store(s)
	if c.WindowCalls > 0 {
		b.last = ring.NewLast(c.WindowCalls)
	}
	for kind := range refusals {
		b.refused[kind] = RejectedError{breaker: b, kind: kind}
	}

	// The timer exists from now on, so that setting it allocates nothing. What
	// it calls holds the breaker weakly: a running timer keeps no breaker alive.
	held := weak.Make(b)
	b.timer = c.Clock.AfterFunc(1<<63-1, func() {
		if b := held.Value(); b != nil {
			b.onTimer()
		}
	})
	b.timer.Stop()
	b.ring.Init(ring.Options{
		Buckets:  c.Buckets,
		Slow:     b.timed,
		Counters: counters,
		Stripes:  c.Stripes,
		OnCrowd:  b.kick,
	})
	now := int64(c.Clock.Now())
	b.madeAt = time.Duration(now)
	for _, instant := range []*atomic.Int64{ // no instant of this clock is before now
		&b.trippedAt, &b.coolFrom, &b.heard, &b.firstAt, &b.turned, &b.streak.at,
	} {
		instant.Store(now)
	}
	b.due.Store(int64(never))
	b.next = 1
	p := phaseClosed
	if c.Mode == ForcedOpen {
		p = phaseOpen
		b.cool.v.Store(tag(0, uint64(c.Cooldown.Min)))
	}
	w := pack(p, c.Mode, 0, 0, 0)
	b.records.start(w, time.Duration(now))
	b.word.Store(uint64(w))
	return b, nil
}

// MustNew is New for configurations known to be valid. It panics otherwise.
func MustNew(c Config) *Breaker {
	b, err := New(c)
	if err != nil {
		panic(err)
	}
	return b
}

func (b *Breaker) load() word { return word(b.word.Load()) }

func (b *Breaker) swap(old, new word) bool {
	return b.word.CompareAndSwap(uint64(old), uint64(new))
}

// cfg returns the settings that hold now. Who makes one decision by several of
// them asks once.
func (b *Breaker) cfg() *settings { return b.settings.v.Load() }

// Name returns the name from the configuration.
func (b *Breaker) Name() string {
	b.mustBeMade()
	return b.cfg().Name
}

// State returns the state. It is the truth at the moment of the call without
// any call passing through the breaker: time moves the breaker by timers, and
// State does so itself where a timer is late. It reads the clock only while the
// breaker is open or half-open.
func (b *Breaker) State() State {
	if b == nil || b.word.Load()&uint64(phaseMask) != uint64(phaseClosed) {
		return b.stateInTime()
	}
	return StateClosed
}

func (b *Breaker) stateInTime() State {
	b.mustBeMade()
	w, _ := b.question()
	return w.state()
}

// Ready reports whether Acquire would admit a call now. It is a pure question:
// it takes no probe's place, counts nothing and changes nothing. For choosing
// among backends; then Acquire.
func (b *Breaker) Ready() bool {
	// Just small enough for the compiler to inline.
	if b != nil {
		if w := b.load(); w.phase() == phaseClosed {
			return true
		} else if w != 0 {
			return w.readyUnlessClosed()
		}
	}
	panic(unmade)
}

// Acquire claims leave to make a call. It never blocks and never allocates.
// With a nil error the caller makes the call and settles the ticket, exactly
// once, by Done, Report, ReportAfter or Cancel. Otherwise the
// error is a [*RejectedError] and the ticket is of no use: settling it returns
// false.
//
// A ticket that is never settled is harmless in a closed breaker; in half-open
// it keeps a probe's place until the breaker has been silent for a while, see
// [Recovery].
func (b *Breaker) Acquire() (Ticket, error) {
	if b != nil {
		w := b.load()
		switch {
		case w&quickMask == phaseClosed && !b.timed:
			return Ticket{breaker: b, claim: claimOf(w)}, nil
		case w&(phaseMask|modeMask) == phaseOpen: // and Auto
			if s := b.ring.Pick(); !s.Bump(countRefusedOpen) {
				b.look(s, countRefusedOpen)
			}
			return Ticket{}, &b.refused[refusedOpen]
		}
	}
	return b.acquireSlow(noContext)
}

// noContext is of a call that has none.
var noContext context.Context

// AcquireContext is Acquire for a call that is made under ctx, the context to be
// given to [Ticket.Done]. The breaker looks at two things of it. How long the caller waits, its
// deadline, tells the breaker which answers come too late, see Config.Deadline. And if ctx
// can end, the breaker reads the clock, so that Done knows for how long the
// dependency was given, see Config.Patience. That is about 40 ns; it is what a
// call over a network wants. ctx may be nil. AcquireContext does not look whether ctx
// is done already.
func (b *Breaker) AcquireContext(ctx context.Context) (Ticket, error) {
	if b != nil {
		switch w := b.load(); {
		case w&quickMask == phaseClosed && !b.timed && (ctx == nil || ctx.Done() == nil):
			return Ticket{breaker: b, claim: claimOf(w)}, nil
		case w&(phaseMask|modeMask) == phaseOpen:
			return b.Acquire()
		}
	}
	return b.acquireSlow(ctx)
}

func (b *Breaker) acquireSlow(ctx context.Context) (Ticket, error) {
	b.mustBeMade()
	w := b.load()
	switch {
	case w.phase() == phaseClosed:
		return b.acquireClosed(w, ctx)
	case w.phase() == phaseHalfOpen && w.inFlight() >= w.window():
		return b.refuseProbe(w)
	case w.phase() == phaseHalfOpen:
		return b.acquireProbe(w, ctx)
	case w.mode() == Shadow:
		return b.passThrough(), nil
	case w.mode() == ForcedOpen:
		b.ring.Count(countRefusedForced)
		return Ticket{}, &b.refused[refusedForced]
	default:
		b.ring.Count(countRefusedOpen)
		return Ticket{}, &b.refused[refusedOpen]
	}
}

// passThrough admits a call that Auto would have refused.
func (b *Breaker) passThrough() Ticket {
	if s := b.ring.Pick(); !s.Bump(countWouldRefuse) {
		b.look(s, countWouldRefuse)
	}
	return b.ticket(claimShadow)
}

// ticket notes the time if slow calls are to be found.
func (b *Breaker) ticket(c claim) Ticket {
	if !b.timed {
		return Ticket{breaker: b, claim: c}
	}
	return Ticket{breaker: b, claim: c | claimTimed, start: b.cfg().Clock.Now()}
}

const unmade = "atomicbreaker: use of a nil or zero Breaker; make one with New"

func (b *Breaker) mustBeMade() {
	if b == nil || b.load() == 0 {
		panic(unmade)
	}
}
