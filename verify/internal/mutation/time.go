package mutation

// Files of the mutations below that no other list needs.
const (
	baton   = "atomicbreaker/baton.go"
	instant = "atomicbreaker/instant.go"
	record  = "atomicbreaker/record.go"
)

// timeAndWord are mutations of what keeps a breaker moving: who announces, who
// works, instants, and what belongs to a generation.
var timeAndWord = []Mutation{
	m("G8", "who asks for a baton is counted", baton,
		"return b.v.Swap(batonAsked) == batonFree", "return b.v.Add(1) == 1"),
	m("G2", "a place that nobody holds is given back", word,
		"	if w.inFlight() == 0 {\n		return w\n	}\n", ""),
	m("G2", "a copied probe counts twice", verdict,
		"return w.generation() == gen && w.inFlight() > 0", "return w.generation() == gen"),
	m("G10", "instants begin at zero", breaker,
		"		instant.Store(now)\n", "		instant.Store(0)\n"),
	m("G4", "a place was made at the instant zero", silence,
		"b.episodeOf, b.ticks, b.raisedAt = gen, noTicks, b.since(w)", "b.episodeOf, b.ticks, b.raisedAt = gen, noTicks, 0"),
	m("G10", "the time between two instants overflows", instant,
		"	case d < 0:\n		return never\n", ""),
	m("G10", "an instant overflows", instant,
		"	if at > never-d {\n		return never\n	}\n", ""),
	m("G8", "a state is shown before its record is written", transition,
		"	mine, head := b.records.write(w, next, x.reason, x)\n	changed := b.swap(w, next)\n",
		"	changed := b.swap(w, next)\n	mine, head := b.records.write(w, next, x.reason, x)\n"),
	m("G8", "a record of another generation is shown", record,
		"h.status() < recordTried || h.generation() != w.generation() || h.phase()", "h.status() < recordTried || h.phase()"),
	m("G8", "a record in use is taken", record,
		"h.status() != recordWritten && int32(h.generation()-current) < 0", "h.status() != recordWritten && int32(h.generation()-current) <= 0"),
}
