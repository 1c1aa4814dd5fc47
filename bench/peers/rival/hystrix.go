package rival

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/afex/hystrix-go/hystrix"
)

// hystrixes returns afex/hystrix-go. Its circuits are known by name only and can
// be freed all together only, so that those of earlier rows stay.
func hystrixes() []Subject {
	return []Subject{{
		Impl: "hystrix-go", API: "do", Module: "github.com/afex/hystrix-go",
		Build: hystrixInstance,
		Lacks: map[Row]string{
			RefusedHalfOpen: "has no half-open state: one call passes per sleep window, the rest is refused as open",
			SlowTracking:    "a call over its timeout is a failure; there is no rule for slow ones",
		},
		Leaks: "returns a ticket after the caller is released, so that healthy calls fail with max concurrency",
		Slots: true,
		New:   func() any { return hystrixCommand(JobOf(ClosedSuccess)) },
		Use:   func(name any) { _ = hystrix.Do(name.(string), func() error { return nil }, nil) },
	}}
}

var hystrixCommands atomic.Int64

func hystrixCommand(job Job) string {
	name := fmt.Sprint("command-", hystrixCommands.Add(1))
	hystrix.ConfigureCommand(name, hystrix.CommandConfig{
		Timeout:                int(time.Hour / time.Millisecond),
		MaxConcurrentRequests:  1000,
		RequestVolumeThreshold: job.Minimum,
		SleepWindow:            int(job.Cooldown / time.Millisecond),
		ErrorPercentThreshold:  failureRate * 100,
	})
	if _, _, err := hystrix.GetCircuit(name); err != nil {
		panic(err) // it returns none today
	}
	return name
}

func hystrixInstance(job Job) Instance {
	name := hystrixCommand(job)
	succeed := func() error { return nil }
	fail := func() error { return errFailed }
	return Instance{
		Success: func() bool { return hystrix.Do(name, succeed, nil) == nil },
		Failure: func() bool { return hystrix.Do(name, fail, nil) == errFailed },
		Closure: func() bool {
			ran := false
			err := hystrix.Do(name, func() error { ran = true; return nil }, nil)
			return err == nil && ran
		},
		Probe: func(body func()) bool {
			return hystrix.Do(name, func() error { body(); return errFailed }, nil) == errFailed
		},
	}
}
