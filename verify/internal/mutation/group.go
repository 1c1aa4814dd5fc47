package mutation

const groupMake = "atomicbreaker/groupmake.go"

// groups are the mutations of the Group.
var groups = []Mutation{
	m("Group", "many who configure at once are taken for one who asks for its own key", groupMake,
		" && nested() > maxNested {", " {"),
	m("Group", "configuring nests less deep than it may", groupMake,
		"	n := 1\n", "	n := 2\n"),
}
