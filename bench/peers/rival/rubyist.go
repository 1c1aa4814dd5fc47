package rival

import (
	"github.com/cenk/backoff"
	circuit "github.com/rubyist/circuitbreaker"
)

const rubyistModule = "github.com/rubyist/circuitbreaker"

// rubyists returns rubyist/circuitbreaker through Call and through Ready with
// Success and Fail.
func rubyists() []Subject {
	const unlimited = "limits no probes: a second caller is admitted while the first is under way"
	return []Subject{
		{
			Impl: "rubyist", API: "call", Module: rubyistModule,
			Build:     func(job Job) Instance { return rubyistCall(rubyistBreaker(job)) },
			Lacks:     map[Row]string{RefusedHalfOpen: unlimited, SlowTracking: noSlowRule},
			Unlimited: unlimited,
			New:       func() any { return rubyistBreaker(JobOf(ClosedSuccess)) },
			Use: func(b any) {
				cb := b.(*circuit.Breaker)
				cb.Ready()
				cb.Success()
			},
		},
		{
			Impl: "rubyist", API: "ready", Module: rubyistModule,
			Build:     func(job Job) Instance { return rubyistReady(rubyistBreaker(job)) },
			Lacks:     map[Row]string{RefusedHalfOpen: unlimited, DoClosure: otherForm, SlowTracking: noSlowRule},
			Unlimited: unlimited,
		},
	}
}

func rubyistBreaker(job Job) *circuit.Breaker {
	return circuit.NewBreakerWithOptions(&circuit.Options{
		ShouldTrip: circuit.RateTripFunc(failureRate, int64(job.Minimum)),
		BackOff:    backoff.NewConstantBackOff(job.Cooldown),
		WindowTime: window, WindowBuckets: buckets,
	})
}

func rubyistCall(b *circuit.Breaker) Instance {
	succeed := func() error { return nil }
	fail := func() error { return errFailed }
	return Instance{
		Success: func() bool { return b.Call(succeed, 0) == nil },
		Failure: func() bool { return b.Call(fail, 0) == errFailed },
		Closure: func() bool {
			ran := false
			err := b.Call(func() error { ran = true; return nil }, 0)
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			return b.Call(func() error { body(); return errFailed }, 0) == errFailed
		},
	}
}

func rubyistReady(b *circuit.Breaker) Instance {
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
	}
}
