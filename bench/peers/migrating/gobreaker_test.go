package migrating

import (
	"context"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/sony/gobreaker/v2"
)

func Example_gobreakerBefore() {
	cb := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Name:         "stock",
		Interval:     10 * time.Second,
		BucketPeriod: time.Second,
		Timeout:      5 * time.Second,
		MaxRequests:  3,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= 20 && 2*c.TotalFailures >= c.Requests
		},
	})

	drive(func(ctx context.Context, sku string) (int, error) {
		n, err := cb.Execute(func() (int, error) { return stock(ctx, sku) })
		if err == gobreaker.ErrOpenState || err == gobreaker.ErrTooManyRequests {
			return lastKnown, nil
		}
		return n, err
	})
	// Output: failed at first, then answered with 42
}

func Example_gobreakerAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		Window:              10 * time.Second,
		Buckets:             10,
		MinimumCalls:        20,
		FailureRate:         0.5,
		ConsecutiveFailures: atomicbreaker.Off,
		Cooldown:            atomicbreaker.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 3},
	})

	drive(func(ctx context.Context, sku string) (int, error) {
		n, err := atomicbreaker.Do(ctx, b, func(ctx context.Context) (int, error) { return stock(ctx, sku) })
		if atomicbreaker.IsRejected(err) {
			return lastKnown, nil
		}
		return n, err
	})
	// Output: failed at first, then answered with 42
}

func Example_twoStepBefore() {
	cb := gobreaker.NewTwoStepCircuitBreaker[int](gobreaker.Settings{Name: "stock"})

	drive(func(ctx context.Context, sku string) (int, error) {
		done, err := cb.Allow()
		if err != nil {
			return lastKnown, nil
		}
		n, err := stock(ctx, sku)
		done(err)
		return n, err
	})
	// Output: failed at first, then answered with 42
}

func Example_twoStepAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{Name: "stock"})

	drive(func(ctx context.Context, sku string) (int, error) {
		ticket, err := b.Acquire()
		if err != nil {
			return lastKnown, nil
		}
		n, err := stock(ctx, sku)
		ticket.Done(ctx, err)
		return n, err
	})
	// Output: failed at first, then answered with 42
}
