package atomicbreaker

import "fmt"

// Trip opens the breaker, for the shortest cooldown if it was closed. In
// half-open it reopens as after a failed probe. An open breaker is left as it
// is, its cooldown too. In a forced breaker it is remembered: the breaker will
// be open when the force is lifted.
func (b *Breaker) Trip() {
	b.mustBeMade()
	defer b.tellAll()
	for {
		w := b.load()
		switch {
		case w.forced():
			if b.swap(w, w.withCommand(commandTrip)) {
				return
			}
		case w.phase() == phaseOpen, b.trip(w.generation(), ReasonTripCalled, b.shown(w), 0):
			return
		}
	}
}

// Reset closes the breaker with an empty window and forgets how long the
// outage has lasted. Every ticket that is out becomes late. In a closed breaker it does the same, and
// nothing is announced. In a forced breaker it is remembered: the breaker will
// be closed when the force is lifted. Totals are never reset.
func (b *Breaker) Reset() {
	b.mustBeMade()
	defer b.tellAll()
	for {
		w := b.load()
		if w.forced() {
			if b.swap(w, w.withCommand(commandReset)) {
				return
			}
			continue
		}
		if b.move(w, w.to(phaseClosed, 0), ReasonResetCalled, b.shown(w), b.cfg().Clock.Now()) {
			return
		}
	}
}

// SetMode sets how far the breaker acts by itself. Setting the mode it has
// does nothing. Auto to Shadow and back changes nothing else. A breaker that
// leaves ForcedOpen is half-open, one that leaves ForcedClosed is closed with an empty
// window, unless Trip or Reset was called meanwhile. It panics on an unknown
// mode.
func (b *Breaker) SetMode(m Mode) {
	b.mustBeMade()
	if m > Shadow {
		panic(fmt.Sprintf("atomicbreaker: unknown Mode %d: want Auto, ForcedOpen, ForcedClosed or Shadow", m))
	}
	defer b.tellAll()
	draw := jitter{b: b}
	for {
		cool, wait := b.cool.v.Load(), b.wait.v.Load()
		w := b.load()
		if w.mode() == m || b.setMode(w, m, cool, wait, &draw) {
			return
		}
	}
}

// setMode tries once.
func (b *Breaker) setMode(w word, m Mode, cool, wait uint64, draw *jitter) bool {
	next := w.withMode(m, b.cfg().recovery.firstWindow())
	now := b.cfg().Clock.Now()
	if b.load() != w {
		return false // now may lie within a later opening
	}
	switch {
	case next.phase() == phaseHalfOpen && w.phase() != phaseHalfOpen:
		return b.toHalfOpen(w, next, ReasonSetModeCalled, now)
	case next.mode() == ForcedOpen && w.phase() != phaseOpen:
		if !b.publishForcing(w, next.generation(), now, cool) {
			return false
		}
	case w.command() == commandTrip && !next.forced():
		if !b.publishOpening(w, next.generation(), now, cool, wait, draw, 0) {
			return false
		}
	case w.mode() == ForcedClosed && next.generation() == w.generation():
		b.forget(w.generation())
	}
	if next.generation() != w.generation() {
		return b.move(w, next, ReasonSetModeCalled, b.shown(w), now)
	}
	if !b.swap(w, next) {
		return false
	}
	b.kickAt(now)
	return true
}

// forget empties the window of a generation that goes on.
func (b *Breaker) forget(gen uint32) {
	b.ring.Forget(gen, func() bool { return b.load().generation() == gen })
	if b.last != nil {
		b.last.Forget()
	}
	b.streak.end(gen)
}
