package atomicbreaker

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// opening is what is known of the outage beside the word. Instants only grow
// (see raise); the rest is tagged with its generation.
//
// [E2 publish] What a change to open or half-open needs is written before the
// word shows it, by a compare-and-swap from what was there before the word
// was read. So whoever sees the change sees what belongs to it, and one who
// slept before his write cannot undo a later one:
//
//	tempting                         and wrong
//	word = open                      a reader sees open with the deadline of
//	deadline = now + cooldown        the last outage, and probes at once
type opening struct {
	trippedAt atomic.Int64 // instant at which this outage began
	coolFrom  atomic.Int64 // instant from which the cooldown counts
	cool      tagged       // cooldown of this opening, before jitter
	wait      tagged       // and after
	records   records
}

// trip opens the breaker if gen is still its generation and it is not forced.
// after is a server's Retry-After. It reports whether this call did it.
func (b *Breaker) trip(gen uint32, why Reason, c Counts, after time.Duration) bool {
	return b.tripAt(gen, why, c, after, never)
}

// tripAt is trip on evidence that was judged at the instant at, during the
// generation; never, to read the clock. So what trips is within the rolling
// window at the instant of the opening, however long this goroutine has slept since.
func (b *Breaker) tripAt(gen uint32, why Reason, c Counts, after, at time.Duration) bool {
	draw := jitter{b: b}
	for {
		cool, wait := b.cool.v.Load(), b.wait.v.Load()
		w := b.load()
		if w.generation() != gen || w.phase() == phaseOpen || w.forced() {
			return false
		}
		now := at
		if now == never {
			now = b.cfg().Clock.Now()
		}
		if b.load() != w {
			continue // now may lie within a later opening, which it must not lengthen
		}
		if why == ReasonProbeTimeout && !b.silent(w, now) {
			return false
		}
		if why != ReasonTripCalled && b.wasWell(w) {
			// It was well and is down again: a new outage. Else one that comes and
			// goes would be asked ever less often, and missed while it is there. But
			// where so many probes fail that a closed breaker would trip, it goes on.
			raise(&b.trippedAt, int64(now))
		}
		b.noteRate(w, c, now)
		if !b.publishOpening(w, w.generation()+1, now, cool, wait, &draw, after) {
			continue
		}
		if b.move(w, w.to(phaseOpen, 0), why, c, now) {
			return true
		}
	}
}

// publishOpening writes the cooldown that generation gen will have if the
// breaker opens from w. It fails if another opening has come between.
func (b *Breaker) publishOpening(w word, gen uint32, now time.Duration, cool, wait uint64, draw *jitter, after time.Duration) bool {
	if w.phase() != phaseHalfOpen {
		raise(&b.trippedAt, int64(now))
	}
	raise(&b.coolFrom, int64(now))
	length := b.cooldown(w, now, cool)
	spread := uint64(draw.spread(length, after))
	if w.generation() != gen && sameGeneration(wait, gen) {
		// Of another who tries, and may have opened since: his server's
		// Retry-After is not to be undone.
		spread = max(spread, wait&taggedMax)
	}
	return b.cool.v.CompareAndSwap(cool, tag(gen, uint64(length))) && b.wait.v.CompareAndSwap(wait, tag(gen, spread))
}

// publishForcing writes what the next reopening goes by if the breaker is
// forced open from w: an outage that begins, or goes on.
func (b *Breaker) publishForcing(w word, gen uint32, now time.Duration, cool uint64) bool {
	length := uint64(b.cfg().Cooldown.Min)
	if w.phase() != phaseHalfOpen {
		raise(&b.trippedAt, int64(now))
	} else if sameGeneration(cool, w.generation()-1) {
		length = cool & taggedMax
	}
	return b.cool.v.CompareAndSwap(cool, tag(gen, length))
}

// ageShare is the part of an outage's age that a cooldown lasts: its end is
// noticed at most an eighth late.
const ageShare = 8

// cooldown is the length of the cooldown that begins now, before jitter; last
// is cool as it was.
func (b *Breaker) cooldown(w word, now time.Duration, last uint64) time.Duration {
	c := &b.cfg().Cooldown
	if w.phase() != phaseHalfOpen {
		return c.Min
	}
	var length time.Duration
	switch {
	case c.Factor == 0:
		length = passed(time.Duration(b.trippedAt.Load()), now) / ageShare
	case sameGeneration(last, w.generation()-1):
		// Factor is at most 16 and the last length 24 hours: no overflow.
		length = time.Duration(float64(last&taggedMax) * c.Factor)
	}
	return min(max(length, c.Min), c.Max)
}

// jitter draws one number for one opening, however often that is attempted.
type jitter struct {
	b     *Breaker
	drawn bool
	at    float64
}

// spread applies the jitter to a cooldown. A server's Retry-After is a floor:
// jitter only adds to it.
func (j *jitter) spread(length, after time.Duration) time.Duration {
	c := &j.b.cfg().Cooldown
	after = min(after, c.Max)
	if c.Jitter == Off {
		return max(length, after)
	}
	if !j.drawn {
		j.drawn, j.at = true, j.b.cfg().Rand()
	}
	if after > 0 && after >= length {
		return after + time.Duration(float64(after)*(c.Jitter*j.at))
	}
	// The conversion keeps processors that fuse multiply and add to the same result.
	share := 1 - c.Jitter + float64(2*c.Jitter*j.at)
	return max(after, time.Duration(float64(length)*share))
}

// noteRate remembers how many calls a second there were before a trip, for the
// growth of the probe window, unless the breaker had only just closed.
func (b *Breaker) noteRate(w word, c Counts, now time.Duration) {
	s := b.sampler.Load()
	if s == nil || w.phase() != phaseClosed {
		return
	}
	length := passed(b.since(w), now)
	if length < time.Second {
		return
	}
	if b.last == nil {
		s.rate.Store(math.Float64bits(float64(c.Calls) / min(length, b.cfg().Window).Seconds()))
	} else {
		s.rate.Store(s.flow.Load())
	}
}

// toHalfOpen ends the cooldown of w, or a ForcedOpen that next leaves, or brakes. It
// reports whether this call did it.
func (b *Breaker) toHalfOpen(w, next word, why Reason, now time.Duration) bool {
	gen := next.generation()
	first := evidence{generation: gen}
	fastest := uint64(taggedMax)
	if before, ok := b.records.of(w); ok {
		first.doubt = uint8(before.doubt)
	}
	if why == ReasonNearDeadline {
		// As after a cut, and with no success yet: the window that is measured grows
		// slowly, and a dependency that is dead reopens.
		first.cut = 1
		fastest = uint64(b.sampler.Load().usualLatency() / 2)
	}
	seen := b.evidence.Load()
	if b.load() != w || b.cfg().recovery.probes == 0 && !b.evidence.CompareAndSwap(seen, first.pack()) {
		return false
	}
	fresh := [...]struct {
		t     *tagged
		value uint64
	}{{&b.fastest, fastest}, {&b.lull, 0}, {&b.calls, 0}, {&b.failures, 0}, {&b.slow, 0}}
	for _, f := range fresh {
		seen := f.t.v.Load()
		if b.load() != w || !f.t.v.CompareAndSwap(seen, tag(gen, f.value)) {
			return false
		}
	}
	return b.move(w, next, why, Counts{}, now)
}

// renew keeps tags of old generations from looking like later ones. It is
// done before the word shows a generation of a round number: no generation
// passes one without it, however fast they follow each other.
func (b *Breaker) renew(w word) {
	b.ring.Renew(w.generation(), func() bool { return b.load() == w })
	for b.last != nil {
		h := b.last.Head()
		if b.last.Live(h, w.generation()) || b.load() != w || b.last.Begin(h, w.generation()) {
			return
		}
	}
}

// begin changes the word into a new generation, which has its record from the
// first moment.
func (b *Breaker) begin(w, next word, why Reason, now time.Duration) bool {
	before, ok := b.records.of(w)
	if !ok {
		return false // the word has gone on
	}
	x := before.follow(w, next, why, now)
	x.doubt = b.doubtAfter(w, next, before, why, now)
	mine, head := b.records.write(w, next, x.reason, x)
	changed := b.swap(w, next)
	mine.settle(head, changed)
	return changed
}

// doubtAfter is the doubt after a change from w, in which x was known; see maxDoubt. It
// lasts until the dependency was well for a stay in half-open, or for the length of a rolling
// window in closed. A breaker that trips sooner than that after it has recovered adds to it.
func (b *Breaker) doubtAfter(w, next word, x began, why Reason, now time.Duration) uint64 {
	switch {
	case why == ReasonResetCalled,
		w.phase() == phaseClosed && passed(x.since, now) >= b.cfg().Window,
		w.phase() == phaseHalfOpen && next.phase() == phaseOpen && b.wasWell(w):
		return 0
	case w.phase() == phaseHalfOpen && next.phase() == phaseOpen && b.answered(w),
		w.phase() == phaseClosed && next.phase() == phaseOpen && x.reason == ReasonRecovered:
		return min(x.doubt+1, maxDoubt)
	}
	return x.doubt
}

// move changes the word into a new generation and does what follows. now was
// read when the word was w already: so instants never go back from one change
// to the next.
func (b *Breaker) move(w, next word, why Reason, c Counts, now time.Duration) bool {
	if next.generation()%ring.RenewEvery == 0 {
		b.renew(w)
	}
	if !b.begin(w, next, why, now) {
		return false
	}
	from, to := w.state(), next.state()
	if why == ReasonProbeTimeout {
		b.abandoned.Add(uint64(w.inFlight()))
	}
	b.kickAt(now)
	b.hang(from == to, Transition{
		Name: b.cfg().Name, From: from, To: to, Generation: next.generation(), Reason: why, Counts: c, At: now,
	})
	return true
}
