package summary

import (
	"fmt"
	"io"
)

// one and two are the columns that targets speak of: a goroutine alone on one
// processor, and one goroutine on each of two.
var (
	one     = ourLoad{"1", serial}
	two     = ourLoad{"2", "1"}
	twoBy16 = ourLoad{"2", "16"}
)

// A target is a ratio that the library must keep to, or another figure.
type target struct {
	what  string
	limit float64
	least bool // the limit is a lower one
	of    func(*Set) (float64, bool)
}

func toFloor(name string, c ourLoad) func(*Set) (float64, bool) {
	return func(s *Set) (float64, bool) { return s.ratioTo(name, "floor", c) }
}

// overMutex is how many times faster ours is than its twin behind a mutex.
func overMutex(name string) func(*Set) (float64, bool) {
	return func(s *Set) (float64, bool) { return s.ratioTo(otherImpl(name, "mutex"), "atomic", twoBy16) }
}

func measured(name, proc, unit string) func(*Set) (float64, bool) {
	return func(s *Set) (float64, bool) {
		m, ok := s.sample(name, proc, unit)
		if !ok {
			return 0, false
		}
		return m.Median(), true
	}
}

const (
	ourRefusal = "Refused/impl=atomic/path=Acquire"
	ourClosed  = "Closed/impl=atomic/path=Acquire+Done/failures=0"
	ourFailing = "Closed/impl=atomic/path=Acquire+Done/failures=10"
	ourDo      = "ClosedDo/impl=atomic/path=Do"
	ourReady   = "Ready/impl=atomic/path=closed"
	ourTail    = "Tails/row=refused-open/g=16/impl=ours/api=acquire"
)

// targets are those of the design, in its order.
func targets() []target {
	var all []target
	floors := func(what, name string, limit float64) {
		for _, c := range []ourLoad{one, two} {
			all = append(all, target{fmt.Sprintf("%s: times the floor, %v", what, c), limit, false, toFloor(name, c)})
		}
	}
	floors("Ready", ourReady, 1.5)
	floors("Acquire refused", ourRefusal, 1.4)
	floors("Acquire and Done, closed", ourClosed, 1.4)
	floors("Do, closed", ourDo, 2)
	for _, path := range []string{"refused", "closed"} {
		pairs := "Pairs/impl=atomic/path=" + path
		all = append(all,
			target{"two goroutines, " + path + ": median of 20 pairs to one alone", 0.65, false, measured(pairs, "2", "median/alone")},
			target{"two goroutines, " + path + ": worst of 20 pairs to one alone", 1, false, measured(pairs, "2", "worst/alone")})
	}
	all = append(all,
		target{"refused: times faster than behind a mutex, 2P x16", 10, true, overMutex(ourRefusal)},
		target{"closed: times faster than behind a mutex, 2P x16", 5, true, overMutex(ourClosed)})
	for _, c := range []ourLoad{one, two} {
		all = append(all, target{fmt.Sprintf("10 %% failures: times the price of success, %v", c), 1.3, false,
			func(s *Set) (float64, bool) {
				failing, ok := s.sample(ourFailing+"/load="+c.load, c.proc, perOp)
				fine, okFine := s.sample(ourClosed+"/load="+c.load, c.proc, perOp)
				if !ok || !okFine {
					return 0, false
				}
				return failing.Median() / fine.Median(), true
			}})
	}
	return append(all, target{"refused, 16 goroutines per core: p99.9 in us", 1, false, func(s *Set) (float64, bool) {
		for _, proc := range []string{"2", "1"} {
			if v, ok := measured(ourTail, proc, "p99.9-sec")(s); ok {
				return v * 1e6, true
			}
		}
		return 0, false
	}})
}

// WriteTargets writes which targets are met and which are missed.
func (s *Set) WriteTargets(w io.Writer) error {
	t := table{title: "Targets", head: []string{"target", "limit", "measured", ""}}
	some := false
	for _, goal := range targets() {
		value, ok := goal.of(s)
		if !ok {
			t.add(goal.what, bound(goal), "-", "not measured")
			continue
		}
		some = true
		verdict := "met"
		if goal.least && value < goal.limit || !goal.least && value > goal.limit {
			verdict = "MISSED"
		}
		t.add(goal.what, bound(goal), digits(value), verdict)
	}
	if !some {
		return nil
	}
	return t.write(w)
}

func bound(t target) string {
	if t.least {
		return fmt.Sprintf(">= %g", t.limit)
	}
	return fmt.Sprintf("<= %g", t.limit)
}
