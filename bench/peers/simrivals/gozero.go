package simrivals

import (
	"time"

	"github.com/zeromicro/go-zero/core/breaker"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stat"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/sim"
)

func init() {
	logx.DisableStat()
	stat.SetReporter(nil)
}

// gozeroPolicy goes through promises.
type gozeroPolicy struct{ breaker.Breaker }

// newGozero makes a throttle. It seeds its own source of chance with the time it
// is made at, which in a bubble is the same for all: so each is made at a time of
// its own, drawn from the simulation.
func newGozero(s sim.Site) sim.Policy {
	time.Sleep(time.Duration(s.Rand() * float64(time.Millisecond)))
	return gozeroPolicy{breaker.NewBreaker()}
}

// Ready is always true: a throttle that draws lots has no answer that would
// still hold for the next call.
func (b gozeroPolicy) Ready() bool { return true }

func (b gozeroPolicy) Acquire() (sim.Ticket, bool) {
	p, err := b.Allow()
	return p, err == nil
}

func (b gozeroPolicy) Settle(t sim.Ticket, o atomicbreaker.Outcome) {
	p := t.(breaker.Promise)
	if o == atomicbreaker.Failure {
		p.Reject("failed")
		return
	}
	// A cancelled call is accepted, as the library's own middleware does for
	// errors that say nothing about the server.
	p.Accept()
}
