package rival

import (
	"github.com/go-kratos/aegis/circuitbreaker"
	"github.com/go-kratos/aegis/circuitbreaker/sre"
)

// aegises returns kratos' breaker, which refuses by chance. A refusal is marked
// as a failure, as the kratos middleware does.
func aegises() []Subject {
	return []Subject{{
		Impl: "aegis", API: "allow", Module: "github.com/go-kratos/aegis",
		Build: func(job Job) Instance { return aegisInstance(aegisBreaker(job)) },
		Lacks: map[Row]string{RefusedHalfOpen: noHalfOpen, DoClosure: noWrapper, SlowTracking: noSlowRule},

		ByChance: true, Unlimited: noHalfOpen,
		New: func() any { return aegisBreaker(JobOf(ClosedSuccess)) },
		Use: func(b any) {
			cb := b.(circuitbreaker.CircuitBreaker)
			_ = cb.Allow()
			cb.MarkSuccess()
		},
	}}
}

func aegisBreaker(job Job) circuitbreaker.CircuitBreaker {
	return sre.NewBreaker(sre.WithSuccess(failureRate), sre.WithRequest(int64(job.Minimum)), sre.WithWindow(window), sre.WithBucket(buckets))
}

func aegisInstance(b circuitbreaker.CircuitBreaker) Instance {
	call := func(mark func()) bool {
		if b.Allow() != nil {
			b.MarkFailed()
			return false
		}
		mark()
		return true
	}
	succeed, fail := b.MarkSuccess, b.MarkFailed
	return Instance{
		Success: func() bool { return call(succeed) },
		Failure: func() bool { return call(fail) },
		Probe:   func(body func()) bool { return call(func() { body(); fail() }) },
	}
}
