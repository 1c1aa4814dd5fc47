package lab

import (
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/sim"
)

// meter notes how long each call took that was sent, as its caller sees it: until
// the answer, or until the caller gave up.
type meter struct {
	seconds [][]time.Duration // by the second in which the call ended
}

// on puts a meter around the policies of a contender.
func (m *meter) on(c sim.Contender) sim.Contender {
	return sim.Contender{Name: c.Name, Title: c.Title, New: func(site sim.Site) sim.Policy {
		return &metered{Policy: c.New(site), clock: site.Clock, meter: m, from: site.Clock.Now()}
	}}
}

// metered is a policy with a meter. It answers as the policy does.
type metered struct {
	sim.Policy
	clock clock.Clock
	meter *meter
	from  time.Duration
	free  []*stamped
}

// stamped is a ticket with the instant at which it was handed out.
type stamped struct {
	ticket sim.Ticket
	sent   time.Duration
}

func (p *metered) Acquire() (sim.Ticket, bool) {
	ticket, ok := p.Policy.Acquire()
	if !ok {
		return nil, false
	}
	var t *stamped
	if n := len(p.free); n > 0 {
		t, p.free = p.free[n-1], p.free[:n-1]
	} else {
		t = new(stamped)
	}
	t.ticket, t.sent = ticket, p.clock.Now()
	return t, true
}

func (p *metered) Settle(ticket sim.Ticket, o atomicbreaker.Outcome) {
	t := ticket.(*stamped)
	p.Policy.Settle(t.ticket, o)
	now := p.clock.Now()
	if second := int((now - p.from) / time.Second); second < len(p.meter.seconds) {
		p.meter.seconds[second] = append(p.meter.seconds[second], now-t.sent)
	}
	t.ticket = nil
	p.free = append(p.free, t)
}

func (p *metered) State() atomicbreaker.State { return stateOf(p.Policy) }
func (p *metered) Window() int                { return windowOf(p.Policy) }

// quantile is what a share of the calls that ended in a second took at most, in
// milliseconds, or -1 if none ended.
func (m *meter) quantile(second int, share float64) float64 {
	took := m.seconds[second]
	if len(took) == 0 {
		return -1
	}
	if !slices.IsSorted(took) {
		slices.Sort(took)
	}
	return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
}
