package locked

import (
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// machine is the breaker as a sequential state machine. It knows nothing of
// goroutines: whoever holds it calls one method at a time, then sets a timer
// for the instant in wake and delivers what is in outbox.
type machine struct {
	rules rules

	state      atomicbreaker.State
	mode       atomicbreaker.Mode
	generation uint32
	since      time.Duration // when the state last changed
	reason     atomicbreaker.Reason
	made       time.Duration // when the breaker was made; bucket edges are counted from it

	// Closed.
	window   window
	edge     time.Duration // when the running bucket ends; noSuchTime while the window sleeps
	streak   uint64        // failures since the last success
	streakAt time.Duration // when it was five

	// Not closed.
	trippedAt time.Duration // when the outage began
	doubt     int           // its episodes in which probes succeeded and then failed
	cool      time.Duration // the last cooldown before jitter
	deadline  time.Duration // when it ends
	probing   probing       // half-open only

	command command // what to do when a forced mode ends

	totals totals
	wake   time.Duration              // call tick at this instant; noSuchTime for never
	outbox []atomicbreaker.Transition // announcements not yet taken
}

// totals are the counters that only rise.
type totals struct {
	succeeded, failed, ignored, cancelled, late uint64
	slow, abandoned, local                      uint64
	refused                                     [verdicts]uint64
	wouldRefuse                                 uint64
	opened                                      uint64
	timeOpen                                    time.Duration // of openings that are over
	lastProbe                                   atomicbreaker.LastProbe
}

// verdict is the answer to a request for admission.
type verdict uint8

const (
	admitted verdict = iota
	refusedOpen
	refusedHalfOpen
	refusedForced
	verdicts
)

// standing is the part that an admitted call plays.
type standing uint8

const (
	nobody    standing = iota // not admitted
	ordinary                  // admitted while closed
	probe                     // admitted while half-open
	bystander                 // let through by Shadow; counts in the totals only
)

// claim is what a ticket remembers of its admission.
type claim struct {
	standing   standing
	generation uint32
	cut        uint32        // probes only: the number of cuts before it
	others     int           // probes only: how many were in flight then
	start      time.Duration // probes, and every call where slow ones are tracked
}

// ending is how a ticket was settled.
type ending uint8

const (
	succeeded ending = iota
	failed
	ignored
	local // ignored, because the caller has left
	cancelled
)

// start puts a new machine into the state of its mode.
func (m *machine) start(r rules) {
	m.rules = r
	m.made = r.clock.Now()
	m.since = m.made
	m.window.cells = make([]atomicbreaker.Counts, r.buckets)
	m.edge, m.deadline, m.wake = noSuchTime, noSuchTime, noSuchTime
	m.mode = r.mode
	if m.mode == atomicbreaker.ForcedOpen {
		m.state = atomicbreaker.StateOpen
		m.trippedAt, m.cool = m.made, r.cooldown.Min
		m.totals.opened = 1
	}
}

// ready reports whether acquire would admit.
func (m *machine) ready() bool {
	switch {
	case m.mode == atomicbreaker.Shadow:
		return true
	case m.state == atomicbreaker.StateHalfOpen:
		return m.probing.inFlight < m.limit()
	default:
		return m.state == atomicbreaker.StateClosed
	}
}

// acquire admits a call or refuses it.
func (m *machine) acquire() (claim, verdict) {
	switch {
	case m.state == atomicbreaker.StateClosed:
		return claim{standing: ordinary, generation: m.generation}, admitted
	case m.mode == atomicbreaker.ForcedOpen:
		return m.refuse(refusedForced)
	case m.state == atomicbreaker.StateOpen:
		return m.refuse(refusedOpen)
	default:
		return m.acquireProbe()
	}
}

// look is acquire as far as it changes nothing but a counter of refusals. The
// caller counts the refusal. It reports false where acquire has to decide.
func (m *machine) look() (claim, verdict, bool) {
	switch {
	case m.state == atomicbreaker.StateClosed:
		return claim{standing: ordinary, generation: m.generation}, admitted, true
	case m.mode == atomicbreaker.ForcedOpen:
		return claim{}, refusedForced, true
	case m.mode == atomicbreaker.Shadow:
		return claim{}, admitted, false
	case m.state == atomicbreaker.StateOpen:
		return claim{}, refusedOpen, true
	default:
		return claim{}, refusedHalfOpen, m.probing.full && m.probing.inFlight >= m.limit()
	}
}

// refuse counts a refusal, or lets the call through in Shadow.
func (m *machine) refuse(v verdict) (claim, verdict) {
	if m.mode == atomicbreaker.Shadow {
		m.totals.wouldRefuse++
		return claim{standing: bystander}, admitted
	}
	m.totals.refused[v]++
	return claim{}, v
}

// settle records how an admitted call ended. floor is the least cooldown that
// the server asked for, should this outcome open the breaker. now is the
// present for a claim that has a start, otherwise notReadYet. It reports
// whether the user's predicate has to be asked about the window returned; a
// yes to it goes to tripIf.
func (m *machine) settle(c claim, e ending, floor, now time.Duration) (ask bool, counts atomicbreaker.Counts) {
	slow := m.rules.tracksSlow && now-c.start >= m.rules.slow
	if c.standing == bystander {
		m.total(e, slow)
		return false, atomicbreaker.Counts{}
	}
	if c.standing == probe && c.generation == m.generation && now >= m.givesUp() {
		m.giveUp(now) // its timer is late
	}
	switch {
	case c.generation != m.generation:
		m.totals.late++
	case c.standing == probe:
		m.total(e, slow)
		m.settleProbe(c, e, slow, floor, now)
	default:
		m.total(e, slow)
		return m.settleOrdinary(e, slow, floor, now)
	}
	return false, atomicbreaker.Counts{}
}

func (m *machine) total(e ending, slow bool) {
	switch e {
	case succeeded:
		m.totals.succeeded++
	case failed:
		m.totals.failed++
	case ignored:
		m.totals.ignored++
	case local:
		m.totals.ignored++
		m.totals.local++
	case cancelled:
		m.totals.cancelled++
	}
	if slow && (e == succeeded || e == failed) {
		m.totals.slow++
	}
}

// settleOrdinary counts an outcome in the rolling window and asks the rules.
func (m *machine) settleOrdinary(e ending, slow bool, floor, now time.Duration) (ask bool, counts atomicbreaker.Counts) {
	if e != succeeded && e != failed {
		return false, atomicbreaker.Counts{}
	}
	switch {
	case m.rules.width == 0:
		m.window.advance(m.window.newest + 1)
	case m.edge == noSuchTime:
		now = m.read(now)
		m.turn(now)
	}
	m.window.add(e == failed, slow)
	if e == failed {
		m.streak++
		if m.streak == 5 && m.rules.lasting > 0 {
			now = m.read(now)
			m.streakAt = now
		}
	} else {
		m.streak = 0
	}

	if m.mode == atomicbreaker.ForcedClosed || (e == succeeded && !slow) {
		return false, atomicbreaker.Counts{}
	}
	if m.rules.lasting > 0 && m.streak >= m.rules.streak {
		now = m.read(now)
	}
	if why := m.broken(e == failed, now); why != atomicbreaker.ReasonNone {
		m.trip(why, m.window.sum, floor, m.read(now))
		return false, atomicbreaker.Counts{}
	}
	return m.rules.readyToTrip != nil, m.window.sum
}

// broken names the first rule that the window breaks after a failure, or
// after a slow success, which only the slow rule looks at.
func (m *machine) broken(failure bool, now time.Duration) atomicbreaker.Reason {
	r, sum := &m.rules, m.window.sum
	enough := sum.Calls >= r.minimumCalls
	switch {
	case failure && m.streak >= r.streak && (r.lasting == 0 || now-m.streakAt >= r.lasting):
		return atomicbreaker.ReasonStreak
	case failure && enough && sum.FailureRate() >= r.failureRate:
		return atomicbreaker.ReasonFailureRate
	case enough && sum.SlowRate() >= r.slowRate:
		return atomicbreaker.ReasonSlowCallRate
	default:
		return atomicbreaker.ReasonNone
	}
}

// tripIf opens the breaker because the user's predicate said so of counts, if
// it is still in the generation that was asked about.
func (m *machine) tripIf(generation uint32, counts atomicbreaker.Counts, floor time.Duration) {
	if generation != m.generation || m.mode == atomicbreaker.ForcedClosed {
		return
	}
	m.trip(atomicbreaker.ReasonReadyToTrip, counts, floor, m.rules.clock.Now())
}
