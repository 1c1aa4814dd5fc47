package locked

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// body is what both breakers put behind their lock: the machine, the timer
// that wakes it, and the delivery of its announcements. Everything is guarded
// by the lock but refusals and machine.rules, which never change.
type body struct {
	machine
	timer      clock.Timer
	armed      time.Duration // when the timer goes off; noSuchTime if it does not run
	announcing bool          // some goroutine is delivering
	panics     uint64        // of the listener
	refusals   [verdicts]error
}

// begin prepares a new body. fire is the timer's callback and must not keep
// the breaker alive.
func (b *body) begin(c atomicbreaker.Config, fire func(), retryAfter func() time.Duration) {
	b.machine.start(ruled(c))
	b.refusals = refusals(c.Name, retryAfter)
	b.armed = noSuchTime
	b.timer = b.rules.clock.AfterFunc(24*time.Hour, fire)
	b.timer.Stop()
}

// Name returns the name of the breaker's configuration.
func (b *body) Name() string { return b.rules.name }

// present reads the clock if the settling of c needs it.
func (b *body) present(c claim) time.Duration {
	if c.standing == probe || b.rules.tracksSlow {
		return b.rules.clock.Now()
	}
	return notReadYet
}

// begun stamps a claim that was admitted without a clock.
func (b *body) begun(c claim) claim {
	if b.rules.tracksSlow && c.standing != probe {
		c.start = b.rules.clock.Now()
	}
	return c
}

// atRest reports whether the lock may simply be given back: the timer is not
// late for anything and there is nothing to announce. A timer that goes off
// too early is left alone and set anew when it does.
func (b *body) atRest() bool {
	return b.armed <= b.wake && (b.wake != noSuchTime || b.armed == noSuchTime) && len(b.outbox) == 0
}

// leave gives the lock back after setting the timer, and then announces, unless
// somebody is at it already.
func (b *body) leave(lock sync.Locker) {
	switch {
	case b.wake == noSuchTime && b.armed != noSuchTime:
		b.timer.Stop()
		b.armed = noSuchTime
	case b.wake < b.armed:
		b.timer.Reset(b.wake - b.rules.clock.Now())
		b.armed = b.wake
	}
	mine := len(b.outbox) > 0 && !b.announcing
	if mine {
		b.announcing = true
	}
	lock.Unlock()
	if mine {
		b.announce(lock)
	}
}

// fired is the timer's callback.
func (b *body) fired(lock sync.Locker) {
	lock.Lock()
	b.armed = noSuchTime
	b.tick()
	b.leave(lock)
}

// announce delivers until there is nothing left, those announcements included
// that come up meanwhile.
func (b *body) announce(lock sync.Locker) {
	for {
		lock.Lock()
		if len(b.outbox) == 0 {
			b.announcing = false
			lock.Unlock()
			return
		}
		next := b.outbox[0]
		b.outbox = append(b.outbox[:0], b.outbox[1:]...)
		lock.Unlock()
		b.tell(lock, next)
	}
}

// tell calls the listener. It counts a panic and holds it back; a listener that
// ends its goroutine leaves the rest to be announced on the way out.
func (b *body) tell(lock sync.Locker, t atomicbreaker.Transition) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if recover() == nil {
			b.announce(lock)
			return
		}
		lock.Lock()
		b.panics++
		lock.Unlock()
	}()
	b.rules.onTransition(t)
	returned = true
}

// judge tells what an error says of a call that had this context.
func (b *body) judge(ctx context.Context, err error) ending {
	switch {
	case err == nil:
		return succeeded
	case ctx == nil:
		panic("locked: Done with an error and a nil context")
	case rejected(err):
		return ignored
	case errors.Is(ctx.Err(), context.Canceled): // as with Patience Off
		return local
	case ctx.Err() != nil:
		return failed
	case b.rules.classify == nil:
		return failed
	}
	o := b.rules.classify(err)
	checkOutcome(o)
	return endingOf(o)
}

// checkOutcome panics on an outcome that there is not.
func checkOutcome(o atomicbreaker.Outcome) {
	if o > atomicbreaker.Local {
		panic(fmt.Sprintf("locked: unknown outcome %d: the outcomes are 0 to %d", o, atomicbreaker.Local))
	}
}

// endingOf translates an outcome; an unknown one is a failure.
func endingOf(o atomicbreaker.Outcome) ending {
	switch o {
	case atomicbreaker.Success:
		return succeeded
	case atomicbreaker.Ignored:
		return ignored
	case atomicbreaker.Local:
		return local
	default:
		return failed
	}
}

// checkDo panics on what Do cannot work with.
func checkDo(ctx context.Context, f func(context.Context) error) {
	if ctx == nil {
		panic("locked: Do with a nil context")
	}
	if f == nil {
		panic("locked: Do with a nil function")
	}
}

// noCopy makes go vet report copies of what it is a field of.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
