package locked

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// turn moves the window to the bucket of now.
func (m *machine) turn(now time.Duration) {
	m.window.advance(int64((now - m.made) / m.rules.width))
	m.edge = m.made + time.Duration(m.window.newest+1)*m.rules.width
	m.schedule()
}

// trip opens a closed breaker: an outage begins.
func (m *machine) trip(why atomicbreaker.Reason, counts atomicbreaker.Counts, floor, now time.Duration) {
	m.trippedAt, m.cool = now, m.rules.cooldown.Min
	m.open(why, counts, floor, now)
}

// reopen opens a half-open breaker: the outage goes on.
func (m *machine) reopen(why atomicbreaker.Reason, floor, now time.Duration) {
	c := m.rules.cooldown
	switch {
	case c.Factor == 0:
		m.cool = min(max((now-m.trippedAt)/ageDivisor, c.Min), c.Max)
	case c.Factor > 1:
		m.cool = time.Duration(min(float64(m.cool)*c.Factor, float64(c.Max)))
	}
	m.open(why, m.probing.counts, floor, now)
}

// open begins a cooldown. Where the server said how long to stay away, the
// jitter only adds to that.
func (m *machine) open(why atomicbreaker.Reason, counts atomicbreaker.Counts, floor, now time.Duration) {
	m.change(atomicbreaker.StateOpen, why, counts, now)
	m.startCooldown(floor, now)
}

func (m *machine) startCooldown(floor, now time.Duration) {
	c := m.rules.cooldown
	random := 0.0
	if c.Jitter > 0 {
		random = m.rules.rand()
	}
	floor = min(floor, c.Max)
	if floor > 0 && floor >= m.cool {
		m.deadline = now + floor + time.Duration(float64(floor)*(c.Jitter*random))
	} else {
		m.deadline = now + max(floor, time.Duration(float64(m.cool)*(1-c.Jitter+2*c.Jitter*random)))
	}
	m.schedule()
}

// change is every change of state: it ends the generation.
func (m *machine) change(to atomicbreaker.State, why atomicbreaker.Reason, counts atomicbreaker.Counts, now time.Duration) {
	m.doubt = m.doubtAfter(to, why, now)
	if m.state == atomicbreaker.StateOpen {
		m.totals.timeOpen += now - m.since
	}
	if to == atomicbreaker.StateOpen {
		m.totals.opened++
	}
	m.generation++
	if m.rules.onTransition != nil {
		m.outbox = append(m.outbox, atomicbreaker.Transition{
			Name: m.rules.name, From: m.state, To: to,
			Generation: m.generation, Reason: why, Counts: counts, At: now,
		})
	}
	m.state, m.since, m.reason = to, now, why
	m.deadline, m.edge = noSuchTime, noSuchTime
	m.forget()
	m.schedule()
}

// forget empties the rolling window, the streak included.
func (m *machine) forget() {
	m.window.forget()
	m.streak = 0
}

// tick does what is due.
func (m *machine) tick() {
	now := m.rules.clock.Now()
	if now < m.wake {
		return
	}
	switch m.state {
	case atomicbreaker.StateClosed:
		m.turn(now)
		if m.window.sum.Calls == 0 {
			m.edge = noSuchTime
		}
	case atomicbreaker.StateOpen:
		m.halfOpen(atomicbreaker.ReasonCooldown, now)
	case atomicbreaker.StateHalfOpen:
		m.recover(now)
	}
	m.schedule()
}

// schedule works out when tick is to be called next.
func (m *machine) schedule() {
	switch m.state {
	case atomicbreaker.StateClosed:
		m.wake = m.edge
	case atomicbreaker.StateOpen:
		m.wake = m.deadline
	case atomicbreaker.StateHalfOpen:
		m.wake = m.nextStep()
	}
}

// read reads the clock unless that has been done for this decision.
func (m *machine) read(now time.Duration) time.Duration {
	if now == notReadYet {
		return m.rules.clock.Now()
	}
	return now
}

// retryAfter is how long the breaker will go on refusing at least; in half-open
// and full it is a hint, as long as the last probe took.
func (m *machine) retryAfter(now time.Duration) time.Duration {
	if m.state == atomicbreaker.StateHalfOpen && !m.ready() {
		last, quiet := m.totals.lastProbe, m.rules.recovery.Quiet
		if !last.Settled {
			return quiet
		}
		return max(min(last.Latency, quiet), minRetry)
	}
	if m.state != atomicbreaker.StateOpen || m.deadline == noSuchTime {
		return 0
	}
	return max(m.deadline-now, minRetry)
}
