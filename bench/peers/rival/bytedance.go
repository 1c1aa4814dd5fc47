package rival

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bytedance/gopkg/cloud/circuitbreaker"
)

const bytedanceModule = "github.com/bytedance/gopkg"

// bytedances returns the engine of kitex through its panel, which finds the
// breaker by a key, and through the breaker that a panel gives out.
func bytedances() []Subject {
	return []Subject{
		{
			Impl: "bytedance", API: "panel", Module: bytedanceModule,
			Build:     func(job Job) Instance { return bytedancePanel(job) },
			Lacks:     map[Row]string{DoClosure: noWrapper, SlowTracking: noSlowRule},
			Unlimited: "the same breaker as api=breaker",
			New: func() any {
				k := bytedanceKey{bytedanceShared(), fmt.Sprint("key-", bytedanceKeys.Add(1))}
				k.panel.Succeed(k.key) // a panel drops breakers without samples
				return k
			},
			Use: func(b any) {
				k := b.(bytedanceKey)
				k.panel.IsAllowed(k.key)
				k.panel.Succeed(k.key)
			},
		},
		{
			Impl: "bytedance", API: "breaker", Module: bytedanceModule,
			Build: func(job Job) Instance { return bytedanceBreaker(job) },
			Lacks: map[Row]string{DoClosure: noWrapper, SlowTracking: noSlowRule},
		},
	}
}

// bytedanceBuckets is the smallest number that a panel takes.
const bytedanceBuckets = 100

var bytedanceKeys atomic.Int64

type bytedanceKey struct {
	panel circuitbreaker.Panel
	key   string
}

// bytedanceShared is the panel whose breakers are measured for their memory. Its
// window is long, because a panel drops a breaker whose window is empty.
var bytedanceShared = sync.OnceValue(func() circuitbreaker.Panel {
	return newBytedancePanel(JobOf(ClosedSuccess), time.Hour)
})

// newBytedancePanel makes a panel. It is never closed: closing the last one stops
// the ticker that all share, and a panel made just then may never get another.
func newBytedancePanel(job Job, window time.Duration) circuitbreaker.Panel {
	detect := job.Cooldown // one probe per so long
	if job.HoldProbe {
		detect = time.Hour
	}
	p, err := circuitbreaker.NewPanel(nil, circuitbreaker.Options{
		BucketTime: window / bytedanceBuckets, BucketNums: bytedanceBuckets,
		CoolingTimeout: job.Cooldown, DetectTimeout: detect, HalfOpenSuccesses: 1,
		ShouldTrip: circuitbreaker.RateTripFunc(failureRate, int64(job.Minimum)),
	})
	if err != nil {
		panic(fmt.Sprintf("rival: bytedance refuses its options: %v", err))
	}
	return p
}

func bytedancePanel(job Job) Instance {
	const key = "dependency"
	p := newBytedancePanel(job, window)
	call := func(report func(string)) bool {
		if !p.IsAllowed(key) {
			return false
		}
		report(key)
		return true
	}
	succeed, fail := p.Succeed, p.Fail
	return Instance{
		Success: func() bool { return call(succeed) },
		Failure: func() bool { return call(fail) },
		Probe:   func(body func()) bool { return call(func(key string) { body(); fail(key) }) },
	}
}

func bytedanceBreaker(job Job) Instance {
	const key = "dependency"
	p := newBytedancePanel(job, window)
	p.IsAllowed(key)
	b := p.DumpBreakers()[key]
	return Instance{
		Success: func() bool {
			if !b.IsAllowed() {
				return false
			}
			b.Succeed()
			return true
		},
		Failure: func() bool {
			if !b.IsAllowed() {
				return false
			}
			b.Fail()
			return true
		},
		Probe: func(body func()) bool {
			if !b.IsAllowed() {
				return false
			}
			body()
			b.Fail()
			return true
		},
	}
}
