package summary

import (
	"fmt"
	"io"

	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

// WriteDropIn writes what a program gains that goes over from gobreaker to our
// stand-in for it: the time of a call over the original's, under every load,
// and what each allocates.
func (s *Set) WriteDropIn(w io.Writer) error {
	loads := s.loads("Call")
	if len(loads) == 0 {
		return nil
	}
	t := table{
		title: "Our stand-in for gobreaker: its time over gobreaker's; allocations of both",
		head:  heads("row and api", loads, "gobreaker", "stand-in"),
	}
	for _, r := range rival.Rows() {
		for _, original := range rival.Subjects() {
			if original.Impl == "gobreaker" && original.Lacks[r] == "" {
				s.dropInLine(&t, r, original, loads)
			}
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return t.write(w)
}

func (s *Set) dropInLine(t *table, r rival.Row, original rival.Subject, loads []load) {
	standIn, err := rival.Find("impl=ours-gobreaker/api=" + original.API)
	if err != nil {
		panic(err) // it has every api of the original
	}
	theirs, ours := callName(r, original), callName(r, standIn)
	var cells []string
	measured := false
	for _, l := range loads {
		to, ok := s.at(theirs, l, perOp)
		measured = measured || ok
		cells = append(cells, s.ratio(ours, l, to))
	}
	if !measured {
		return
	}
	t.add(fmt.Sprintf("%s %s", r, original.API), append(cells, s.worst(theirs, loads, "allocs/op"), s.worst(ours, loads, "allocs/op"))...)
}
