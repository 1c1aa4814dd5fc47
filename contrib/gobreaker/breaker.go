package gobreaker

import (
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

const (
	defaultTimeout  = 60 * time.Second
	defaultFailures = 5 // in a row; one more trips

	// The limits of atomicbreaker's Config. A cooldown is one nanosecond longer
	// than Timeout.
	minTimeout  = time.Millisecond
	maxTimeout  = 24*time.Hour - 1
	maxRequests = 1024
	longest     = 24 * time.Hour

	// maxBuckets allows a day of seconds. A failure costs time for each.
	maxBuckets = 1 << 17

	// hungAfter is the silence, if Timeout is not longer, after which the
	// requests that a half-open breaker waits for are given up. A request has
	// no deadline here: it may well take minutes.
	hungAfter = 5 * time.Minute
)

// breaker is CircuitBreaker without its type parameter. The state, who is
// admitted and whose result still counts are the core's; Counts and what they
// are taken over are in the frame.
//
// The frame follows the core: it is of an older generation than the core's word
// only between a change of the word and the call of follow that comes after it.
type breaker struct {
	settings Settings
	timing   timing
	core     *atomicbreaker.Breaker
	clock    clock.Clock
	frame    atomic.Pointer[frame]

	work  func()       // what the core's timer would call
	due   atomic.Int64 // and from which instant on a call has to
	near  atomic.Bool  // something is or will soon be due: look at the clock
	alarm clock.Timer  // sets near
}

func (b *breaker) init(st Settings) {
	b.settings, b.timing = st, timingOf(st)
	if b.settings.ReadyToTrip == nil {
		b.settings.ReadyToTrip = func(c Counts) bool { return c.ConsecutiveFailures > defaultFailures }
	}
	b.clock = clock.System()
	held := weak.Make(b)
	b.alarm = b.clock.AfterFunc(longest, func() {
		if b := held.Value(); b != nil {
			b.near.Store(true)
		}
	})
	b.due.Store(int64(never))
	b.frame.Store(b.timing.begin(&window{start: b.clock.Now()}))
	b.core = atomicbreaker.MustNew(b.config())
}

// config is of a core with one rule: a failure of the closed state trips. It is
// told of those only that are to, see failed. Its own window is one bucket that
// is as good as never moved.
func (b *breaker) config() atomicbreaker.Config {
	probes := int(min(max(b.settings.MaxRequests, 1), maxRequests))
	return atomicbreaker.Config{
		Window: longest, Buckets: 1,
		FailureRate: atomicbreaker.Off, ConsecutiveFailures: atomicbreaker.Off,
		ReadyToTrip: func(atomicbreaker.Counts) bool { return true },
		// The original knows neither deadlines nor contexts.
		Deadline: atomicbreaker.Off, Patience: atomicbreaker.Off,
		Cooldown: atomicbreaker.Cooldown{
			Min: b.timing.timeout + 1, Max: b.timing.timeout + 1, Factor: 1, Jitter: atomicbreaker.Off,
		},
		Recovery: atomicbreaker.Recovery{
			Probes: probes, Successes: probes, Concurrent: probes,
			Quiet:        longest, // silence admits nobody else
			ProbeTimeout: max(hungAfter, b.timing.timeout),
		},
		OnTransition: b.onTransition,
		Clock:        coreClock{b},
	}
}

func (b *breaker) onTransition(t atomicbreaker.Transition) {
	b.follow()
	if b.settings.OnStateChange != nil {
		b.settings.OnStateChange(b.settings.Name, stateOf(t.From), stateOf(t.To))
	}
}

func (b *breaker) state() State {
	b.present()
	return stateOf(b.core.State())
}

func (b *breaker) counts() Counts { return b.frame.Load().counts() }

// A pass is leave to make one request, and the frame that it counts in.
type pass struct {
	ticket atomicbreaker.Ticket
	frame  *frame
}

// A oncePass is one whose holder may settle it twice.
type oncePass struct {
	pass
	used atomic.Bool
	b    *breaker
}

func (p *oncePass) done(err error) {
	if !p.used.Swap(true) {
		p.b.settle(&p.pass, err)
	}
}

// refusal is nil if the core would admit a request now. Asking is cheaper than
// claiming, and the state alone tells why not.
func (b *breaker) refusal() error {
	if b.core.Ready() {
		return nil
	}
	switch b.core.State() {
	case atomicbreaker.StateOpen:
		return ErrOpenState
	case atomicbreaker.StateHalfOpen:
		return ErrTooManyRequests
	}
	return nil // closed since
}

// admit fills in the pass or returns the refusal. A ticket is of the frame's
// state if the core shows that state after having handed it out and the frame
// is of the same state before and after; otherwise it is given back, and all is done again.
func (b *breaker) admit(p *pass) error {
	for {
		f := b.present()
		if err := b.refusal(); err != nil {
			return err
		}
		var refused error
		p.ticket, refused = b.core.Acquire()
		if refused == nil && b.inStep(f) {
			f.now.requests.Add(1)
			p.frame = f
			return nil
		}
		p.ticket.Cancel()
		b.follow()
	}
}

// settle counts what a request has returned.
func (b *breaker) settle(p *pass, err error) {
	f := b.present()
	if f.window != p.frame.window {
		p.ticket.Report(atomicbreaker.Ignored)
		return
	}
	if b.settings.IsExcluded == nil && b.settings.IsSuccessful == nil {
		outcome := atomicbreaker.Success
		if err != nil {
			outcome = atomicbreaker.Failure
		}
		b.count(p, f, outcome)
		return
	}
	outcome := atomicbreaker.Failure // also if a classifier panics
	defer func() { b.count(p, f, outcome) }()
	outcome = b.classify(err)
}

func (b *breaker) classify(err error) atomicbreaker.Outcome {
	switch {
	case b.settings.IsExcluded != nil && b.settings.IsExcluded(err):
		return atomicbreaker.Ignored
	case b.settings.IsSuccessful == nil && err == nil, b.settings.IsSuccessful != nil && b.settings.IsSuccessful(err):
		return atomicbreaker.Success
	}
	return atomicbreaker.Failure
}

// count counts an outcome in the frame of its admission, if the present one
// still holds that one's bucket, and tells the core.
func (b *breaker) count(p *pass, present *frame, outcome atomicbreaker.Outcome) {
	if f := p.frame; present.holds(f) {
		switch outcome {
		case atomicbreaker.Success:
			f.success()
		case atomicbreaker.Failure:
			f.failure()
		default:
			f.now.exclusions.Add(1)
		}
	}
	if outcome == atomicbreaker.Failure && p.frame.state == atomicbreaker.StateClosed {
		b.failed(p)
		return
	}
	b.tell(p, outcome)
}

// failed asks ReadyToTrip about a failure of the closed state. The core is told
// of a failure only if that is to trip it: judging by its own counts, which are
// of no use here, would cost more than all the rest. By now the window may have
// been cleared again.
func (b *breaker) failed(p *pass) {
	told := atomicbreaker.Success // also if ReadyToTrip panics
	defer func() { b.tell(p, told) }()
	if c := b.counts(); c.Requests > 0 && b.settings.ReadyToTrip(c) {
		told = atomicbreaker.Failure
	}
}

// tell settles the ticket, on which the core may close or open.
func (b *breaker) tell(p *pass, outcome atomicbreaker.Outcome) {
	p.ticket.Report(outcome)
	if b.core.State() != p.frame.state {
		b.follow()
	}
}
