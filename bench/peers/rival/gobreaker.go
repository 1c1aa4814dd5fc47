package rival

import "github.com/sony/gobreaker/v2"

const gobreakerModule = "github.com/sony/gobreaker/v2"

// gobreakers returns sony/gobreaker with its rolling window, through Execute and
// through the two-step form.
func gobreakers() []Subject {
	return []Subject{
		{
			Impl: "gobreaker", API: "execute", Module: gobreakerModule,
			Build: func(job Job) Instance {
				return gobreakerExecute(gobreaker.NewCircuitBreaker[struct{}](gobreakerSettings(job)))
			},
			Lacks: map[Row]string{SlowTracking: noSlowRule},
			New: func() any {
				return gobreaker.NewCircuitBreaker[struct{}](gobreakerSettings(JobOf(ClosedSuccess)))
			},
			Use: func(b any) {
				_, _ = b.(*gobreaker.CircuitBreaker[struct{}]).Execute(func() (struct{}, error) { return struct{}{}, nil })
			},
		},
		{
			Impl: "gobreaker", API: "two-step", Module: gobreakerModule,
			Build: func(job Job) Instance {
				return gobreakerTwoStep(gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreakerSettings(job)))
			},
			Lacks: map[Row]string{DoClosure: otherForm, SlowTracking: noSlowRule},
		},
	}
}

func gobreakerSettings(job Job) gobreaker.Settings {
	minimum := uint32(job.Minimum)
	return gobreaker.Settings{
		MaxRequests: 1, Interval: window, BucketPeriod: window / buckets, Timeout: job.Cooldown,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= minimum && float64(c.TotalFailures) >= failureRate*float64(c.Requests)
		},
	}
}

func gobreakerExecute(b *gobreaker.CircuitBreaker[struct{}]) Instance {
	succeed := func() (struct{}, error) { return struct{}{}, nil }
	fail := func() (struct{}, error) { return struct{}{}, errFailed }
	return Instance{
		Success: func() bool { _, err := b.Execute(succeed); return err == nil },
		Failure: func() bool { _, err := b.Execute(fail); return err == errFailed },
		Closure: func() bool {
			ran := false
			_, err := b.Execute(func() (struct{}, error) { ran = true; return struct{}{}, nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			_, err := b.Execute(func() (struct{}, error) { body(); return struct{}{}, errFailed })
			return err == errFailed
		},
	}
}

func gobreakerTwoStep(b *gobreaker.TwoStepCircuitBreaker[struct{}]) Instance {
	call := func(result error) bool {
		done, err := b.Allow()
		if err != nil {
			return false
		}
		done(result)
		return true
	}
	return Instance{
		Success: func() bool { return call(nil) },
		Failure: func() bool { return call(errFailed) },
		Probe: func(body func()) bool {
			done, err := b.Allow()
			if err != nil {
				return false
			}
			body()
			done(errFailed)
			return true
		},
	}
}
