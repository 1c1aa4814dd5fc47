package atomicbreaker

import (
	"context"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
)

// Do calls f if the breaker admits it, and settles the outcome: by f's error
// as [Ticket.DoneContext] does, and as a Failure if f panics or ends its
// goroutine; the panic goes on. A refusal is returned as a [*RejectedError],
// and a context that is done already as its error; f is then not called.
//
// f gets ctx itself. A probe gets one derived from it that ends at the probe's
// deadline, Recovery.ProbeTimeout from now, so that a call to a dependency
// that hangs comes back.
func (b *Breaker) Do(ctx context.Context, f func(ctx context.Context) error) (err error) {
	gen, ordinary, err := b.enter(ctx, f == nil)
	if err != nil {
		return err
	}
	if !ordinary {
		return b.doTicket(ctx, f)
	}
	returned := false
	defer func() {
		if !returned {
			b.countClosed(gen, ring.Failure, false, 0)
		}
	}()
	err = f(ctx)
	returned = true
	b.leave(ctx, gen, err)
	return err
}

// Do is [Breaker.Do] for a call that returns a value. A call that is not made
// returns the zero T.
func Do[T any](ctx context.Context, b *Breaker, f func(ctx context.Context) (T, error)) (v T, err error) {
	gen, ordinary, err := b.enter(ctx, f == nil)
	if err != nil {
		return v, err
	}
	if !ordinary {
		err = b.doTicket(ctx, func(ctx context.Context) error {
			v, err = f(ctx)
			return err
		})
		return v, err
	}
	returned := false
	defer func() {
		if !returned {
			b.countClosed(gen, ring.Failure, false, 0)
		}
	}()
	v, err = f(ctx)
	returned = true
	b.leave(ctx, gen, err)
	return v, err
}

// enter admits an ordinary call of a closed breaker, for which a generation is
// all that there is to remember: the claim never leaves Do, so no flag guards
// against a second settling.
func (b *Breaker) enter(ctx context.Context, noFunc bool) (gen uint32, ordinary bool, err error) {
	if b == nil || ctx == nil || noFunc {
		b.mustBeMade()
		panic("atomicbreaker: Do with a nil context or function")
	}
	w := b.load()
	return w.generation(), w.phase() == phaseClosed && !b.timed, ctx.Err()
}

// leave settles an ordinary call.
func (b *Breaker) leave(ctx context.Context, gen uint32, err error) {
	if err == nil {
		b.countSuccess(gen)
		return
	}
	t := Ticket{breaker: b, claim: claim(gen) << generationShift}
	t.settleError(ctx, err)
}

// doTicket is Do for a probe, a timed call, a call that Shadow lets through, or a refusal.
func (b *Breaker) doTicket(ctx context.Context, f func(ctx context.Context) error) error {
	t, err := b.Acquire()
	if err != nil {
		return err
	}
	inner := ctx
	if t.claim.has(claimProbe) {
		var cancel func()
		inner, cancel = b.probeContext(ctx)
		defer cancel()
		defer traceProbe(inner)()
	}
	returned := false
	defer func() {
		if !returned {
			t.settle(Failure, 0)
		}
	}()
	err = f(inner)
	returned = true
	if err == nil {
		t.settle(Success, 0)
	} else {
		t.settleError(ctx, err)
	}
	return err
}

// probeContext derives a context that ends at a probe's deadline. On a clock
// that is not real time it cannot tell its deadline in advance: it is
// cancelled then, with context.DeadlineExceeded as its cause.
func (b *Breaker) probeContext(ctx context.Context) (context.Context, func()) {
	timeout := b.cfg.Recovery.ProbeTimeout
	if clock.Real(b.cfg.Clock) {
		return context.WithTimeout(ctx, timeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := b.cfg.Clock.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}
