package bench

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// BenchmarkBeforeProbe is the hot path of a breaker without a BeforeProbe, and
// of one with: no call asks it, and none may be dearer for it.
func BenchmarkBeforeProbe(b *testing.B) {
	for _, hook := range []struct {
		name string
		f    func(atomicbreaker.CooldownOver) time.Duration
	}{{"none", nil}, {"set", func(atomicbreaker.CooldownOver) time.Duration {
		b.Error("a call asked")
		return 0
	}}} {
		with := func(c atomicbreaker.Config) atomicbreaker.Config {
			c.BeforeProbe = hook.f
			return c
		}
		open := newAtomic(b, with(tripped()))
		open.Trip()
		closed := newAtomic(b, with(steady()))
		for _, r := range []struct {
			path string
			work work
		}{
			{"refused", work{body: acquireAtomic(open)}},
			{"closed", work{admits: true, body: callAtomic(closed, 0)}},
			{"failing", work{admits: true, body: callAtomic(closed, 10)}},
			{"do", work{admits: true, body: doAtomic(closed)}},
			{"ready", work{admits: true, body: readyAtomic(closed)}},
		} {
			b.Run("hook="+hook.name+"/path="+r.path, func(b *testing.B) { measure(b, r.work, 1) })
		}
	}
}
