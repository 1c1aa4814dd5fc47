package summary

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/bench/peers"
	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

// TailUnits, MemoryUnits and StressUnits are the columns of these reports.
var (
	TailUnits   = []string{"p50-sec", "p99-sec", "p99.9-sec", "p99.99-sec", "max-sec", "over1us-ppm"}
	MemoryUnits = []string{"B/breaker", "objects/breaker", "goroutines/breaker", "GC-sec"}
	StressUnits = []string{"probes", "early", "overlapping", "worst-under-way", "shortest-gap-sec"}
)

// WriteTails writes the distributions of the times of single calls.
func (s *Set) WriteTails(w io.Writer) error {
	return s.grouped(w, "Tails", []string{"row", "g"}, func(k map[string]string) string {
		return fmt.Sprintf("Tail of %s, %s goroutines per core", k["row"], k["g"])
	}, TailUnits, func(t *table, _ map[string]string) {
		t.note("each call includes one reading of the time stamp counter, as the bare loop does; what the bare loop")
		t.note("shows over 1us is preemption. over1us-ppm: calls over 1 us in a million")
		for _, k := range s.order {
			if k.name == "Counter" {
				t.note("the counter moves in steps of %s", scaled(s.samples[k][0], k.unit))
				break
			}
		}
	})
}

// WriteMemory writes what breakers weigh.
func (s *Set) WriteMemory(w io.Writer) error {
	return s.grouped(w, "Memory", []string{"n", "use"}, func(k map[string]string) string {
		return fmt.Sprintf("Memory of %s breakers, %s", k["n"], k["use"])
	}, MemoryUnits, func(t *table, k map[string]string) {
		for _, subject := range rival.Subjects() {
			if subject.New != nil && !t.has(label(subject)) {
				t.say(label(subject), "n/a: would take over 1 GiB, or was not measured")
			}
		}
		if k["use"] != string(peers.Idle) {
			t.note("what ours takes over an idle one is descriptors of goroutines, about 490 bytes each, which the runtime keeps")
			t.note("after many timers have run at once; when contended, stripes too")
		}
	})
}

// WriteStress writes how probes kept to a limit of one and to the cooldown.
func (s *Set) WriteStress(w io.Writer) error {
	return s.grouped(w, "Stress", []string{"probe", "for"}, func(k map[string]string) string {
		length := "that fail at once"
		if d, err := time.ParseDuration(k["probe"]); err == nil && d > 0 {
			length = fmt.Sprintf("of %v that fail", d)
		}
		return fmt.Sprintf("Probes %s: limit 1, cooldown %v, %d goroutines at GOMAXPROCS %d, for %s",
			length, peers.StressCooldown, peers.StressGoroutines, peers.StressProcs, k["for"])
	}, StressUnits, func(t *table, _ map[string]string) {
		for _, subject := range rival.Subjects() {
			switch {
			case subject.Unlimited != "" && subject.Rival():
				t.say(label(subject), "n/a: "+subject.Unlimited)
			case subject.Slots && t.has(label(subject)):
				t.note("%s admits one probe per span of the wall clock: an overlap is by design", label(subject))
			}
		}
		t.note("early: started less than half a cooldown after the one before")
	})
}

func label(s rival.Subject) string { return s.Impl + " " + s.API }

func (t *table) has(name string) bool {
	return slices.ContainsFunc(t.rows, func(r row) bool { return r.name == name })
}

// grouped writes one table for each combination of the group keys, with a line
// for each subject and a column for each unit. The last function adds to a table
// before it is written.
func (s *Set) grouped(w io.Writer, base string, group []string, title func(map[string]string) string,
	units []string, add func(*table, map[string]string)) error {
	var order []string
	tables, seen := map[string]*table{}, map[string]bool{}
	keysOf := map[string]map[string]string{}
	for _, k := range s.order {
		b, keys := parts(k.name)
		if b != base || seen[k.name] {
			continue
		}
		seen[k.name] = true
		var id string
		for _, g := range group {
			id += keys[g] + "/"
		}
		t := tables[id]
		if t == nil {
			t = &table{title: title(keys), head: []string{"breaker"}}
			for _, u := range units {
				t.head = append(t.head, strings.TrimSuffix(u, "-sec")) // the cells show a unit
			}
			tables[id], keysOf[id] = t, keys
			order = append(order, id)
		}
		name := keys["impl"]
		if keys["api"] != "" {
			name += " " + keys["api"]
		}
		t.add(name, s.units(k.name, k.proc, units)...)
	}
	for _, id := range order {
		if add != nil {
			add(tables[id], keysOf[id])
		}
		if err := tables[id].write(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) units(name, proc string, units []string) []string {
	var cells []string
	for _, u := range units {
		m, ok := s.sample(name, proc, u)
		if !ok {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, scaled(m.Median(), u))
	}
	return cells
}

// known are the benchmarks that have tables of their own.
var known = []string{
	"Call", "Floor", "Tails", "Memory", "Stress", "Counter",
	"Buckets", "Stripes", "Breakers", "Failures", "Layout", simulated,
}

// WriteOthers writes every other benchmark: a table for each, a line for each
// name, a column for each unit and number of processors.
func (s *Set) WriteOthers(w io.Writer) error {
	bases := s.bases(func(keys map[string]string) bool { return keys["load"] == "" })
	for _, base := range bases {
		if err := s.other(w, base); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) other(w io.Writer, base string) error {
	type column struct{ proc, unit string }
	var columns []column
	var names []string
	for _, k := range s.order {
		if b, _ := parts(k.name); b != base {
			continue
		}
		if c := (column{k.proc, k.unit}); !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
		if !slices.Contains(names, k.name) {
			names = append(names, k.name)
		}
	}
	slices.SortStableFunc(columns, func(a, b column) int {
		return slices.Index([]string{"sec/op", "B/op", "allocs/op"}, b.unit) - slices.Index([]string{"sec/op", "B/op", "allocs/op"}, a.unit)
	})
	t := table{title: base, head: []string{"benchmark"}}
	for _, c := range columns {
		t.head = append(t.head, fmt.Sprintf("%s %sP", c.unit, c.proc))
	}
	for _, name := range names {
		var cells []string
		for _, c := range columns {
			m, ok := s.sample(name, c.proc, c.unit)
			if !ok {
				cells = append(cells, "-")
				continue
			}
			cells = append(cells, m.text(c.unit))
		}
		t.add(strings.TrimPrefix(strings.TrimPrefix(name, base), "/"), cells...)
	}
	return t.write(w)
}
