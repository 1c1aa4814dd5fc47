package rival

import (
	"github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"
)

const gozeroModule = "github.com/zeromicro/go-zero"

// gozeros returns go-zero's breaker, which refuses by chance, through Do and
// through Allow. Its window, 10 s in 40 buckets, and its thresholds are
// constants. Its reports of refusals to the log are off.
func gozeros() []Subject {
	lacks := func(closure string) map[Row]string {
		return map[Row]string{
			RefusedHalfOpen: noHalfOpen, ErrorReturned: noThreshold, DoClosure: closure, SlowTracking: noSlowRule,
		}
	}
	viaDo := lacks("")
	delete(viaDo, DoClosure)
	return []Subject{
		{
			Impl: "go-zero", API: "do", Module: gozeroModule,
			Build: func(Job) Instance { return gozeroDo(gozeroBreaker()) },
			Lacks: viaDo, ByChance: true, Unlimited: noHalfOpen,
			New: func() any { return gozeroBreaker() },
			Use: func(b any) { _ = b.(breaker.Breaker).Do(func() error { return nil }) },
		},
		{
			Impl: "go-zero", API: "allow", Module: gozeroModule,
			Build: func(Job) Instance { return gozeroAllow(gozeroBreaker()) },
			Lacks: lacks(otherForm), ByChance: true, Unlimited: noHalfOpen,
		},
	}
}

func init() {
	logx.DisableStat() // it logs the load of the machine every minute
	stat.SetReporter(nil)
}

func gozeroBreaker() breaker.Breaker { return breaker.NewBreaker() }

func gozeroDo(b breaker.Breaker) Instance {
	succeed := func() error { return nil }
	fail := func() error { return errFailed }
	return Instance{
		Success: func() bool { return b.Do(succeed) == nil },
		Failure: func() bool { return b.Do(fail) == errFailed },
		Closure: func() bool {
			ran := false
			err := b.Do(func() error { ran = true; return nil })
			return ran && err == nil
		},
		Probe: func(body func()) bool {
			return b.Do(func() error { body(); return errFailed }) == errFailed
		},
	}
}

func gozeroAllow(b breaker.Breaker) Instance {
	return Instance{
		Success: func() bool {
			p, err := b.Allow()
			if err != nil {
				return false
			}
			p.Accept()
			return true
		},
		Failure: func() bool {
			p, err := b.Allow()
			if err != nil {
				return false
			}
			p.Reject("failed")
			return true
		},
		Probe: func(body func()) bool {
			p, err := b.Allow()
			if err != nil {
				return false
			}
			body()
			p.Reject("failed")
			return true
		},
	}
}
