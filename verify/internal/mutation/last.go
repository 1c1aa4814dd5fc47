package mutation

const (
	group     = "atomicbreaker/group.go"
	lastCalls = "atomicbreaker/lastcalls.go"
)

// lastOnes are the mutations of windows that are counted in calls, and of groups.
var lastOnes = []Mutation{
	m("G9", "a failure is judged by the last calls of later", lastCalls,
		"b.judge(w, window, k, run, after)", "window = b.last.Sum(b.last.Head())\n			b.judge(w, window, k, run, after)"),
	m("G7", "an outcome is appended without comparing", last,
		"	if !l.slot(h.number()).CompareAndSwap(old, uint64(w)) {\n		return 0, Counts{}, false\n	}\n	if w.fill()", "	_ = old\n	l.slot(h.number()).Store(uint64(w))\n	if w.fill()"),
	m("G7", "the last calls are summed after the outcome is appended", last,
		"	return h.number()*perWord", "	if failed || slow {\n		window = l.Sum(l.Head())\n	}\n	return h.number()*perWord"),
	m("G7", "a window is forgotten without sealing its word", last,
		"	l.seal(h)\n	return l.head", "	return l.head"),
	m("G7", "a window of calls reaches into the one before it", last,
		"left == 0 || before == 0 {", "left == 0 {"),
	m("G7", "a window of calls drops its oldest word", last,
		"left == 0 || before == 0 {", "left == 0 || before <= 1 {"),
	m("G9", "what leaves ForcedClosed while it is counted is judged by nobody", lastCalls,
		"w.mode() != ForcedClosed || b.released(h)", "w.mode() != ForcedClosed"),
	m("G9", "what ForcedClosed let pass is judged when that is over", lastCalls,
		"!= ForcedClosed && b.last.Same(h)", "!= ForcedClosed"),
	m("G12", "a group keeps a breaker that nobody can find", group,
		"if same := key; key != same {", "if same := key; key != same && false {"),
	m("G12", "a group does not see an outcome among the last calls", last,
		"return uint64(h)<<5 | w.fill()", "return uint64(h)<<5 | w.fill()&0"),
}
