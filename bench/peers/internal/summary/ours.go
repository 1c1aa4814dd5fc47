package summary

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// The loads that package bench names: one goroutine, and so many for each
// processor.
const serial = "serial"

// ourLoad is one column of the tables of package bench.
type ourLoad struct{ proc, load string }

func (l ourLoad) String() string {
	if l.load == serial {
		return l.proc + "P serial"
	}
	return l.proc + "P x" + l.load
}

// WriteOurs writes what package bench measured: this library beside its twins and
// the floor, each time with its ratio to the floor.
func (s *Set) WriteOurs(w io.Writer) error {
	for _, base := range s.bases(func(keys map[string]string) bool { return keys["load"] != "" }) {
		if err := s.ours(w, base); err != nil {
			return err
		}
	}
	return nil
}

// bases returns the names of benchmarks whose keys are of a kind, in order.
func (s *Set) bases(kind func(map[string]string) bool) []string {
	var all []string
	for _, k := range s.order {
		if b, keys := parts(k.name); !slices.Contains(known, b) && !slices.Contains(all, b) && kind(keys) {
			all = append(all, b)
		}
	}
	return all
}

func (s *Set) ours(w io.Writer, base string) error {
	var names []string
	var columns []ourLoad
	for _, k := range s.order {
		b, keys := parts(k.name)
		if b != base || k.unit != perOp {
			continue
		}
		if name := strings.TrimSuffix(k.name, "/load="+keys["load"]); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if c := (ourLoad{k.proc, keys["load"]}); !slices.Contains(columns, c) && (c.load != serial || c.proc == "1") {
			columns = append(columns, c)
		}
	}
	t := table{title: base + ", ns per call (and times the floor)", head: []string{"breaker"}}
	for _, c := range columns {
		t.head = append(t.head, c.String())
	}
	t.head = append(t.head, "B/op", "allocs")
	for _, name := range names {
		var cells []string
		for _, c := range columns {
			cells = append(cells, s.besideFloor(name, c))
		}
		t.add(strings.TrimPrefix(name, base+"/"), append(cells, s.most(name, columns, "B/op"), s.most(name, columns, "allocs/op"))...)
	}
	return t.write(w)
}

func (s *Set) besideFloor(name string, c ourLoad) string {
	m, ok := s.sample(name+"/load="+c.load, c.proc, perOp)
	if !ok {
		return "-"
	}
	text := m.text(perOp)
	if ratio, ok := s.ratioTo(name, "floor", c); ok {
		text += fmt.Sprintf(" (%s)", digits(ratio))
	}
	return text
}

// ratioTo is the time per call of a row to that of another implementation.
func (s *Set) ratioTo(name, impl string, c ourLoad) (float64, bool) {
	m, ok := s.sample(name+"/load="+c.load, c.proc, perOp)
	of, okOf := s.sample(otherImpl(name, impl)+"/load="+c.load, c.proc, perOp)
	if !ok || !okOf || of.Median() == 0 {
		return 0, false
	}
	return m.Median() / of.Median(), true
}

func otherImpl(name, impl string) string {
	_, keys := parts(name)
	return strings.Replace(name, "/impl="+keys["impl"], "/impl="+impl, 1)
}

func (s *Set) most(name string, columns []ourLoad, unit string) string {
	most, any := 0.0, false
	for _, c := range columns {
		if m, ok := s.sample(name+"/load="+c.load, c.proc, unit); ok {
			most, any = max(most, m.Median()), true
		}
	}
	if !any {
		return "-"
	}
	return scaled(most, unit)
}
