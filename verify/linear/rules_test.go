package linear

var rules = []struct {
	name string
	rule rule
}{
	{"window", rule{}},
	{"one probe", rule{probes: 1, successes: 1, concurrent: 1}},
	{"two of three probes", rule{probes: 3, successes: 2, concurrent: 2}},
	{"last calls", rule{last: true}},
}
