package rival

import "github.com/eapache/go-resiliency/breaker"

// eapaches returns eapache/go-resiliency's breaker. It knows no rate and counts
// no successes: it trips at so many errors without an error-free span of the
// cooldown's length. So where errors must not trip it, its threshold is out of
// reach.
func eapaches() []Subject {
	return []Subject{{
		Impl: "eapache", API: "run", Module: "github.com/eapache/go-resiliency",
		Build: func(job Job) Instance {
			errors := job.Minimum
			if job.Closed {
				errors = outOfReach
			}
			return eapacheInstance(breaker.New(errors, 1, job.Cooldown))
		},
		Lacks:     map[Row]string{RefusedHalfOpen: noLimit, SlowTracking: noSlowRule},
		Unlimited: noLimit,
		New: func() any {
			job := JobOf(ClosedSuccess)
			return breaker.New(job.Minimum, 1, job.Cooldown)
		},
		Use: func(b any) { _ = b.(*breaker.Breaker).Run(func() error { return nil }) },
	}}
}

func eapacheInstance(b *breaker.Breaker) Instance {
	succeed := func() error { return nil }
	fail := func() error { return errFailed }
	return Instance{
		Success: func() bool { return b.Run(succeed) == nil },
		Failure: func() bool { return b.Run(fail) == errFailed },
		Closure: func() bool {
			ran := false
			err := b.Run(func() error { ran = true; return nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			return b.Run(func() error { body(); return errFailed }) == errFailed
		},
	}
}
