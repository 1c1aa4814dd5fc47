package atomicbreaker

import (
	"context"

	"github.com/atomicbreaker/breaker/clock"
)

// Do calls f if the breaker admits it, and settles the outcome: by f's error
// as [Ticket.DoneContext] does, and as a Failure if f panics or ends its
// goroutine; the panic goes on. A refusal is returned as a [*RejectedError],
// and a context that is done already as its error; f is then not called.
//
// f gets ctx itself. A probe gets one derived from it that ends at the probe's
// deadline, Recovery.ProbeTimeout from now, so that a call to a dependency
// that hangs comes back.
func (b *Breaker) Do(ctx context.Context, f func(ctx context.Context) error) error {
	var c call
	if err := c.begin(ctx, b, f == nil); err != nil {
		return err
	}
	defer c.end()
	err := f(c.ctx)
	c.settle(ctx, err)
	return err
}

// Do is [Breaker.Do] for a call that returns a value. A call that is not made
// returns the zero T.
func Do[T any](ctx context.Context, b *Breaker, f func(ctx context.Context) (T, error)) (T, error) {
	var c call
	if err := c.begin(ctx, b, f == nil); err != nil {
		var zero T
		return zero, err
	}
	defer c.end()
	v, err := f(c.ctx)
	c.settle(ctx, err)
	return v, err
}

// call is one run of Do. Its ticket stays on one goroutine, so that a plain
// flag does for settling it once.
type call struct {
	ticket  Ticket
	ctx     context.Context // what f gets
	cancel  func()          // of a probe's ctx, otherwise nil
	settled bool
}

func (c *call) begin(ctx context.Context, b *Breaker, noFunc bool) (err error) {
	if ctx == nil || noFunc {
		panic("atomicbreaker: Do with a nil context or function")
	}
	if b == nil {
		panic(unmade)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.ticket, err = b.Acquire()
	if err != nil {
		return err
	}
	c.ctx = ctx
	if c.ticket.claim.has(claimProbe) {
		c.ctx, c.cancel = b.probeContext(ctx)
	}
	return nil
}

func (c *call) settle(ctx context.Context, err error) {
	c.settled = true
	if err == nil {
		c.ticket.settle(Success, 0)
		return
	}
	c.ticket.settleError(ctx, err)
}

// end runs when f has returned, panicked or ended its goroutine.
func (c *call) end() {
	if c.cancel != nil {
		c.cancel()
	}
	if !c.settled {
		c.ticket.settle(Failure, 0)
	}
}

// probeContext derives a context that ends at a probe's deadline. On a clock
// that is not real time it cannot tell its deadline in advance: it is
// cancelled then, with context.DeadlineExceeded as its cause.
func (b *Breaker) probeContext(ctx context.Context) (context.Context, func()) {
	timeout := b.cfg.Recovery.ProbeTimeout
	if clock.Real(b.clock) {
		return context.WithTimeout(ctx, timeout)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := b.clock.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}
