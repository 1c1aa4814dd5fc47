package migrating

import (
	"context"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/eapache/go-resiliency/breaker"
)

func Example_eapacheBefore() {
	b := breaker.New(3, 2, 10*time.Second)
	call := func(ctx context.Context, sku string) (n int, err error) {
		err = b.Run(func() error { n, err = stock(ctx, sku); return err })
		if err == breaker.ErrBreakerOpen {
			return lastKnown, nil
		}
		return n, err
	}

	drive(call)
	// Output: failed at first, then answered with 42
}

func Example_eapacheAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		Window:              10 * time.Second,
		ConsecutiveFailures: atomicbreaker.Off,
		FailureRate:         atomicbreaker.Off,
		ReadyToTrip:         func(c atomicbreaker.Counts) bool { return c.Failures >= 3 },
		Cooldown:            atomicbreaker.Cooldown{Min: 10 * time.Second, Max: 10 * time.Second, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 2},
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
