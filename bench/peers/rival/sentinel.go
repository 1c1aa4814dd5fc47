package rival

import (
	"fmt"
	"sync/atomic"
	"time"

	sentinel "github.com/alibaba/sentinel-golang/api"
	"github.com/alibaba/sentinel-golang/core/base"
	"github.com/alibaba/sentinel-golang/core/circuitbreaker"
	"github.com/alibaba/sentinel-golang/logging"
)

const sentinelModule = "github.com/alibaba/sentinel-golang"

// sentinels returns sentinel-golang with its default chain of slots and with a
// chain of the circuit breaker's slots alone.
func sentinels() []Subject {
	return []Subject{
		{
			Impl: "sentinel", API: "breaker-slots", Module: sentinelModule,
			Build: func(job Job) Instance { return sentinelInstance(job, sentinelBreakerChain()) },
			Lacks: map[Row]string{DoClosure: noWrapper},
			New:   func() any { return sentinelResource(JobOf(ClosedSuccess)) },
			Use: func(name any) {
				if e, blocked := sentinel.Entry(name.(string), sentinel.WithSlotChain(sentinelBreakerChain())); blocked == nil {
					e.Exit()
				}
			},
		},
		{
			Impl: "sentinel", API: "default-slots", Module: sentinelModule,
			Build:     func(job Job) Instance { return sentinelInstance(job, sentinel.GlobalSlotChain()) },
			Lacks:     map[Row]string{DoClosure: noWrapper},
			Unlimited: "differs from api=breaker-slots in its chain only",
		},
	}
}

func init() {
	// It logs every change of rules to standard output.
	logging.ResetGlobalLoggerLevel(logging.ErrorLevel)
}

func sentinelBreakerChain() *base.SlotChain {
	chain := base.NewSlotChain()
	chain.AddRuleCheckSlot(circuitbreaker.DefaultSlot)
	chain.AddStatSlot(circuitbreaker.DefaultMetricStatSlot)
	return chain
}

var sentinelResources atomic.Int64

// sentinelResource makes a resource with a rule; its breaker is known by the
// resource's name only.
func sentinelResource(job Job) string {
	name := fmt.Sprint("resource-", sentinelResources.Add(1))
	rule := circuitbreaker.Rule{
		Resource: name, Strategy: circuitbreaker.ErrorRatio, Threshold: failureRate,
		RetryTimeoutMs: uint32(job.Cooldown / time.Millisecond), MinRequestAmount: uint64(job.Minimum),
		StatIntervalMs: uint32(window / time.Millisecond), StatSlidingWindowBucketCount: buckets,
	}
	if job.TrackSlow {
		rule.Strategy, rule.MaxAllowedRtMs = circuitbreaker.SlowRequestRatio, uint64(time.Hour/time.Millisecond)
	}
	if _, err := circuitbreaker.LoadRulesOfResource(name, []*circuitbreaker.Rule{&rule}); err != nil {
		panic(fmt.Sprintf("rival: sentinel refuses its rule: %v", err))
	}
	return name
}

func sentinelInstance(job Job, chain *base.SlotChain) Instance {
	name, option := sentinelResource(job), sentinel.WithSlotChain(chain)
	return Instance{
		Success: func() bool {
			e, blocked := sentinel.Entry(name, option)
			if blocked != nil {
				return false
			}
			e.Exit()
			return true
		},
		Failure: func() bool {
			e, blocked := sentinel.Entry(name, option)
			if blocked != nil {
				return false
			}
			sentinel.TraceError(e, errFailed)
			e.Exit()
			return true
		},
		Probe: func(body func()) bool {
			e, blocked := sentinel.Entry(name, option)
			if blocked != nil {
				return false
			}
			body()
			sentinel.TraceError(e, errFailed)
			e.Exit()
			return true
		},
		Close: func() { _ = circuitbreaker.ClearRulesOfResource(name) },
	}
}
