package atomicbreaker

// Reading order: the table of bits, the table of transitions,
// TestTransitionTable, then the litmus tests. After these any change to this
// file can be reviewed.

// A word is all that admission must see together:
//
//	 63           32 31        18 17         4 3    2 1     0
//	+---------------+------------+------------+------+-------+
//	|  generation   |   window   |  inFlight  | mode | phase |
//	+---------------+------------+------------+------+-------+
//
//	phase        2  closed 1, open 2, half-open 3; 0 is a Breaker that New did not make
//	mode         2  Auto, ForcedOpen, ForcedClosed, Shadow
//	inFlight    14  half-open: probes admitted and neither settled nor given up;
//	                otherwise 0
//	window      14  half-open: the inFlight from which on probes are refused;
//	                forced modes: the command to resume by; closed: how many of the
//	                next calls are to be timed, see sampler.go; otherwise 0
//	generation  32  grows by one with every change of phase and every Reset; a
//	                ticket counts only while its generation is the word's
//
// The fields share a word because an admission read from two words goes wrong:
//
//	loser of the race                winner of the race
//	reads state: open, cooldown over
//	                                 state = half-open; probes = 1; sends probe
//	probes++ to 2, unseen by state
//	sends a second probe
//
// The word changes only by compare-and-swap from a value that the writer
// decoded. Everything in this file is a pure function of that value; the
// loops around them hold no policy.
//
// A wrapped generation could make an old ticket look new. At the shortest
// cooldown, 1 ms, a breaker changes its state at most two thousand times a
// second and wraps in 24 days; a ticket would have to stay out for that long
// and be settled in the one generation of four billion that has its number.
// By Reset alone, 20 ns each, that takes over a minute of nothing else.
//
// Linearization points:
//
//	Acquire, Ready, State   the load of the word that shows closed or open; for a
//	                        probe the compare-and-swap that raises inFlight
//	Report, Done, Cancel    whether it is this call that settles: the swap of the
//	                        ticket's flag; late or not: the load of the word
//	                        after that of the cell, for a probe after that of
//	                        the evidence; a probe's verdict: the compare-and-swap
//	                        of the evidence
//	trip, reopen, close,    the compare-and-swap of the word that raises the
//	Trip, Reset, SetMode    generation
type word uint64

const (
	phaseBits      = 2
	modeBits       = 2
	inFlightBits   = 14
	windowBits     = 14
	generationBits = 32

	modeShift       = phaseBits
	inFlightShift   = modeShift + modeBits
	windowShift     = inFlightShift + inFlightBits
	generationShift = windowShift + windowBits

	phaseMask word = 1<<phaseBits - 1

	// quickMask selects what is phaseClosed alone where a call is admitted and
	// nothing else is to be done.
	quickMask word = phaseMask | maxWindow<<windowShift
	modeMask  word = (1<<modeBits - 1) << modeShift

	maxInFlight = 1<<inFlightBits - 1
	maxWindow   = 1<<windowBits - 1
)

// The widths add up to the word: any other sum does not compile.
var _ [0]struct{} = [generationShift + generationBits - 64]struct{}{}

// phase is a State as the word holds it: one more, so that a zero word is none.
type phase = word

const (
	phaseClosed   = phase(StateClosed) + 1
	phaseOpen     = phase(StateOpen) + 1
	phaseHalfOpen = phase(StateHalfOpen) + 1
)

func (w word) phase() phase       { return w & phaseMask }
func (w word) state() State       { return State(w&phaseMask - 1) }
func (w word) mode() Mode         { return Mode(w & modeMask >> modeShift) }
func (w word) inFlight() int      { return int(w >> inFlightShift & maxInFlight) }
func (w word) window() int        { return int(w >> windowShift & maxWindow) }
func (w word) generation() uint32 { return uint32(w >> generationShift) }
func (w word) forced() bool       { return w.mode() == ForcedOpen || w.mode() == ForcedClosed }

// samples is how many of the next calls of a closed word are to be timed.
func (w word) samples() int {
	if w.phase() != phaseClosed || w.forced() {
		return 0
	}
	return w.window()
}

// withSamples sets that number.
func (w word) withSamples(n int) word {
	return pack(w.phase(), w.mode(), 0, n, w.generation())
}

// readyUnlessClosed reports whether a call would be admitted that finds the
// breaker not closed.
func (w word) readyUnlessClosed() bool {
	return w.mode() == Shadow || w.phase() == phaseHalfOpen && w.inFlight() < w.window()
}

func pack(p phase, m Mode, inFlight, window int, generation uint32) word {
	return p | word(m)<<modeShift | word(inFlight)<<inFlightShift |
		word(window)<<windowShift | word(generation)<<generationShift
}

// The transition table. A generation begins with the first six rows, with a
// change of mode that changes the phase, and with a commanded Reset. W0 is the
// first window: 1, or for the classic rule Concurrent.
//
//	event      in                         to                        also
//	trip       closed, not forced         open                      a rule was met; Trip
//	reopen     half-open                  open                      probes failed or fell silent; Trip
//	brake      closed, not forced         half-open, 0 of W         answers come late for their callers
//	cool       open, not forced           half-open, 0 of W0        the cooldown ended
//	close      half-open                  closed                    probes succeeded
//	reset      open, half-open, closed    closed                    Reset; closed to closed is no event
//	admit      half-open, inFlight < W    inFlight + 1
//	release    half-open, inFlight > 0    inFlight - 1, W changed   a probe was settled
//	raise      half-open                  W = max(W, inFlight) + 1  silence
//	sample     closed, not forced         window - 1                a call is timed
//	refill     closed, not forced         window = the samples      time has passed
//	command    forced                     window = the command      Trip or Reset while forced
//	force      any                        ForcedOpen: open; ForcedClosed: closed
//	unforce    ForcedOpen                 half-open, or as commanded
//	           ForcedClosed               closed, the same generation, or as commanded
//	shade      Auto, Shadow               the other of the two, all else the same

// to is the word after a change to phase p: a new generation with nothing in
// flight.
func (w word) to(p phase, window int) word {
	return pack(p, w.mode(), 0, window, w.generation()+1)
}

// admit takes a place in the window. It reports whether there was one.
func (w word) admit() (word, bool) {
	if w.phase() != phaseHalfOpen || w.inFlight() >= w.window() {
		return w, false
	}
	return w + 1<<inFlightShift, true
}

// release gives a place back and sets the window, which is kept within its
// field and above zero. With nothing in flight it changes nothing: a ticket that
// was copied against the rules gives its place back twice.
func (w word) release(window int) word {
	if w.inFlight() == 0 {
		return w
	}
	return pack(w.phase(), w.mode(), w.inFlight()-1, min(max(window, 1), maxWindow), w.generation())
}

// raise lets one more in than are in flight or allowed. At the limit of the
// fields it changes nothing.
func (w word) raise() word {
	window := min(max(w.window(), w.inFlight())+1, maxWindow)
	return pack(w.phase(), w.mode(), w.inFlight(), window, w.generation())
}

// A command is what a forced breaker was told by Trip or Reset, and resumes as.
type command int

const (
	commandNone command = iota
	commandTrip
	commandReset
)

func (w word) command() command {
	if !w.forced() {
		return commandNone
	}
	return command(w.window())
}

// withCommand notes a command in a forced breaker.
func (w word) withCommand(c command) word {
	return pack(w.phase(), w.mode(), 0, int(c), w.generation())
}

// withMode is the word after SetMode(m). The generation is a new one if the
// phase changed, or if a remembered Reset takes effect. first is W0.
func (w word) withMode(m Mode, first int) word {
	if m == w.mode() {
		return w
	}
	wasForced, command := w.forced(), w.command()
	next := w&^modeMask | word(m)<<modeShift
	switch {
	case m == ForcedOpen:
		return next.force(phaseOpen, command)
	case m == ForcedClosed:
		return next.force(phaseClosed, command)
	case !wasForced: // between Auto and Shadow
		return next
	case command == commandTrip:
		return next.resume(phaseOpen, 0)
	case command == commandReset:
		return next.to(phaseClosed, 0)
	case w.phase() == phaseOpen:
		return next.to(phaseHalfOpen, first)
	default:
		return next.resume(phaseClosed, 0)
	}
}

// force holds a word, whose mode is forced already, in phase p. A command
// given under another forced mode stays.
func (w word) force(p phase, c command) word {
	return w.resume(p, int(c))
}

// resume is to, without a new generation where the phase stays.
func (w word) resume(p phase, window int) word {
	if w.phase() == p {
		return pack(p, w.mode(), 0, window, w.generation())
	}
	return w.to(p, window)
}
