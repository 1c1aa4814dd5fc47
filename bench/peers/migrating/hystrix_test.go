package migrating

import (
	"context"
	"time"

	"github.com/afex/hystrix-go/hystrix"
	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func Example_hystrixBefore() {
	hystrix.ConfigureCommand("stock", hystrix.CommandConfig{
		Timeout:                1000,
		MaxConcurrentRequests:  100,
		RequestVolumeThreshold: 20,
		ErrorPercentThreshold:  50,
		SleepWindow:            5000,
	})

	drive(func(ctx context.Context, sku string) (n int, err error) {
		err = hystrix.DoC(ctx, "stock", func(ctx context.Context) error {
			n, err = stock(ctx, sku)
			return err
		}, func(_ context.Context, err error) error {
			if err == hystrix.ErrCircuitOpen {
				n = lastKnown
				return nil
			}
			return err
		})
		return n, err
	})
	// Output: failed at first, then answered with 42
}

func Example_hystrixAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		MinimumCalls:        20,
		FailureRate:         0.5,
		ConsecutiveFailures: atomicbreaker.Off,
		Cooldown:            atomicbreaker.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 1},
	})

	drive(func(ctx context.Context, sku string) (int, error) {
		n, err := atomicbreaker.Do(ctx, b, func(ctx context.Context) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return stock(ctx, sku)
		})
		if atomicbreaker.IsRejected(err) {
			return lastKnown, nil
		}
		return n, err
	})
	// Output: failed at first, then answered with 42
}
