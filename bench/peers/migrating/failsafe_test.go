package migrating

import (
	"context"
	"errors"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

func Example_failsafeBefore() {
	cb := circuitbreaker.NewBuilder[int]().
		WithFailureRateThreshold(0.5, 20, 10*time.Second).
		WithSuccessThresholdRatio(3, 5).
		WithDelay(5 * time.Second).
		WithJitterFactor(0.25).
		Build()

	drive(func(ctx context.Context, sku string) (int, error) {
		n, err := failsafe.With(cb).WithContext(ctx).Get(func() (int, error) { return stock(ctx, sku) })
		if errors.Is(err, circuitbreaker.ErrOpen) {
			return lastKnown, nil
		}
		return n, err
	})
	// Output: failed at first, then answered with 42
}

func Example_failsafeAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		MinimumCalls:        20,
		FailureRate:         0.5,
		ConsecutiveFailures: atomicbreaker.Off,
		Cooldown:            atomicbreaker.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1, Jitter: 0.25},
		Recovery:            atomicbreaker.Recovery{Probes: 5, Successes: 3},
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
