package droppedrefusal

import (
	"context"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func call(ctx context.Context) error         { return nil }
func get(ctx context.Context) (int, error)   { return 0, nil }
func judge(int, error) atomicbreaker.Outcome { return atomicbreaker.Success }

func mistakes(ctx context.Context, b *atomicbreaker.Breaker) {
	ticket, _ := b.Acquire() // want `the refusal of Acquire is dropped: with an error the call must not be made`
	ticket.Done(ctx, call(ctx))
	b.Do(ctx, call)                          // want `the error of Breaker.Do is dropped`
	atomicbreaker.Do(ctx, b, get)            // want `the error of Do is dropped`
	atomicbreaker.DoWith(ctx, b, judge, get) // want `the error of DoWith is dropped`
}

func overwritten(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire() // want `the refusal of Acquire is overwritten in line 24 before anything reads it`
	defer ticket.Cancel()
	err = call(ctx)
	return err
}

// What is right, or said to be meant.

func right(ctx context.Context, b *atomicbreaker.Breaker) (int, error) {
	_ = b.Do(ctx, call)
	if err := b.Do(ctx, call); err != nil {
		return 0, err
	}
	n, _ := atomicbreaker.Do(ctx, b, get)
	ticket, err := b.Acquire()
	if err != nil {
		return n, err
	}
	err = call(ctx)
	ticket.Done(ctx, err)
	return n, err
}

func readInBetween(ctx context.Context, b *atomicbreaker.Breaker) error {
	ticket, err := b.Acquire()
	refused := err != nil
	err = nil
	if refused {
		return nil
	}
	ticket.Cancel()
	return err
}

func goroutine(ctx context.Context, b *atomicbreaker.Breaker) {
	go b.Do(ctx, call)
	b.Do(ctx, call) //breakervet:ignore best effort
}
