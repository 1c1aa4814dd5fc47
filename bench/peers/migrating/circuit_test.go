package migrating

import (
	"context"
	"errors"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/cep21/circuit/v4"
	"github.com/cep21/circuit/v4/closers/hystrix"
)

var errNotFound = errors.New("no such article")

func Example_circuitBefore() {
	c := circuit.NewCircuitFromConfig("stock", circuit.Config{
		Execution: circuit.ExecutionConfig{Timeout: time.Second, MaxConcurrentRequests: 100},
		General: circuit.GeneralConfig{
			ClosedToOpenFactory: hystrix.OpenerFactory(hystrix.ConfigureOpener{
				RequestVolumeThreshold: 20, ErrorThresholdPercentage: 50,
				RollingDuration: 10 * time.Second, NumBuckets: 10,
			}),
			OpenToClosedFactory: hystrix.CloserFactory(hystrix.ConfigureCloser{
				SleepWindow: 5 * time.Second, HalfOpenAttempts: 1, RequiredConcurrentSuccessful: 3,
			}),
		},
	})

	drive(func(ctx context.Context, sku string) (n int, err error) {
		err = c.Execute(ctx, func(ctx context.Context) error {
			n, err = stock(ctx, sku)
			if errors.Is(err, errNotFound) {
				return circuit.SimpleBadRequest{Err: err}
			}
			return err
		}, func(_ context.Context, err error) error {
			var refusal circuit.Error
			if errors.As(err, &refusal) && refusal.CircuitOpen() {
				n = lastKnown
				return nil
			}
			return err
		})
		return n, err
	})
	// Output: failed at first, then answered with 42
}

func Example_circuitAfter() {
	b := atomicbreaker.MustNew(atomicbreaker.Config{
		Name:                "stock",
		MinimumCalls:        20,
		FailureRate:         0.5,
		ConsecutiveFailures: atomicbreaker.Off,
		Cooldown:            atomicbreaker.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 3, Concurrent: 1},
		Classify: func(err error) atomicbreaker.Outcome {
			if errors.Is(err, errNotFound) {
				return atomicbreaker.Success
			}
			return atomicbreaker.Failure
		},
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
