package atomicbreaker

import "time"

// silentSince is where silence is counted from: entering half-open, the last
// probe that was settled, or the admission that found nobody in flight,
// whichever is last.
// [E5 observe] Read after the word w that shows somebody in flight.
func (b *Breaker) silentSince(w word) time.Duration {
	return max(b.since(w), time.Duration(b.heard.Load()))
}

// since is the instant at which the state of w began; never if that is over.
func (b *Breaker) since(w word) time.Duration {
	if x, ok := b.records.of(w); ok {
		return x.since
	}
	return never
}

// giveUp reopens a half-open breaker whose probes have been silent for
// ProbeTimeout. The timer does so too; an outcome of that very instant is
// late, whichever comes first.
func (b *Breaker) giveUp(now time.Duration) bool {
	w := b.load()
	return b.silent(w, now) && b.trip(w.generation(), ReasonProbeTimeout, b.episode(w.generation()), 0)
}

// silent reports whether the probes in flight have been silent for
// ProbeTimeout. It is asked for the very word that giving them up changes:
// others may have come into flight since an earlier one.
func (b *Breaker) silent(w word, now time.Duration) bool {
	return w.phase() == phaseHalfOpen && w.inFlight() > 0 && passed(b.silentSince(w), now) >= b.probeTimeout()
}

// quietSince is the instant at which the quiet ticks of w begin: its first
// probe, because before that nobody could be refused.
func (b *Breaker) quietSince(w word) time.Duration {
	since := b.since(w)
	if b.asked.Load() == markOf(w.generation()) {
		since = max(since, time.Duration(b.firstAt.Load()))
	}
	return since
}

// quietTick closes if the window has not been full since the last tick and the
// probes allow it. A window that is full now is full in the time to come: who only asks
// Ready sees that and sets no flag. It reopens if they demand it.
func (b *Breaker) quietTick(w word) bool {
	full := markOf(w.generation())
	switch closes, reopens := b.standing(w); {
	case reopens:
		return b.trip(w.generation(), ReasonProbeFailed, b.episode(w.generation()), 0)
	case closes && b.full.Load() != full:
		return b.close(w)
	}
	if w.inFlight() < w.window() {
		b.full.CompareAndSwap(full, 0)
	}
	return false
}

// noTicks is more quiet ticks than can ever pass: the next one is the first.
const noTicks = 1<<63 - 1

// tickHalfOpen closes, gives up or lets one more in, and returns when to look
// again; never if nothing is in flight, was refused or has been seen.
func (b *Breaker) tickHalfOpen(w word, now time.Duration) time.Duration {
	gen := w.generation()
	quiet := b.cfg().Recovery.Quiet
	since := b.quietSince(w)
	if b.episodeOf != gen {
		b.episodeOf, b.ticks, b.raisedAt = gen, noTicks, b.since(w)
		b.pace = b.cfg().Cooldown.Min
		if cool, ok := b.cool.get(gen - 1); ok {
			b.pace = time.Duration(cool)
		}
	}
	last := b.ticks
	b.ticks = int64(passed(since, now) / quiet)
	if b.ticks > last && b.quietTick(w) || b.giveUp(now) {
		return now
	}
	start := b.silentSince(w)
	if w.inFlight() >= w.window() && now >= silence(start, b.raisedAt, quiet, b.pace) {
		if !b.swap(w, w.raise()) {
			return now
		}
		w = w.raise()
		b.raisedAt = now
		b.pace = min(2*b.pace, b.cfg().Cooldown.Max)
	}
	if closes, reopens := b.standing(w); w.inFlight() == 0 && b.full.Load() != markOf(gen) && !closes && !reopens {
		b.ticks = noTicks
		return never
	}
	next := later(later(since, time.Duration(b.ticks)*quiet), quiet)
	if w.inFlight() > 0 {
		next = min(next, later(start, b.probeTimeout()))
	}
	if place := silence(start, b.raisedAt, quiet, b.pace); place > now { // whoever fills the window later
		next = min(next, place)
	}
	return next
}
