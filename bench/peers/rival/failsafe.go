package rival

import (
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

const failsafeModule = "github.com/failsafe-go/failsafe-go"

// failsafes returns failsafe-go's circuit breaker by rate through its permits and
// through an executor, by the last 100 calls through its permits, and its
// adaptive throttler.
func failsafes() []Subject {
	return []Subject{
		{
			Impl: "failsafe", API: "permit", Module: failsafeModule,
			Build: func(job Job) Instance { return failsafePermit(failsafeByRate(job)) },
			Lacks: map[Row]string{DoClosure: otherForm, SlowTracking: noSlowRule},
			New:   func() any { return failsafeByRate(JobOf(ClosedSuccess)) },
			Use: func(b any) {
				cb := b.(circuitbreaker.CircuitBreaker[any])
				cb.TryAcquirePermit()
				cb.RecordSuccess()
			},
		},
		{
			Impl: "failsafe", API: "run", Module: failsafeModule,
			Build: func(job Job) Instance { return failsafeRun(failsafeByRate(job)) },
			Lacks: map[Row]string{SlowTracking: noSlowRule},
		},
		{
			Impl: "failsafe-last100", API: "permit", Module: failsafeModule,
			Build: func(job Job) Instance {
				return failsafePermit(circuitbreaker.NewBuilder[any]().
					WithFailureThresholdRatio(minimumCalls/2, minimumCalls).
					WithSuccessThreshold(1).WithDelay(job.Cooldown).Build())
			},
			Lacks: map[Row]string{
				ErrorReturned: "50 failures of the last 100 always trip", DoClosure: otherForm, SlowTracking: noSlowRule,
			},
			Unlimited: "differs from impl=failsafe in its window only",
			New: func() any {
				return circuitbreaker.NewBuilder[any]().WithFailureThresholdRatio(minimumCalls/2, minimumCalls).Build()
			},
			Use: func(b any) {
				cb := b.(circuitbreaker.CircuitBreaker[any])
				cb.TryAcquirePermit()
				cb.RecordSuccess()
			},
		},
		{
			Impl: "failsafe-throttler", API: "permit", Module: failsafeModule,
			Build: func(job Job) Instance { return failsafeThrottler(failsafeThrottle(job)) },
			Lacks: map[Row]string{
				RefusedHalfOpen: noHalfOpen, DoClosure: "its wrapper form is failsafe's executor, see impl=failsafe/api=run",
				SlowTracking: noSlowRule,
			},
			ByChance:  true,
			Unlimited: noHalfOpen,
			New:       func() any { return failsafeThrottle(JobOf(ClosedSuccess)) },
			Use: func(b any) {
				t := b.(adaptivethrottler.AdaptiveThrottler[any])
				t.TryAcquirePermit()
				t.RecordSuccess()
			},
		},
	}
}

func failsafeByRate(job Job) circuitbreaker.CircuitBreaker[any] {
	return circuitbreaker.NewBuilder[any]().
		WithFailureRateThreshold(failureRate, uint(job.Minimum), window).
		WithSuccessThreshold(1).WithDelay(job.Cooldown).Build()
}

func failsafeThrottle(job Job) adaptivethrottler.AdaptiveThrottler[any] {
	return adaptivethrottler.NewBuilder[any]().
		WithFailureRateThreshold(failureRate, uint(job.Minimum), window).
		WithMaxRejectionRate(1).Build()
}

// permits is what failsafe-go's breaker and throttler have in common.
type permits interface {
	TryAcquirePermit() bool
	RecordSuccess()
	RecordFailure()
}

func failsafePermit(b circuitbreaker.CircuitBreaker[any]) Instance          { return permitInstance(b) }
func failsafeThrottler(t adaptivethrottler.AdaptiveThrottler[any]) Instance { return permitInstance(t) }

func permitInstance(b permits) Instance {
	return Instance{
		Success: func() bool {
			if !b.TryAcquirePermit() {
				return false
			}
			b.RecordSuccess()
			return true
		},
		Failure: func() bool {
			if !b.TryAcquirePermit() {
				return false
			}
			b.RecordFailure()
			return true
		},
		Probe: func(body func()) bool {
			if !b.TryAcquirePermit() {
				return false
			}
			body()
			b.RecordFailure()
			return true
		},
	}
}

func failsafeRun(b circuitbreaker.CircuitBreaker[any]) Instance {
	executor := failsafe.With[any](b)
	succeed := func() error { return nil }
	fail := func() error { return errFailed }
	return Instance{
		Success: func() bool { return executor.Run(succeed) == nil },
		Failure: func() bool { return executor.Run(fail) == errFailed },
		Closure: func() bool {
			ran := false
			err := executor.Run(func() error { ran = true; return nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			return executor.Run(func() error { body(); return errFailed }) == errFailed
		},
	}
}
