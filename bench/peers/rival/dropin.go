package rival

import dropin "github.com/atomicbreaker/breaker/contrib/gobreaker"

// dropins returns our stand-in for sony/gobreaker, set up and driven like the
// original: see gobreakers.
func dropins() []Subject {
	return []Subject{
		{
			Impl: "ours-gobreaker", API: "execute", Module: ourModule,
			Build: func(job Job) Instance {
				return dropinExecute(dropin.NewCircuitBreaker[struct{}](dropinSettings(job)))
			},
			Lacks: map[Row]string{SlowTracking: noSlowRule},
			New: func() any {
				return dropin.NewCircuitBreaker[struct{}](dropinSettings(JobOf(ClosedSuccess)))
			},
			Use: func(b any) {
				_, _ = b.(*dropin.CircuitBreaker[struct{}]).Execute(func() (struct{}, error) { return struct{}{}, nil })
			},
		},
		{
			Impl: "ours-gobreaker", API: "two-step", Module: ourModule,
			Build: func(job Job) Instance {
				return dropinTwoStep(dropin.NewTwoStepCircuitBreaker[struct{}](dropinSettings(job)))
			},
			Lacks: map[Row]string{DoClosure: otherForm, SlowTracking: noSlowRule},
		},
	}
}

func dropinSettings(job Job) dropin.Settings {
	minimum := uint32(job.Minimum)
	return dropin.Settings{
		MaxRequests: 1, Interval: window, BucketPeriod: window / buckets, Timeout: job.Cooldown,
		ReadyToTrip: func(c dropin.Counts) bool {
			return c.Requests >= minimum && float64(c.TotalFailures) >= failureRate*float64(c.Requests)
		},
	}
}

func dropinExecute(b *dropin.CircuitBreaker[struct{}]) Instance {
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

func dropinTwoStep(b *dropin.TwoStepCircuitBreaker[struct{}]) Instance {
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
