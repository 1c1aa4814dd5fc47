package locked

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// probing is one half-open episode.
type probing struct {
	inFlight int
	asked    bool                 // there has been a probe
	first    time.Duration        // the instant of the first one: quiet ticks are counted from it
	counts   atomicbreaker.Counts // outcomes of this episode's probes

	// The probe window.
	window  int
	full    bool                 // since the last quiet tick, the window was full or refused somebody
	alive   bool                 // there has been a success since the last cut
	cut     uint32               // number of cuts
	tally   int                  // net failures, in sixteenths of a call
	credit  int                  // growth, in 64ths of a place
	top     int                  // probes in flight at the last cut, if that was at the door
	since   atomicbreaker.Counts // of probes sent since the last cut
	fastest time.Duration
	quiet   time.Duration // the next quiet tick

	// The classic rule.
	successes, failures int
	raises              int // places added by silence

	// Silence.
	silence time.Duration // its start
	waited  time.Duration // start of the wait for the next extra place
	pace    time.Duration // length of that wait, if longer than Quiet
}

// halfOpen begins an episode of probing.
func (m *machine) halfOpen(why atomicbreaker.Reason, now time.Duration) {
	m.change(atomicbreaker.StateHalfOpen, why, m.evidence(), now)
	m.probing = probing{
		window:  1,
		fastest: noSuchTime,
		quiet:   now + m.rules.recovery.Quiet,
		silence: now,
		waited:  now,
		pace:    m.cool,
	}
	m.schedule()
}

// classic tells the two kinds of recovery apart.
func (m *machine) classic() bool { return m.rules.recovery.Probes > 0 }

// limit is the number of probes that may be in flight.
func (m *machine) limit() int {
	if m.classic() {
		left := m.rules.recovery.Probes - m.probing.successes - m.probing.failures
		return min(m.rules.recovery.Concurrent, left) + m.probing.raises
	}
	return m.probing.window
}

// acquireProbe admits a probe if there is a place.
func (m *machine) acquireProbe() (claim, verdict) {
	p := &m.probing
	if p.inFlight >= m.limit() {
		p.full = true
		m.schedule()
		return m.refuse(refusedHalfOpen)
	}
	now := m.rules.clock.Now()
	if p.inFlight == 0 {
		if !p.asked {
			p.first = now
		}
		if m.idle() {
			p.quiet = m.quietAfter(now)
		}
		p.silence, p.waited = now, now
	}
	others := p.inFlight
	p.inFlight++
	p.asked = true
	if p.inFlight >= m.limit() && (p.alive || p.cut > 0) { // the first probe always fills the window
		p.full = true
	}
	m.schedule()
	return claim{standing: probe, generation: m.generation, cut: p.cut, others: others, start: now}, admitted
}

// settleProbe takes a probe's outcome into account.
func (m *machine) settleProbe(c claim, e ending, slow bool, floor, now time.Duration) {
	p := &m.probing
	used := p.inFlight
	p.inFlight--
	latency := max(now-c.start, 0)
	p.silence, p.waited = now, now
	switch e {
	case cancelled:
		m.schedule()
		return
	case ignored, local:
		m.totals.lastProbe = atomicbreaker.LastProbe{Settled: true, Outcome: atomicbreaker.Ignored, Latency: latency}
		m.schedule()
		return
	case succeeded:
		m.totals.lastProbe = atomicbreaker.LastProbe{Settled: true, Outcome: atomicbreaker.Success, Latency: latency}
	case failed:
		m.totals.lastProbe = atomicbreaker.LastProbe{Settled: true, Outcome: atomicbreaker.Failure, Latency: latency}
	}
	count(&p.counts, e == failed, slow)

	good := e == succeeded && !slow
	switch {
	case m.classic():
		m.judgeClassic(good, floor, now)
	case c.cut != p.cut:
		// Admitted before the last cut: only its place comes back.
	case good:
		p.since.Calls++
		m.widen(used, latency, now)
	default:
		m.narrow(c.others, max(latency, 1) < p.fastest && p.fastest != noSuchTime, floor, now)
	}
	m.schedule()
}

// judgeClassic closes on the k-th success of n probes, and reopens on the
// failure after which k successes cannot be had any more.
func (m *machine) judgeClassic(good bool, floor, now time.Duration) {
	p, r := &m.probing, &m.rules.recovery
	if good {
		p.successes++
	} else {
		p.failures++
	}
	switch {
	case p.successes >= r.Successes:
		m.recovered(now)
	case p.failures > r.Probes-r.Successes:
		m.reopen(atomicbreaker.ReasonProbeFailed, floor, now)
	}
}

// widen is a success in the probe window.
func (m *machine) widen(used int, latency, now time.Duration) {
	p := &m.probing
	p.alive = true
	p.tally = max(0, p.tally-m.rules.credit)
	p.fastest = min(p.fastest, max(latency, 1)) // not nothing, of which everything is a multiple
	if inUse*used < p.window {
		return // a window that is not in use does not grow
	}
	switch {
	case latency > slowFactor*p.fastest:
		p.credit += slowCredit
	case p.cut == 0:
		p.window += fastGrowth
	case 8*p.window < 7*p.top:
		p.window++
	case 8*p.window <= 9*p.top:
		p.credit += doorCredit
	default:
		p.credit += fastCredit
	}
	p.window += p.credit / oneCall
	p.credit %= oneCall
	if p.window > maxWindow {
		m.recovered(now)
	}
}

// narrow is a failure in the probe window.
func (m *machine) narrow(others int, door bool, floor, now time.Duration) {
	p := &m.probing
	if !p.alive && p.cut == 0 {
		m.reopen(atomicbreaker.ReasonProbeFailed, floor, now) // the first verdict is a single call
		return
	}
	weight := tallyWhole - m.rules.credit
	p.tally += weight
	if p.tally < cutsAt[m.doubt]*weight {
		p.since.Calls, p.since.Failures = p.since.Calls+1, p.since.Failures+1
		return
	}
	p.tally, p.credit = 0, 0
	if !p.alive || p.window == 1 || others == 0 || p.cut > 0 && m.ill(p.since) {
		m.relapse(now)
		m.reopen(atomicbreaker.ReasonProbeFailed, floor, now) // two cuts and no success between them, or nothing to cut
		return
	}
	p.window, p.top, p.since = min(p.window, others), 0, atomicbreaker.Counts{}
	if door {
		p.window, p.top = p.window*doorShare/doorWhole, others
	} else {
		p.window = p.window * cutShare / cutWhole
	}
	p.window = max(1, p.window)
	p.cut++
	p.alive = false
}

// relapse begins a new outage if the dependency was well in this episode.
func (m *machine) relapse(now time.Duration) {
	if m.wasWell() {
		m.trippedAt = now
	}
}

// answered reports whether probes of the window have succeeded in this episode.
func (m *machine) answered() bool {
	p := &m.probing
	return m.state == atomicbreaker.StateHalfOpen && !m.classic() && (p.alive || p.cut > 0)
}

// wasWell reports whether moreover there were ten successes more than make up for the failures.
func (m *machine) wasWell() bool {
	c, w := m.probing.counts, uint64(m.rules.credit)
	return m.answered() && (c.Calls-c.Failures)*w >= c.Failures*(tallyWhole-w)+wellBy*w
}

func (m *machine) ill(c atomicbreaker.Counts) bool {
	return c.Calls > 0 && tallyWhole*c.Failures >= uint64(m.rules.credit)*c.Calls
}

// standing is what the probes since the last cut mean at a quiet tick.
func (m *machine) standing() (closes, reopens bool) {
	p := &m.probing
	switch {
	case !p.alive || m.classic():
		return false, false
	case m.ill(p.since):
		return false, p.since.Calls >= m.rules.minimumCalls
	}
	return m.doubt == 0 || m.wasWell(), false
}

// doubtAfter is the doubt after a change of state.
func (m *machine) doubtAfter(to atomicbreaker.State, why atomicbreaker.Reason, now time.Duration) int {
	opens := m.state == atomicbreaker.StateHalfOpen && to == atomicbreaker.StateOpen
	switch {
	case why == atomicbreaker.ReasonResetCalled,
		m.state == atomicbreaker.StateClosed && now-m.since >= m.rules.window,
		opens && m.wasWell():
		return 0
	case opens && m.answered(),
		m.state == atomicbreaker.StateClosed && to == atomicbreaker.StateOpen && m.reason == atomicbreaker.ReasonRecovered:
		return min(m.doubt+1, len(cutsAt)-1)
	}
	return m.doubt
}

// recover does what time brings about in half-open: a quiet tick closes,
// probes that were silent too long are given up, and a shorter silence of a
// full window makes one more place.
func (m *machine) recover(now time.Duration) {
	p := &m.probing
	if !m.classic() && now >= p.quiet {
		switch closes, reopens := m.standing(); {
		case reopens:
			m.relapse(now)
			m.reopen(atomicbreaker.ReasonProbeFailed, 0, now)
			return
		case closes && !p.full:
			m.recovered(now)
			return
		}
		p.full = p.inFlight >= m.limit()
		p.quiet = m.quietAfter(now)
	}
	if now >= m.givesUp() {
		m.giveUp(now)
		return
	}
	if now >= m.makesPlace() {
		if m.classic() {
			p.raises++
		} else {
			p.window = max(p.window, p.inFlight) + 1
		}
		p.waited = now
		p.pace = min(2*p.pace, m.rules.cooldown.Max)
	}
}

// givesUp is the instant at which the probes in flight are given up.
func (m *machine) givesUp() time.Duration {
	if m.probing.inFlight == 0 {
		return noSuchTime
	}
	return m.probing.silence + m.rules.recovery.ProbeTimeout
}

// giveUp abandons the probes in flight and reopens.
func (m *machine) giveUp(now time.Duration) {
	m.totals.abandoned += uint64(m.probing.inFlight)
	m.relapse(now)
	m.reopen(atomicbreaker.ReasonProbeTimeout, 0, now)
}

// makesPlace is the instant at which silence lets one more probe through.
func (m *machine) makesPlace() time.Duration {
	if m.probing.inFlight < m.limit() {
		return noSuchTime
	}
	return m.probing.waited + max(m.rules.recovery.Quiet, m.probing.pace)
}

// idle reports whether there is nothing that time could bring about: quiet
// ticks then pass unseen.
func (m *machine) idle() bool {
	closes, reopens := m.standing()
	return m.probing.inFlight == 0 && !m.probing.full && !closes && !reopens
}

// quietAfter is the first quiet tick after now.
func (m *machine) quietAfter(now time.Duration) time.Duration {
	quiet, first := m.rules.recovery.Quiet, m.probing.first
	return first + ((now-first)/quiet+1)*quiet
}

// nextStep is when recover has something to do.
func (m *machine) nextStep() time.Duration {
	if m.classic() {
		return min(m.givesUp(), m.makesPlace())
	}
	if m.idle() {
		return noSuchTime
	}
	return min(m.probing.quiet, m.givesUp(), m.makesPlace())
}

// recovered closes the breaker.
func (m *machine) recovered(now time.Duration) {
	m.change(atomicbreaker.StateClosed, atomicbreaker.ReasonRecovered, m.probing.counts, now)
}
