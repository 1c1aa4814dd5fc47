package atomicbreaker

import (
	"math"
	"time"
)

// How a half-open breaker judges its probes. Everything here is a pure
// function; halfopen.go puts it to work.
//
// The window W bounds the probes in flight. It starts at one, because one call
// is enough to say dead; successes widen it, net failures cut it, slow answers stop its fast
// growth. When it has not been full for a quiet time it no longer matters, and
// the breaker closes: its verdict was taken at the load that it then admits.
// A single probe is a measurement at a load of one, and closing on its word
// admits everything: in front of an overloaded dependency that is an outage
// without end.

const (
	// growth by which a fast success widens W before the first cut: with the
	// place of the answered probe, W triples per round trip. Doubling takes 24 s to
	// fill 2000 places at 2 s latency; quadrupling sends fleets into a herd.
	growth = 2

	// creditOne is one place of W in units of credit. After a cut a success
	// earns an eighth of a place (W grows by an eighth per round trip), and a slow answer
	// 1/64: none would stick where it is, 1/16 lets thousands of calls fail in
	// front of a deep queue.
	creditOne  = 64
	creditFast = 8
	creditSlow = 1

	// slowFactor: an answer is slow if it took more than so many times the
	// fastest of this episode. 2 to 8 work alike.
	slowFactor = 3

	// inUse: only a window of which at least a third is in use grows. Answers that
	// come all at once leave it before they have all been counted: with a half,
	// it would not triple per round trip then but grow by two thirds.
	inUse = 3

	// At the door, where a failure comes more quickly than any success, a cut leaves
	// 3/4, and W grows back fast to 7/8 of where it was cut, then slowly past it, then
	// as after any cut: the shape of CUBIC (Ha, Rhee, Xu 2008). What fails so quickly was in no queue.
	doorShare, doorWhole = 3, 4
	doorFast, doorFastOf = 7, 8
	doorSlow, doorSlowOf = 9, 8
	creditDoor           = 2

	// A cut leaves 5/8 of the probes that were in flight when the failing one was
	// sent, itself left out: it was one too many for them, however W has grown
	// since. Of what a hard limit without a queue could serve, half of W gets 76 %
	// and this 83 %. With 3/4 a fleet in front of a deep queue fails up to twice as
	// many calls; 19/32 to 11/16 are alike.
	cutShare, cutWhole = 5, 8

	// netFailures cut the window: one would not let a dependency with 5 % background
	// errors close, three take half a minute at 20 %; four to six are alike.
	netFailures = 5

	// tallyOne is one outcome in units of the tally, see recovery.weight.
	tallyOne = 16
)

// recovery is the rule by which probes are judged.
type recovery struct {
	probes, successes, concurrent int16 // the classic rule, if probes is not 0

	// weight is what a success takes from the tally; a failure adds the rest
	// of tallyOne. The tally is a CUSUM (Page 1954) whose drift changes its sign
	// at the trip share T: weight = round(16 T), within 1 to 15.
	weight int16
}

// firstWindow is the window that half-open begins with.
func (r *recovery) firstWindow() int { return max(int(r.concurrent), 1) }

func newRecovery(c Config) recovery {
	t := c.FailureRate
	if t == Off {
		t = 0.5
	}
	r := c.Recovery
	return recovery{
		probes: int16(r.Probes), successes: int16(r.Successes), concurrent: int16(r.Concurrent),
		weight: min(max(int16(tallyOne*t+0.5), 1), tallyOne-1),
	}
}

// ill reports whether so many probes failed as trip a closed breaker.
func (r *recovery) ill(calls, failures uint64) bool {
	return calls > 0 && failures*tallyOne >= uint64(r.weight)*calls
}

// wellBy net successes show that a dependency is well: by chance, one that fails
// half of its calls seldom has so many.
const wellBy = 10

// well reports whether there were wellBy successes more than keep the failures
// level at the trip share.
func (r *recovery) well(calls, failures uint64) bool {
	w := uint64(r.weight)
	return (calls-min(failures, calls))*w >= failures*(tallyOne-w)+wellBy*w
}

// evidence is what the probes of one generation have shown so far.
//
//	 63           32 31        16 15   14     8 7      2 1   0
//	+---------------+------------+-----+--------+--------+-----+
//	|  generation   |    cut     |alive| tally  | credit |doubt|
//	+---------------+------------+-----+--------+--------+-----+
//
// The classic rule keeps its two numbers in cut and in the bits below.
type evidence struct {
	generation uint32
	cut        uint16 // how often the window was cut; 0 is "never", left out when it wraps
	alive      bool   // a success since the last cut
	tally      uint8  // net failures, in 1/16, below 5 x 15
	credit     uint8  // growth that does not make a place yet, in 1/64
	doubt      uint8  // see maxDoubt
}

func (e evidence) pack() uint64 {
	v := uint64(e.generation)<<32 | uint64(e.cut)<<16 | uint64(e.tally)<<8 | uint64(e.credit)<<2 | uint64(e.doubt)
	if e.alive {
		v |= 1 << 15
	}
	return v
}

// evidenceOf decodes the evidence of a generation; what was left by an earlier
// one counts as none.
func evidenceOf(v uint64, generation uint32) evidence {
	if uint32(v>>32) != generation {
		return evidence{generation: generation}
	}
	return evidence{
		generation: generation,
		cut:        uint16(v >> 16),
		alive:      v>>15&1 != 0,
		tally:      uint8(v >> 8 & 0x7f),
		credit:     uint8(v >> 2 & 0x3f),
		doubt:      uint8(v & maxDoubt),
	}
}

// effect is what a verdict does to the word, besides giving the place back.
type effect struct {
	verdict verdict
	others  int  // of a cut: how many probes were in flight when the failing one was sent
	door    bool // of a cut: at the door
	stale   bool // the probe was sent before the last cut
	grow    int  // places to add to the window; the classic rule takes one away
}

type verdict uint8

const (
	goOn   verdict = iota
	cut            // the window, to a share of the others
	reopen         // it is still down
	recovered
)

// An answer is what the outcome of a probe says.
type answer struct {
	failed bool
	others int  // in flight when the probe was sent
	slow   bool // a success, slow against the fastest
	held   bool // a success that is slow and took more than half of what callers wait
	door   bool // a failure, quicker than any success
	need   int  // calls that were in flight before the trip, at this latency; 0 if unknown
	since  lull // what there was since the last cut
}

// judge takes one answer into the evidence. used and window are of the word
// before the place is given back.
func (r *recovery) judge(e evidence, used, window int, a answer) (evidence, effect) {
	if a.failed {
		return r.failure(e, window, a)
	}
	e.alive = true
	e.tally = uint8(max(0, int(e.tally)-int(r.weight)))
	if inUse*used < window || a.held {
		return e, effect{}
	}
	grow, credit := 0, int(e.credit)
	switch {
	case a.slow:
		credit += creditSlow
	case e.cut == 0:
		grow = ramp(window, a.need)
	case doorFastOf*window < doorFast*a.since.top:
		grow = 1
	case doorSlowOf*window <= doorSlow*a.since.top:
		credit += creditDoor
	default:
		credit += creditFast
	}
	e.credit = uint8(credit % creditOne)
	return e, effect{grow: grow + credit/creditOne}
}

// ramp is the growth by a fast success before the first cut. Below what was in
// flight in health it is the root of that: three round trips lead to any
// need, where tripling takes as many as the need has digits to the base of three.
func ramp(window, need int) int {
	if window >= need {
		return growth
	}
	return max(growth, min(int(math.Sqrt(float64(need))), need-window))
}

func (r *recovery) failure(e evidence, window int, a answer) (evidence, effect) {
	if !e.alive && e.cut == 0 {
		return e, effect{verdict: reopen} // the first verdict is a single call
	}
	weight := tallyOne - int(r.weight)
	tally := int(e.tally) + weight
	if tally < tolerance(e.doubt)*weight {
		e.tally = uint8(tally)
		return e, effect{}
	}
	e.tally, e.credit = 0, 0
	if !e.alive || window <= 1 || a.others == 0 || e.cut > 0 && r.ill(a.since.calls, a.since.failures) {
		// Two cuts and no success between: dead, not slow. Or there is nothing to cut, because
		// the window is one or the probe was alone: a window bounds calls in flight, and with
		// fast answers one in flight is thousands a second. Or the last cut has not helped.
		return e, effect{verdict: reopen}
	}
	e.cut, e.alive = max(e.cut+1, 1), false
	return e, effect{verdict: cut, others: a.others, door: a.door}
}

// tolerance is how many net failures cut the window, by the doubt.
func tolerance(doubt uint8) int {
	return [maxDoubt + 1]int{netFailures, 3, 2, 1}[doubt&maxDoubt]
}

// A lull is the time since the last cut, in 48 bits beside the evidence:
//
//	 47       34 33       17 16        0
//	+-----------+-----------+-----------+
//	|    top    |   calls   | failures  |
//	+-----------+-----------+-----------+
type lull struct {
	top             int    // probes in flight at that cut, if it was at the door; otherwise 0
	calls, failures uint64 // of probes sent since
}

const (
	lullBits = 17
	lullMask = 1<<lullBits - 1
)

func (l lull) pack() uint64 { return uint64(l.top)<<(2*lullBits) | l.calls<<lullBits | l.failures }

func lullOf(v uint64) lull {
	return lull{top: int(v >> (2 * lullBits) & maxInFlight), calls: v >> lullBits & lullMask, failures: v & lullMask}
}

// after is the lull after an outcome and what it did.
func (l lull) after(failed bool, does effect) lull {
	switch {
	case does.verdict == cut && does.door:
		return lull{top: does.others}
	case does.verdict == cut:
		return lull{}
	case does.stale:
		return l
	case l.calls == lullMask:
		l.calls, l.failures = l.calls/2, l.failures/2 // the share stays
	}
	l.calls++
	if failed {
		l.failures++
	}
	return l
}

// A trial is the evidence of the classic rule, in the same word.
type trial struct {
	generation        uint32
	succeeded, failed uint16
}

func (t trial) pack() uint64 {
	return uint64(t.generation)<<32 | uint64(t.succeeded)<<16 | uint64(t.failed)
}

func trialOf(v uint64, generation uint32) trial {
	if uint32(v>>32) != generation {
		return trial{generation: generation}
	}
	return trial{generation, uint16(v >> 16), uint16(v)}
}

// judgeTrial takes one outcome into a trial. The window, at first concurrent,
// shrinks with every verdict that leaves fewer probes to send than may be
// in flight: so probes in flight and verdicts never exceed the probes of an
// episode, but for those that silence let in.
func (r *recovery) judgeTrial(t trial, failed bool) (trial, effect) {
	var e effect
	if failed {
		t.failed++
	} else {
		t.succeeded++
	}
	switch probes, successes := uint16(r.probes), uint16(r.successes); {
	case t.succeeded >= successes:
		e.verdict = recovered
	case t.failed > probes-successes:
		e.verdict = reopen
	case t.succeeded+t.failed > probes-uint16(r.concurrent):
		e.grow = -1
	}
	return t, e
}

// apply is the word after an outcome: its place is given back and the window
// set. It reports false if the word is to change its state instead.
func (e effect) apply(w word) (word, bool) {
	window := w.window() + e.grow
	switch {
	case e.verdict == reopen || e.verdict == recovered || window > maxWindow:
		return w, false
	case e.verdict == cut:
		window = min(w.window(), e.others)
		if e.door {
			window = window * doorShare / doorWhole
		} else {
			window = window * cutShare / cutWhole
		}
	}
	return w.release(window), true
}

// silence returns when probes that are silent since start are joined by one
// more: after Quiet or, if longer, the pace.
func silence(start, raised, quiet, pace time.Duration) time.Duration {
	return later(max(start, raised), max(quiet, pace))
}
