package summary

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/atomicbreaker/breaker/bench/peers"
	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

const perOp = "sec/op"

// load is one degree of concurrency: processors and goroutines on each.
type load struct{ procs, perCore int }

func (l load) String() string { return fmt.Sprintf("%dP x%d", l.procs, l.perCore) }

// loads returns the degrees of concurrency that results of the given base have,
// in rising order.
func (s *Set) loads(base string) []load {
	var all []load
	for _, k := range s.order {
		b, keys := parts(k.name)
		if b != base || k.unit != perOp {
			continue
		}
		var l load
		l.procs, _ = strconv.Atoi(k.proc)
		l.perCore, _ = strconv.Atoi(keys["g"])
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b load) int {
		if a.procs != b.procs {
			return a.procs - b.procs
		}
		return a.perCore - b.perCore
	})
	return all
}

// at returns the measurements under one load. The name is without /g=.
func (s *Set) at(name string, l load, unit string) (Sample, bool) {
	return s.sample(name+"/g="+strconv.Itoa(l.perCore), strconv.Itoa(l.procs), unit)
}

// reference is the load at which ratios are taken: one goroutine for each of the
// most processors.
func reference(loads []load) load {
	best := loads[0]
	for _, l := range loads {
		if l.perCore == 1 && l.procs >= best.procs {
			best = l
		}
	}
	return best
}

func callName(r rival.Row, s rival.Subject) string { return fmt.Sprintf("Call/row=%s/%s", r, s.Key()) }
func floorName(floor string) string                { return "Floor/floor=" + floor }

// WriteFloors writes what the least that a breaker could do costs.
func (s *Set) WriteFloors(w io.Writer) error {
	loads := s.loads("Floor")
	if len(loads) == 0 {
		return nil
	}
	t := table{title: "Floors, ns per operation", head: heads("floor", loads)}
	for _, f := range peers.Floors() {
		t.add(f.Name, s.cells(floorName(f.Name), loads)...)
		t.note("%s: %s", f.Name, f.What)
	}
	return t.write(w)
}

func heads(first string, loads []load, more ...string) []string {
	h := []string{first}
	for _, l := range loads {
		h = append(h, l.String())
	}
	return append(h, more...)
}

func (s *Set) cells(name string, loads []load) []string {
	var cells []string
	for _, l := range loads {
		m, ok := s.at(name, l, perOp)
		if !ok {
			cells = append(cells, "-")
			continue
		}
		cells = append(cells, m.text(perOp))
	}
	return cells
}

// WriteCalls writes a table for every row: every subject, with the ratio to the
// floor and to ours, or the reason why a subject cannot do the row.
func (s *Set) WriteCalls(w io.Writer) error {
	loads := s.loads("Call")
	if len(loads) == 0 {
		return nil
	}
	ref := reference(loads)
	for _, r := range rival.Rows() {
		t := table{
			title: fmt.Sprintf("%s, ns per call; ratios at %v", r, ref),
			head:  heads("breaker", loads, "B/op", "allocs", "x floor", "x ours"),
		}
		for _, subject := range rival.Subjects() {
			s.callLine(&t, r, subject, loads, ref)
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) callLine(t *table, r rival.Row, subject rival.Subject, loads []load, ref load) {
	name, label := callName(r, subject), subject.Impl+" "+subject.API
	if why, lacks := subject.Lacks[r]; lacks {
		if subject.Rival() { // ours say it in the rows that they do
			t.say(label, "n/a: "+why)
		}
		return
	}
	if _, ok := s.at(name, ref, perOp); !ok {
		t.say(label, "not measured")
		return
	}
	floor, _ := s.at(floorName(peers.FloorOf(r, subject)), ref, perOp)
	counterpart, _ := s.at(callName(r, oursFor(subject)), ref, perOp)
	t.add(label, append(s.cells(name, loads),
		s.worst(name, loads, "B/op"), s.worst(name, loads, "allocs/op"),
		s.ratio(name, ref, floor), s.ratio(name, ref, counterpart))...)
	if lo, hi, ok := s.admitted(name, loads); ok {
		t.note("%s admitted %.3g to %.3g %% of the calls%s", label, lo, hi, because(subject))
	}
}

func because(s rival.Subject) string {
	if s.Leaks == "" {
		return ": it refuses by chance"
	}
	return ": it " + s.Leaks
}

// admitted is the range of the share of calls that were admitted where not none
// or not all were.
func (s *Set) admitted(name string, loads []load) (lo, hi float64, ok bool) {
	for _, l := range loads {
		m, has := s.at(name, l, "admitted-%")
		if !has {
			continue
		}
		if !ok {
			lo, hi = m.Median(), m.Median()
		}
		lo, hi, ok = min(lo, m.Median()), max(hi, m.Median()), true
	}
	return lo, hi, ok
}

// worst is the largest median of a unit over all loads.
func (s *Set) worst(name string, loads []load, unit string) string {
	most, any := 0.0, false
	for _, l := range loads {
		if m, ok := s.at(name, l, unit); ok {
			most, any = max(most, m.Median()), true
		}
	}
	if !any {
		return "-"
	}
	return scaled(most, unit)
}

func (s *Set) ratio(name string, l load, to Sample) string {
	m, ok := s.at(name, l, perOp)
	if !ok || len(to.values) == 0 || to.Median() == 0 {
		return "-"
	}
	return digits(m.Median() / to.Median())
}

// oursFor returns our subject of the same form as another: the wrapper for a
// wrapper, the ticket for anything else.
func oursFor(s rival.Subject) rival.Subject {
	key := "impl=ours/api=acquire"
	if s.Wrapper() {
		key = "impl=ours/api=do"
	}
	ours, err := rival.Find(key)
	if err != nil {
		panic(err) // the keys are constants
	}
	return ours
}

// WriteLosses writes every case in which another breaker is faster than the same
// form of ours or allocates less.
func (s *Set) WriteLosses(w io.Writer) error {
	loads := s.loads("Call")
	if len(loads) == 0 {
		return nil
	}
	t := table{
		title: "Losses: where another breaker is faster than ours, or allocates less",
		head:  []string{"row and breaker", "load", "theirs", "ours", "ours/theirs", ""},
	}
	for _, r := range rival.Rows() {
		for _, rival := range rival.Subjects() {
			if !rival.Rival() {
				continue
			}
			for _, l := range loads {
				s.lossLine(&t, r, rival, l)
			}
		}
	}
	if len(t.rows) == 0 {
		t.say("none", "in no row and under no load")
	}
	return t.write(w)
}

func (s *Set) lossLine(t *table, r rival.Row, rival rival.Subject, l load) {
	theirs, okTheirs := s.at(callName(r, rival), l, perOp)
	ours, okOurs := s.at(callName(r, oursFor(rival)), l, perOp)
	if !okTheirs || !okOurs {
		return
	}
	label := fmt.Sprintf("%s: %s %s", r, rival.Impl, rival.API)
	if theirs.Median() < ours.Median() {
		sure := "within noise"
		if theirs.Differs(ours) {
			sure = "p < 0.05"
		}
		t.add(label, l.String(), theirs.text(perOp), ours.text(perOp), digits(ours.Median()/theirs.Median()), sure)
	}
	theirs, _ = s.at(callName(r, rival), l, "allocs/op")
	ours, _ = s.at(callName(r, oursFor(rival)), l, "allocs/op")
	if len(theirs.values) > 0 && len(ours.values) > 0 && theirs.Median() < ours.Median() {
		t.add(label, l.String(), scaled(theirs.Median(), "")+" allocs", scaled(ours.Median(), "")+" allocs", "-", "")
	}
}
