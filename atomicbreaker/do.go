package atomicbreaker

import (
	"context"

	"github.com/atomicbreaker/breaker/ring"
)

// Do calls f if the breaker admits it, and settles the outcome: by f's error
// as [Ticket.Done] does, and as a Failure if f panics or ends its goroutine;
// the panic goes on. A refusal is returned as a [*RejectedError], and a
// context that is done already as its error; f is then not called.
//
// f gets ctx itself in every state, a probe too: the breaker adds no deadline
// and cancels nothing, so what f returns stays usable. A probe that hangs
// keeps its place until it is given up, see [Recovery].
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

// DoWith is [Do] for a call whose result may be a failure without an error,
// such as an HTTP status: judge decides, in place of Config.Classify, what the
// value and the error that f returned say about health. It is asked for every
// call that returned, but not where the error says nothing about the
// dependency or where Config.Patience decides, as in [Ticket.Done]: an error after
// ctx has ended, and another breaker's refusal.
//
// If f or judge panics or ends its goroutine, the call is a Failure and the
// panic goes on. An answer of judge that is not an [Outcome] is a Failure too,
// and DoWith panics. judge may run concurrently. DoWith returns what f
// returned, whatever judge makes of it.
func DoWith[T any](ctx context.Context, b *Breaker, judge func(T, error) Outcome, f func(ctx context.Context) (T, error)) (v T, err error) {
	if b == nil || ctx == nil || judge == nil || f == nil {
		b.cannotDo()
	}
	if err := ctx.Err(); err != nil {
		return v, err
	}
	t, err := b.AcquireContext(ctx)
	if err != nil {
		return v, err
	}
	outcome := Failure
	defer func() { t.settle(outcome, 0) }()
	v, err = f(ctx)
	if err != nil {
		if o, ok := t.withoutAsking(ctx, err); ok {
			outcome = o
			return v, err
		}
	}
	outcome = judge(v, err)
	return v, err
}

func (b *Breaker) cannotDo() {
	b.mustBeMade()
	panic("atomicbreaker: Do with a nil context or function")
}

// ordinary reports whether w admits a call for which the generation is all that
// there is to remember: the claim never leaves Do, so no flag guards against a
// second settling.
func (b *Breaker) ordinary(w word) bool { return w&quickMask == phaseClosed && !b.timed }

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
	t, err := b.AcquireContext(ctx)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			t.settle(Failure, 0)
		}
	}()
	err = f(ctx)
	returned = true
	if err == nil {
		t.settle(Success, 0)
	} else {
		t.settleError(ctx, err)
	}
	return err
}
