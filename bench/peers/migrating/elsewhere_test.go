package migrating

import (
	"context"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// The defaults of resilience4j, but for the window of time.
func Example_resilience4jAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		WindowCalls:         100,
		MinimumCalls:        100,
		FailureRate:         0.5,
		ConsecutiveFailures: atomicbreaker.Off,
		SlowCallDuration:    60 * time.Second,
		SlowCallRate:        1,
		Cooldown:            atomicbreaker.Cooldown{Min: 60 * time.Second, Max: 60 * time.Second, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 10, Successes: 6},
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

// The defaults of Polly 8.
func Example_pollyAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		Window:              30 * time.Second,
		MinimumCalls:        100,
		FailureRate:         0.1,
		ConsecutiveFailures: atomicbreaker.Off,
		Cooldown:            atomicbreaker.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 1},
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
