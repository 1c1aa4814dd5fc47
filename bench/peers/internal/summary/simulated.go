package summary

import (
	"fmt"
	"io"
	"slices"
	"strconv"
)

const simulated = "Simulated"

// WriteSimulated writes how often cache lines went from one simulated processor to
// another.
func (s *Set) WriteSimulated(w io.Writer) error {
	for _, of := range []struct{ unit, title string }{
		{"transfers/call", "Simulated, not timed: transfers of cache lines between processors, for each call"},
		{"queue/round", "Simulated, not timed: transfers of the one line that has most, for a round in which each processor makes a call"},
	} {
		t := s.simulatedTable(of.unit)
		if len(t.rows) == 0 {
			return nil
		}
		t.title = of.title
		if of.unit == "queue/round" {
			t.note("Medians over goroutines' stacks drawn from seeds; the worst in brackets. The real code, with all its accesses to memory recorded,")
			t.note("in front of private caches kept coherent by MESI; verify/coherence says how. Lines are of 64 bytes, or of 128 where they are")
			t.note("fetched in pairs. packed: our accesses with the stripes side by side. mutex: bench/locked, if those who wait touched nothing.")
			t.note("counter: one shared addition and no breaker. The transfers of one line come one after another: a round takes at least so many.")
			t.note("Ours costs nothing up to 8 processors, and at 16 for most stacks. Beyond, a deal in which no two goroutines share a stripe is rare, and")
			t.note("dealing ends after 16 tries: with four stripes for each processor a fifth of them share one, with two for each (128 processors, where")
			t.note("Stripes ends at 256) two fifths. Two failures in a row on a shared stripe look like a run, and a run is written to the one streak that")
			t.note("every call reads: the hottest line when a tenth fails.")
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) simulatedTable(unit string) table {
	var columns []int
	var names []growthLine
	for _, k := range s.order {
		b, keys := parts(k.name)
		n, err := strconv.Atoi(keys["processors"])
		if b != simulated || k.unit != unit || err != nil || keys["line"] != "64" && keys["impl"] != "atomic" {
			continue
		}
		if !slices.Contains(columns, n) {
			columns = append(columns, n)
		}
		l := growthLine{name: fmt.Sprintf("%s/path=%s/impl=%s/line=%s/processors=*", b, keys["path"], keys["impl"], keys["line"])}
		if !slices.Contains(names, l) {
			names = append(names, l)
		}
	}
	slices.Sort(columns)
	t := table{head: []string{"path and breaker"}}
	for _, n := range columns {
		t.head = append(t.head, strconv.Itoa(n))
	}
	slices.SortStableFunc(names, func(a, b growthLine) int { return simulatedOrder(a) - simulatedOrder(b) })
	paths := pathsOf(names)
	slices.SortStableFunc(names, func(a, b growthLine) int {
		return slices.Index(paths, path(a)) - slices.Index(paths, path(b))
	})
	for _, l := range names {
		_, keys := parts(l.name)
		label := keys["path"] + ": " + keys["impl"]
		if keys["line"] != "64" {
			label += ", lines in pairs"
		}
		var cells []string
		for _, n := range columns {
			m, ok := s.sample(l.at("processors", strconv.Itoa(n)), "1", unit)
			if !ok {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, withWorst(m))
		}
		t.add(label, cells...)
	}
	return t
}

// simulatedOrder is that of the breakers in a table: ours first.
func simulatedOrder(l growthLine) int {
	_, keys := parts(l.name)
	return slices.Index([]string{"atomic", "packed", "mutex", "counter"}, keys["impl"])
}

func path(l growthLine) string {
	_, keys := parts(l.name)
	return keys["path"]
}

// pathsOf returns the paths in the order in which they are simulated.
func pathsOf(names []growthLine) (all []string) {
	for _, l := range names {
		if p := path(l); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func withWorst(m Sample) string {
	median, worst := digits(m.Median()), digits(slices.Max(m.values))
	if median == worst {
		return median
	}
	return median + " (" + worst + ")"
}
