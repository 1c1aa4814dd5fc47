package linear

var rules = []struct {
	name string
	rule rule
}{
	{"window", rule{}},
	{"one probe", rule{1, 1, 1}},
	{"two of three probes", rule{3, 2, 2}},
}
