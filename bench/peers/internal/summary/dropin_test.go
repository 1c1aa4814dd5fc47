package summary

import (
	"strings"
	"testing"
)

func TestDropInIsSetAgainstTheOriginal(t *testing.T) {
	s := read(t, `
BenchmarkCall/row=closed-success/impl=gobreaker/api=two-step/g=1-2 	 100	 200 ns/op	 48 B/op	 1 allocs/op
BenchmarkCall/row=closed-success/impl=ours-gobreaker/api=two-step/g=1-2 	 100	 50 ns/op	 80 B/op	 2 allocs/op
`)
	var out strings.Builder
	if err := s.WriteDropIn(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		if len(f) == 5 && f[0] == "closed-success" && f[1] == "two-step" {
			if f[2] != "0.25" || f[3] != "1" || f[4] != "2" {
				t.Errorf("got %q, want a quarter of the time, and one and two allocations", line)
			}
			return
		}
	}
	t.Errorf("no line for the measured row in\n%s", out.String())
}
