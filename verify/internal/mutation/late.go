package mutation

const lateFile = "atomicbreaker/late.go"

// lost are the mutations of what happens when the timer is lost or late.
var lost = []Mutation{
	m("G4", "nobody finds out that the timer is lost", lateFile,
		"return passed(time.Duration(b.due.Load()), now) >= lateness", "return false"),
	m("G4", "refusals do not find out that the timer is lost", lateFile,
		"n%lateEvery == 0 {", "n == 0 {"),
	m("G4", "questions do not find out that the timer is lost", lateFile,
		"	w, now := b.inTime()\n", "	w, now := b.load(), b.cfg().Clock.Now()\n"),
	m("G4", "a change does not say since when the timer is due", timer,
		"	lower(&b.due, int64(now))\n", ""),
	m("G4", "a timer that panics stops the breaker", timer,
		"	defer func() { _ = recover() }()\n", ""),
	m("G12", "every refusal reads the clock", lateFile,
		"	if n := b.ring.Check(s, counter); n%lateEvery == 0 {", "	if b.ring.Check(s, counter); true {"),
}
