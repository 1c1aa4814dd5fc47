package rival

import (
	"context"

	"github.com/cep21/circuit/v4"
	"github.com/cep21/circuit/v4/closers/hystrix"
)

// cep21s returns cep21/circuit with its hystrix opener and closer. Its timeout
// and its limit of concurrent calls, which the others do not have, are off.
func cep21s() []Subject {
	return []Subject{{
		Impl: "cep21", API: "run", Module: "github.com/cep21/circuit/v4",
		Build: func(job Job) Instance { return cep21Instance(cep21Circuit(job)) },
		Lacks: map[Row]string{
			RefusedHalfOpen: "has no half-open state: one call passes per sleep window, the rest is refused as open",
			SlowTracking:    noSlowRule,
		},
		Slots: true,
		New:   func() any { return cep21Circuit(JobOf(ClosedSuccess)) },
		Use: func(b any) {
			_ = b.(*circuit.Circuit).Run(context.Background(), func(context.Context) error { return nil })
		},
	}}
}

func cep21Circuit(job Job) *circuit.Circuit {
	return circuit.NewCircuitFromConfig("", circuit.Config{
		Execution: circuit.ExecutionConfig{Timeout: -1, MaxConcurrentRequests: -1},
		General: circuit.GeneralConfig{
			ClosedToOpenFactory: hystrix.OpenerFactory(hystrix.ConfigureOpener{
				ErrorThresholdPercentage: failureRate * 100, RequestVolumeThreshold: int64(job.Minimum),
				RollingDuration: window, NumBuckets: buckets,
			}),
			OpenToClosedFactory: hystrix.CloserFactory(hystrix.ConfigureCloser{
				SleepWindow: job.Cooldown, HalfOpenAttempts: 1, RequiredConcurrentSuccessful: 1,
			}),
		},
	})
}

func cep21Instance(c *circuit.Circuit) Instance {
	ctx := context.Background()
	succeed := func(context.Context) error { return nil }
	fail := func(context.Context) error { return errFailed }
	return Instance{
		Success: func() bool { return c.Run(ctx, succeed) == nil },
		Failure: func() bool { return c.Run(ctx, fail) == errFailed },
		Closure: func() bool {
			ran := false
			err := c.Run(ctx, func(context.Context) error { ran = true; return nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			return c.Run(ctx, func(context.Context) error { body(); return errFailed }) == errFailed
		},
	}
}
