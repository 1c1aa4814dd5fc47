package earlydefer

import (
	"context"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func call(ctx context.Context) (int, error) { return 0, nil }

func reassigned(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire()
	if err != nil {
		return err
	}
	defer ticket.Done(ctx, err) // want `err is taken when the defer statement runs, not when the function ends: defer a function literal that calls Done`
	_, err = call(ctx)
	return err
}

func shadowed(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire()
	if err != nil {
		return err
	}
	defer ticket.Done(ctx, err) // want `err is taken`
	if _, err := call(ctx); err != nil {
		return err
	}
	return nil
}

func named(ctx context.Context, t *atomicbreaker.Ticket) (n int, err error) {
	defer t.Done(ctx, err) // want `err is taken`
	return call(ctx)
}

func outcome(ctx context.Context, t *atomicbreaker.Ticket) {
	o := atomicbreaker.Failure
	defer t.Report(o) // want `o is taken`
	if _, err := call(ctx); err == nil {
		o = atomicbreaker.Success
	}
}

func inside(ctx context.Context, t *atomicbreaker.Ticket) {
	var err error
	var after time.Duration
	defer t.ReportAfter(atomicbreaker.Failure, after) // want `after is taken`
	defer t.Done(ctx, err)                            // want `err is taken`
	func() {
		_, err = call(ctx)
		after = time.Second
	}()
}

// What is right.

func literal(ctx context.Context, b *atomicbreaker.Breaker) (err error) {
	ticket, err := b.Acquire()
	if err != nil {
		return err
	}
	defer func() { ticket.Done(ctx, err) }()
	_, err = call(ctx)
	return err
}

func known(ctx context.Context, t *atomicbreaker.Ticket) error {
	_, err := call(ctx)
	defer t.Done(ctx, err)
	return err
}

func otherwise(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire()
	if err != nil {
		return err
	}
	_, err = call(ctx)
	defer ticket.Done(ctx, err)
	return err
}

func parameter(ctx context.Context, t *atomicbreaker.Ticket, err error) {
	defer t.Done(ctx, err)
	println("settled at the end")
}

func constant(ctx context.Context, t *atomicbreaker.Ticket) {
	defer t.Report(atomicbreaker.Failure)
	defer t.Done(ctx, nil)
	defer t.Cancel()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, _ = call(ctx)
}
