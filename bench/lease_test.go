package bench

import (
	"context"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// BenchmarkLease is the hot path of a breaker without a Lease, and of one with:
// no call asks it, and none may be dearer for it.
func BenchmarkLease(b *testing.B) {
	for _, lease := range []struct {
		name  string
		lease atomicbreaker.Lease
	}{{"none", nil}, {"set", neverAsked{b}}} {
		with := func(c atomicbreaker.Config) atomicbreaker.Config {
			c.Lease = lease.lease
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
			b.Run("lease="+lease.name+"/path="+r.path, func(b *testing.B) { measure(b, r.work, 1) })
		}
	}
}

// neverAsked fails if it is.
type neverAsked struct{ tb testing.TB }

func (l neverAsked) Go(f func()) { f() }

func (l neverAsked) Ask(context.Context, *atomicbreaker.Breaker) (atomicbreaker.LeaseAnswer, error) {
	l.tb.Error("a call asked the Lease")
	return atomicbreaker.LeaseAnswer{}, nil
}

func (l neverAsked) Tell(context.Context, atomicbreaker.LeaseNews) error { return nil }
