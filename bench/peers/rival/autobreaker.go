package rival

import "github.com/1mb-dev/autobreaker"

// autobreakers returns 1mb-dev/autobreaker, the other breaker without a mutex.
// Its window is a fixed one, cleared every 10 s.
func autobreakers() []Subject {
	return []Subject{{
		Impl: "autobreaker", API: "execute", Module: "github.com/1mb-dev/autobreaker",
		Build: func(job Job) Instance { return autobreakerInstance(autobreakerNew(job)) },
		Lacks: map[Row]string{SlowTracking: noSlowRule},
		New:   func() any { return autobreakerNew(JobOf(ClosedSuccess)) },
		Use: func(b any) {
			_, _ = b.(*autobreaker.CircuitBreaker).Execute(func() (any, error) { return nil, nil })
		},
	}}
}

func autobreakerNew(job Job) *autobreaker.CircuitBreaker {
	return autobreaker.New(autobreaker.Settings{
		MaxRequests: 1, Interval: window, Timeout: job.Cooldown,
		AdaptiveThreshold: true, FailureRateThreshold: failureRate, MinimumObservations: uint32(job.Minimum),
	})
}

func autobreakerInstance(b *autobreaker.CircuitBreaker) Instance {
	succeed := func() (any, error) { return nil, nil }
	fail := func() (any, error) { return nil, errFailed }
	return Instance{
		Success: func() bool { _, err := b.Execute(succeed); return err == nil },
		Failure: func() bool { _, err := b.Execute(fail); return err == errFailed },
		Closure: func() bool {
			ran := false
			_, err := b.Execute(func() (any, error) { ran = true; return nil, nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			_, err := b.Execute(func() (any, error) { body(); return nil, errFailed })
			return err == errFailed
		},
	}
}
