package rival

import (
	"context"

	circuitbreaker "github.com/mercari/go-circuitbreaker"
)

const mercariModule = "github.com/mercari/go-circuitbreaker"

// mercaris returns mercari/go-circuitbreaker through Do and through Ready with
// Success and Fail. Its window is a fixed one that a goroutine clears every 10 s.
func mercaris() []Subject {
	return []Subject{
		{
			Impl: "mercari", API: "do", Module: mercariModule,
			Build:     func(job Job) Instance { return mercariDo(mercariBreaker(job)) },
			Lacks:     map[Row]string{RefusedHalfOpen: noLimit, SlowTracking: noSlowRule},
			Unlimited: noLimit,
			New:       func() any { return mercariBreaker(JobOf(ClosedSuccess)) },
			Use: func(b any) {
				cb := b.(*circuitbreaker.CircuitBreaker)
				cb.Ready()
				cb.Success()
			},
		},
		{
			Impl: "mercari", API: "ready", Module: mercariModule,
			Build:     func(job Job) Instance { return mercariReady(mercariBreaker(job)) },
			Lacks:     map[Row]string{RefusedHalfOpen: noLimit, DoClosure: otherForm, SlowTracking: noSlowRule},
			Unlimited: noLimit,
		},
	}
}

func mercariBreaker(job Job) *circuitbreaker.CircuitBreaker {
	return circuitbreaker.New(
		circuitbreaker.WithTripFunc(circuitbreaker.NewTripFuncFailureRate(int64(job.Minimum), failureRate)),
		circuitbreaker.WithOpenTimeout(job.Cooldown),
		circuitbreaker.WithHalfOpenMaxSuccesses(1),
		circuitbreaker.WithCounterResetInterval(window),
	)
}

// mercariClose ends the goroutine that a closed breaker keeps.
func mercariClose(b *circuitbreaker.CircuitBreaker) func() {
	return func() { b.SetState(circuitbreaker.StateHalfOpen) }
}

func mercariDo(b *circuitbreaker.CircuitBreaker) Instance {
	ctx := context.Background()
	succeed := func() (any, error) { return nil, nil }
	fail := func() (any, error) { return nil, errFailed }
	return Instance{
		Success: func() bool { _, err := b.Do(ctx, succeed); return err == nil },
		Failure: func() bool { _, err := b.Do(ctx, fail); return err == errFailed },
		Closure: func() bool {
			ran := false
			_, err := b.Do(ctx, func() (any, error) { ran = true; return nil, nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			_, err := b.Do(ctx, func() (any, error) { body(); return nil, errFailed })
			return err == errFailed
		},
		Close: mercariClose(b),
	}
}

func mercariReady(b *circuitbreaker.CircuitBreaker) Instance {
	return Instance{
		Success: func() bool {
			if !b.Ready() {
				return false
			}
			b.Success()
			return true
		},
		Failure: func() bool {
			if !b.Ready() {
				return false
			}
			b.Fail()
			return true
		},
		Probe: func(body func()) bool {
			if !b.Ready() {
				return false
			}
			body()
			b.Fail()
			return true
		},
		Close: mercariClose(b),
	}
}
