package mutation

import "slices"

// Files of the breaker.
const (
	announce   = "atomicbreaker/announce.go"
	breaker    = "atomicbreaker/breaker.go"
	closed     = "atomicbreaker/closed.go"
	control    = "atomicbreaker/control.go"
	do         = "atomicbreaker/do.go"
	halfOpen   = "atomicbreaker/halfopen.go"
	silence    = "atomicbreaker/silence.go"
	recovery   = "atomicbreaker/recovery.go"
	snapshot   = "atomicbreaker/snapshot.go"
	state      = "atomicbreaker/state.go"
	streak     = "atomicbreaker/streak.go"
	ticket     = "atomicbreaker/ticket.go"
	timer      = "atomicbreaker/timer.go"
	transition = "atomicbreaker/transition.go"
	validate   = "atomicbreaker/validate.go"
	word       = "atomicbreaker/word.go"
	epoch      = "ring/epoch.go"
	last       = "ring/last.go"
	read       = "ring/read.go"
	ring       = "ring/ring.go"
	stripe     = "ring/stripe.go"
)

// List is all mutations.
var List = slices.Concat(
	guarantees,
	leases,
)

// guarantees are the mutations of the breaker as a whole, by guarantee.
var guarantees = []Mutation{
	m("G1", "one probe more than the window is admitted", word,
		"w.inFlight() >= w.window()", "w.inFlight() > w.window()"),
	m("G1", "the loser of the half-open race is admitted", halfOpen,
		"		if !b.swap(w, next) {\n			w = b.load()\n			continue\n		}\n		mark(&b.asked", "		b.swap(w, next)\n		mark(&b.asked"),
	m("G1", "the probe window begins with two places", recovery,
		"return max(int(r.concurrent), 1) }", "return max(int(r.concurrent), 2) }"),
	m("G1", "the probe window is raised without silence", silence,
		"&& now >= silence(start, b.raisedAt, quiet, b.pace)", ""),
	m("G1", "a failure widens the probe window", recovery,
		"	if failed {\n		return r.failure(e, others)\n	}", "	if failed {\n		n, does := r.failure(e, others)\n		does.grow++\n		return n, does\n	}"),
	m("G1", "probes that are given up keep the window's places", word,
		"return pack(p, w.mode(), 0, window, w.generation()+1)", "return pack(p, w.mode(), w.inFlight(), window, w.generation()+1)"),

	m("G2", "a late outcome closes", halfOpen,
		"	gen := t.claim.generation()\n	defer b.tellAll()", "	gen := t.claim.generation()\n	if w := b.load(); w.phase() == phaseHalfOpen {\n		gen = w.generation()\n	}\n	defer b.tellAll()"),
	m("G2", "an expired probe's place is freed twice", halfOpen,
		"	if b.giveUp(now) || b.load().generation() != gen {\n", "	if b.giveUp(now) || b.load().generation() != gen {\n		if w := b.load(); w.phase() == phaseHalfOpen && w.inFlight() > 0 {\n			b.swap(w, w.release(w.window()))\n		}\n"),
	m("G2", "a cancelled late probe frees a place", halfOpen,
		"		if w.generation() != t.claim.generation() {", "		if w.phase() != phaseHalfOpen || w.inFlight() == 0 {"),
	m("G2", "a failure from before the trip trips again", transition,
		"if w.generation() != gen || w.phase() == phaseOpen || w.forced() {", "if w.phase() == phaseOpen || w.forced() {"),
	m("G2", "evidence of an earlier episode counts", recovery,
		"	if uint32(v>>32) != generation {\n		return evidence{generation: generation}\n	}", ""),
	m("G2", "a trial goes on from an earlier episode", recovery,
		"	if uint32(v>>32) != generation {\n		return trial{generation: generation}\n	}", ""),
	m("G2", "the word is read before the epoch", closed,
		"		e := b.ring.Epoch()\n		w := b.load()\n		if w.generation() != gen {", "		w := b.load()\n		e := b.ring.Epoch()\n		if w.generation() != gen {"),
	m("G2", "a streak outlives its generation", streak,
		"		case g == gen:\n", "		case g == gen || int32(g-gen) < 0 && v&streakLength > 0:\n"),
	m("G2", "an outcome from before a cut cuts again", halfOpen,
		"	if e.cut&cutMask != t.claim.cut() {", "	if e.cut&cutMask != t.claim.cut() && false {"),

	m("G3", "a ticket can be settled twice", ticket,
		"t.settled.Swap(1) == 0", "t.settled.Load() == 0"),
	m("G3", "two settlings of a ticket may both win", ticket,
		"func (t *Ticket) first() bool { return t.breaker != nil && t.settled.Swap(1) == 0 }",
		"func (t *Ticket) first() bool {\n	if t.breaker == nil || t.settled.Load() != 0 {\n		return false\n	}\n	t.settled.Store(1)\n	return true\n}"),
	m("G3", "Cancel settles a settled ticket", ticket,
		"	if !t.first() {\n		return false\n	}\n	t.breaker.giveBack(t, countCancelled)", "	if t.breaker == nil {\n		return false\n	}\n	t.breaker.giveBack(t, countCancelled)"),
	m("G3", "a panic in Do settles nothing", do,
		"		if !returned {\n			t.settle(Failure, 0)\n		}", "		if !returned {\n			return\n		}"),
	m("G3", "a call of Do that panics is a success", do,
		"	if !returned {\n		b.countClosed(gen, ring.Failure, false, 0)", "	if !returned {\n		b.countClosed(gen, ring.Success, false, 0)"),
	m("G3", "a success settles a settled ticket", ticket,
		"			if t.settled.Swap(1) != 0 {\n				return false\n			}\n", ""),

	m("G4", "probes are never given up", silence,
		"w.inFlight() > 0 && now-b.silentSince() >= ", "w.inFlight() < 0 && now-b.silentSince() >= "),
	m("G4", "silence admits nobody", silence,
		"		if !b.swap(w, w.raise()) {\n			return now\n		}\n		w = w.raise()\n", ""),
	m("G4", "a first probe sets no timer", halfOpen,
		"	if w.inFlight() == 0 || next", "	if next"),
	m("G4", "probes that are given up are not counted", transition,
		"if why == ReasonProbeTimeout {", "if why == ReasonNone {"),
	m("G4", "an idle time before the first probe is silence", halfOpen,
		"			raise(&b.heard, int64(now)) // [E5 publish]", "			// [E5 publish]"),
	m("G4", "an outcome does not end the silence", halfOpen,
		"	raise(&b.heard, int64(now))\n	b.noteProbe", "	b.noteProbe"),
	m("G4", "an ignored probe keeps its place", halfOpen,
		"		if b.swap(w, w.release(w.window())) {\n			break\n		}", "		break"),

	m("G5", "Ready takes a place", breaker,
		"			return w.readyUnlessClosed()", "			if next, ok := w.admit(); ok {\n				b.swap(w, next)\n			}\n			return w.readyUnlessClosed()"),
	m("G5", "Ready marks the window as full", breaker,
		"			return w.readyUnlessClosed()", "			if _, ok := w.admit(); !ok {\n				mark(&b.full, w.generation())\n			}\n			return w.readyUnlessClosed()"),
	m("G5", "Snapshot ends the silence", snapshot,
		"	b.mustBeMade()\n	var s Snapshot", "	b.mustBeMade()\n	raise(&b.heard, int64(b.cfg.Clock.Now()))\n	var s Snapshot"),
	m("G5", "RetryAfter counts a refusal", snapshot,
		"	if w.phase() != phaseOpen {\n		return 0\n	}\n	return b.retryAfter", "	if w.phase() != phaseOpen {\n		return 0\n	}\n	b.ring.Count(countRefusedOpen)\n	return b.retryAfter"),

	m("G6", "a cell that is taken over is not folded", ring,
		"			s[foldedWord+int(k)].Add(c & r.countMask)\n			return true", "			return true"),
	m("G6", "a sweep loses what it sweeps", read,
		"					s[foldedWord+kind].Add(c & r.countMask)\n", "					_ = c\n"),
	m("G6", "probes are not in the totals", halfOpen,
		"	b.countTotal(k, slow)\n	b.take", "	b.take"),
	m("G6", "a refusal is counted twice where others are looked for", ring,
		"|| c.CompareAndSwap(n, n)", "|| c.CompareAndSwap(n, n+1)"),
	m("G6", "a counter is not counted up", ring,
		"	n := c.Add(1)\n", "	n := c.Load()\n"),
	m("G6", "a late outcome is not counted", closed,
		"		if w.generation() != gen {\n			b.ring.Count(countLate)\n			return\n		}\n		if !b.ring.Live", "		if w.generation() != gen {\n			return\n		}\n		if !b.ring.Live"),
	m("G6", "cancelled tickets count as ignored", ticket,
		"giveBack(t, countCancelled)", "giveBack(t, countIgnored)"),

	m("G7", "a count is added without its stamp", ring,
		"{ return cell.CompareAndSwap(value, value+1) }", "{ return cell.Add(1) > 0 }"),
	m("G7", "an outcome is counted under an epoch that is over", ring,
		"		if r.Epoch() != e {\n			return false\n		}\n", ""),
	m("G7", "the window has a bucket too few", read,
		"	for range r.buckets {\n		r.addBucket(sum, s, e)", "	for range r.buckets - 1 {\n		r.addBucket(sum, s, e)"),
	m("G7", "a bucket that has left is counted", read,
		"		if c := cells[kind].Load(); c^uint64(b) <= r.countMask {\n			sum[kind]", "		if c := cells[kind].Load(); true {\n			sum[kind]"),
	m("G7", "the other stripes are not read", read,
		"	for _, s := range r.all() {\n		r.addWindow(&sum, s, e)\n	}", "	r.addWindow(&sum, r.first[0], e)"),
	m("G7", "the ring moves to the next bucket early", closed,
		"return uint64(max(now-b.madeAt, 0) / b.bucket)", "return uint64(max(now-b.madeAt+b.bucket/2, 0) / b.bucket)"),
	m("G7", "a window of calls forgets an outcome", last,
		"count := min(h.count()+1, l.n)", "count := min(h.count()+1, max(l.n-1, 1))"),
	m("G7", "a slow recorder sets its bits in a later lap", last,
		"		if c>>lapShift != lap {\n			if laterLap", "		if c>>lapShift != lap && false {\n			if laterLap"),

	m("G8", "a change skips a generation", word,
		"return pack(p, w.mode(), 0, window, w.generation()+1)", "return pack(p, w.mode(), 0, window, w.generation()+2)"),
	m("G8", "Reset of a closed breaker keeps the generation", control,
		"		if b.move(w, w.to(phaseClosed, 0), ReasonResetCalled", "		if w.phase() == phaseClosed {\n			return\n		}\n		if b.move(w, w.to(phaseClosed, 0), ReasonResetCalled"),
	m("G8", "changes are announced in the order of their notes", announce,
		"int32((*at).generation-n.generation) < 0", "false"),
	m("G8", "a Reset of a closed breaker leaves a gap", announce,
		"	if b.cfg.OnTransition == nil {", "	if b.cfg.OnTransition == nil || silent {"),
	m("G8", "a Reset of a closed breaker is announced", announce,
		"			if !n.silent {", "			if true {"),
	m("G8", "a note that comes while one tells is forgotten", announce,
		"		if b.telling.CompareAndSwap(seen, 0) {\n			return\n		}\n		seen = b.telling.Load()", "		b.telling.Store(0)\n		return"),
	m("G8", "two tell at once", announce,
		"b.notes.Load() != nil && b.telling.Add(1) == 1", "b.notes.Load() != nil && b.telling.Add(1) > 0"),
	m("G8", "a listener's panic reaches the caller", announce,
		"		if recover() == nil { // runtime.Goexit\n			go b.tell(b.telling.Load())\n		}", "		_ = 0"),
	m("G8", "a listener's panic is not counted", announce,
		"		b.panics.Add(1)\n		if recover() == nil { // runtime.Goexit", "		if recover() == nil { // runtime.Goexit"),

	m("G9", "the trip comes one call late", closed,
		"c.Calls() >= uint64(b.cfg.MinimumCalls) && b.rateMet(c, k) != ReasonNone:", "c.Calls() > uint64(b.cfg.MinimumCalls) && b.rateMet(c, k) != ReasonNone:"),
	m("G9", "a rate must be exceeded", closed,
		"share(c[ring.Failure], c.Calls()) >= b.cfg.FailureRate", "share(c[ring.Failure], c.Calls()) > b.cfg.FailureRate"),
	m("G9", "a streak must be exceeded", streak,
		"run >= uint32(b.cfg.ConsecutiveFailures)", "run > uint32(b.cfg.ConsecutiveFailures)"),
	m("G9", "a success does not end a streak", closed,
		"			if s.Failing() || b.streak.v.Load()&streakLength != 0 {", "			if s.Failing() && false {"),
	m("G9", "the sum that is due is put off too long", closed,
		"return uint64(max(missing/(1-rate)-1, 0))", "return uint64(missing/(1-rate)) + 2"),
	m("G9", "a quick success trips", closed,
		"		if k == ring.Success && !slow {\n			b.endStreak(s, gen)\n			return\n		}\n		if slow {\n			e", "		if slow {\n			e"),
	m("G9", "the slow rule is not asked", closed,
		"share(c[ring.Slow], c.Calls()) >= b.cfg.SlowCallRate", "share(c[ring.Slow], c.Calls()) > 1"),

	m("G10", "a cooldown ends early", timer,
		"	if now < end {", "	if now < end-time.Millisecond {"),
	m("G10", "the cooldown is counted from the clock's zero", timer,
		"return time.Duration(b.coolFrom.Load()) + time.Duration(wait), ok", "return time.Duration(wait), ok"),
	m("G10", "bucket numbers are counted from the clock's zero", closed,
		"return uint64(max(now-b.madeAt, 0) / b.bucket)", "return uint64(max(now, 0) / b.bucket)"),
	m("G10", "a cooldown is what is left of the clock", transition,
		"length = (now - time.Duration(b.trippedAt.Load())) / ageShare", "length = now / ageShare"),

	m("G10", "a loser's cooldown undoes a server's Retry-After", transition,
		"		spread = max(spread, wait&taggedMax)\n", ""),
	m("G4", "probes that came after the silence are given up", transition,
		"		if why == ReasonProbeTimeout && !b.silent(w, now) {\n			return false\n		}\n", ""),

	m("G11", "a forced breaker trips", transition,
		"w.generation() != gen || w.phase() == phaseOpen || w.forced() {", "w.generation() != gen || w.phase() == phaseOpen {"),
	m("G11", "Shadow refuses", breaker,
		"	case w.mode() == Shadow:\n		return b.passThrough(), nil\n	case w.mode() == ForcedOpen:", "	case w.mode() == ForcedOpen:"),
	m("G11", "Shadow refuses probes", halfOpen,
		"	mark(&b.full, w.generation())\n	if w.mode() == Shadow {", "	mark(&b.full, w.generation())\n	if w.mode() == Shadow && false {"),
	m("G11", "a call that Shadow lets through counts in the window", breaker,
		"return b.ticket(claimShadow)", "return b.ticket(claimOf(b.load()))"),
	m("G11", "Trip is forgotten while forced", control,
		"			if b.swap(w, w.withCommand(commandTrip)) {", "			if b.swap(w, w) {"),
	m("G11", "ForcedOpen says open", breaker,
		"		return Ticket{}, &b.refused[refusedForced]", "		return Ticket{}, &b.refused[refusedOpen]"),
	m("G11", "a forced breaker's timer runs", timer,
		"		case w.mode() == ForcedOpen:\n", "		case w.mode() == ForcedOpen && false:\n"),

	m("G12", "an ordinary call reads the clock", breaker,
		"			return Ticket{breaker: b, claim: claimOf(w)}, nil", "			return Ticket{breaker: b, claim: claimOf(w), start: b.cfg.Clock.Now()}, nil"),
	m("G12", "a refusal reads the clock", breaker,
		"			return Ticket{}, &b.refused[refusedOpen]\n		}\n	}", "			_ = b.cfg.Clock.Now()\n			return Ticket{}, &b.refused[refusedOpen]\n		}\n	}"),
	m("G12", "a refusal allocates", breaker,
		"			return Ticket{}, &b.refused[refusedOpen]\n		}\n	}", "			e := b.refused[refusedOpen]\n			return Ticket{}, &e\n		}\n	}"),
	m("G12", "a settling allocates", ticket,
		"func (t *Ticket) first() bool {", "var kept *Ticket\n\nfunc (t *Ticket) first() bool {\n	kept = &Ticket{breaker: t.breaker}\n"),

	m("G13", "the window never sleeps", closed,
		"		if b.ring.SumAt(e, number).Calls() == 0 {", "		if b.ring.SumAt(e, number).Calls() > 1<<60 {"),
	m("G13", "half-open ticks though nothing is under way", silence,
		"	if !b.ticking {\n		return never\n	}\n", ""),
	m("G13", "a timer keeps its breaker alive", breaker,
		"		if b := held.Value(); b != nil {\n			b.onTimer()\n		}", "		if b != nil && held.Value() != nil {\n			b.onTimer()\n		}"),

	m("recovery", "four net failures cut", recovery, "netFailures = 5", "netFailures = 4"),
	m("recovery", "a success adds one place", recovery, "growth = 2", "growth = 1"),
	m("recovery", "an unused window grows", recovery, "	if inUse*used < window {", "	if 8*used < window {"),
	m("recovery", "a slow answer is as good as a fast one", recovery, "	case slow:\n		credit += creditSlow\n", ""),
	m("recovery", "a cut leaves the window", recovery, "		window = min(w.window(), e.others) * cutShare / cutWhole", "		window = w.window()"),
	m("recovery", "a cut goes by the window, not by the probes", recovery,
		"min(w.window(), e.others) * cutShare", "w.window() * cutShare"),
	m("recovery", "it closes without having seen a success", silence,
		"	if alive && b.full.Load() != full {", "	if b.full.Load() != full {"),
	m("recovery", "a full window is forgotten while it is full", silence,
		"	if w.inFlight() < w.window() {\n		b.full.Comp", "	if true {\n		b.full.Comp"),
	m("recovery", "it closes though callers were refused", silence,
		"	if alive && b.full.Load() != full {", "	if alive {"),
	m("recovery", "only a refusal marks the window as full", halfOpen,
		"		if next.inFlight() >= next.window() {\n			mark(", "		if false {\n			mark("),
	m("recovery", "one success too few closes", recovery,
		"	case t.succeeded >= successes:", "	case t.succeeded >= max(successes-1, 1):"),
	m("recovery", "one failure too many reopens", recovery,
		"	case t.failed > probes-successes:", "	case t.failed > probes-successes+1:"),
	m("recovery", "jitter is left out", transition,
		"float64(2*c.Jitter*j.at)", "float64(2*c.Jitter*0.5)"),
}
