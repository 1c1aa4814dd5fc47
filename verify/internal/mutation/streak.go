package mutation

// streaks are the mutations of the default limit of failures in a row.
var streaks = []Mutation{
	m("G9", "failures of one instant are a streak", streak,
		"return !b.cfg().streakByDefault || passed", "return true || passed"),
	m("G9", "a limit that is set waits too", streak,
		"return !b.cfg().streakByDefault || passed", "return passed"),
	m("G9", "a streak goes on from the instant of an earlier one", streak,
		"	if run == patientFrom && b.cfg().streakByDefault {", "	if run == patientFrom && b.streak.at.Load() == 0 {"),
}
