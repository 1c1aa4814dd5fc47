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
	if b == nil || ctx == nil || f == nil {
		b.cannotDo()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w := b.load()
	if !b.ordinary(w) {
		return b.doTicket(ctx, f)
	}
	returned := false
	defer func() {
		if returned && err == nil {
			b.countSuccess(w.generation())
		} else {
			b.leave(ctx, w.generation(), returned, err)
		}
	}()
	err = f(ctx)
	returned = true
	return err
}

// Do is [Breaker.Do] for a call that returns a value. A call that is not made
// returns the zero T.
func Do[T any](ctx context.Context, b *Breaker, f func(ctx context.Context) (T, error)) (v T, err error) {
	if b == nil || ctx == nil || f == nil {
		b.cannotDo()
	}
	if err := ctx.Err(); err != nil {
		return v, err
	}
	w := b.load()
	if !b.ordinary(w) {
		err = b.doTicket(ctx, func(ctx context.Context) error {
			v, err = f(ctx)
			return err
		})
		return v, err
	}
	returned := false
	defer func() {
		if returned && err == nil {
			b.countSuccess(w.generation())
		} else {
			b.leave(ctx, w.generation(), returned, err)
		}
	}()
	v, err = f(ctx)
	returned = true
	return v, err
}

func (b *Breaker) cannotDo() {
	b.mustBeMade()
	panic("atomicbreaker: Do with a nil context or function")
}

// ordinary reports whether w admits a call for which the generation is all that
// there is to remember: the claim never leaves Do, so no flag guards against a
// second settling.
func (b *Breaker) ordinary(w word) bool { return w.phase() == phaseClosed && !b.timed }

// leave settles an ordinary call that is no plain success.
func (b *Breaker) leave(ctx context.Context, gen uint32, returned bool, err error) {
	if !returned {
		b.countClosed(gen, ring.Failure, false, 0)
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
