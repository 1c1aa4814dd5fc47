package sim

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// oneGoroutine skips a long test that has nothing for the race detector.
func oneGoroutine(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("long, and on one goroutine")
	}
}

// Every target of every scenario is met, by the compared trip rule and by the
// defaults, with medians over the suite's seeds.
func TestSuiteMeetsItsTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of arithmetic")
	}
	oneGoroutine(t)
	report := RunSuite(Options{Contenders: []Contender{Window(), Defaults()}})
	checks := report.Checks()
	if len(checks) < 200 {
		t.Errorf("only %d targets were checked", len(checks))
	}
	for _, c := range checks {
		if !c.Pass {
			t.Errorf("%s is %g, the limit is %g", c.Name, c.Value, c.Limit)
		}
	}
}

// rowsOf returns rows of the suite by their ids.
func rowsOf(t *testing.T, ids ...string) []Row {
	t.Helper()
	var rows []Row
	for _, r := range Suite() {
		if slices.Contains(ids, r.ID()) {
			rows = append(rows, r)
		}
	}
	if len(rows) != len(ids) {
		t.Fatalf("the suite has %d of the rows %v", len(rows), ids)
	}
	return rows
}

// The targets can be missed: with the classic breaker in the place of ours,
// every row that asks for recovery fails.
func TestSuiteRejectsTheClassicBreaker(t *testing.T) {
	oneGoroutine(t)
	impostor := Classic()
	impostor.Name = Window().Name
	for _, c := range RunSuite(Options{
		Rows:       rowsOf(t, "01b/U", "03/U", "04/U", "13-q2000/U"),
		Contenders: []Contender{impostor},
		Seeds:      Seeds[:1],
	}).Checks() {
		recovery := strings.HasSuffix(c.Name, "/t95_s") || strings.HasSuffix(c.Name, "/goodput_during")
		if recovery && c.Pass {
			t.Errorf("the classic breaker passes %s with %g, limit %g", c.Name, c.Value, c.Limit)
		}
	}
}

func TestSuiteRowsAreWellFormed(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range Suite() {
		if ids[r.ID()] {
			t.Errorf("two rows are called %s", r.ID())
		}
		ids[r.ID()] = true
		if r.Title == "" || len(r.Variants) == 0 {
			t.Errorf("row %s is empty", r.ID())
		}
		for _, s := range r.Variants {
			if s.Name != r.Name || s.Mode != r.Mode {
				t.Errorf("row %s has a variant called %s", r.ID(), s.ID())
			}
			if s.Incident.To <= s.Incident.From || s.Incident.To > s.Length || s.Incident.To%time.Second != 0 {
				t.Errorf("row %s: incident %v in a run of %v", r.ID(), s.Incident, s.Length)
			}
			if !slices.IsSortedFunc(s.Dependency.Phases, func(a, b Phase) int { return int(a.From - b.From) }) {
				t.Errorf("row %s: phases out of order", r.ID())
			}
		}
		for _, target := range r.Targets {
			if _, ok := (Metrics{}).Get(target.Metric); !ok {
				t.Errorf("row %s: no metric %s", r.ID(), target.Metric)
			}
		}
	}
	for _, r := range Suite() {
		if r.Twin != "" && !ids[r.Twin] {
			t.Errorf("row %s has no twin %s", r.ID(), r.Twin)
		}
	}
	for _, u := range Suite() {
		if u.Mode == ModeUnbounded && !ids[u.Name+"/"+ModeReady] {
			t.Errorf("row %s has no twin whose callers ask Ready", u.ID())
		}
	}
}

func TestLatenciesOfTheSuiteHaveTheUsualMean(t *testing.T) {
	for _, l := range latencies() {
		if m := l.Mean(); (m - 50*ms).Abs() > 10*time.Microsecond {
			t.Errorf("%s: mean %v, want 50 ms", l.key, m)
		}
	}
}

// The report depends on the options only, not on how many processors there are.
func TestReportIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	options := Options{Rows: rowsOf(t, "01/3", "05c/U"), Contenders: []Contender{Window(), None()}, Seeds: Seeds[:2]}
	one, four := onProcessors(1, options), onProcessors(4, options)
	for i := range one.Rows {
		for k, e := range one.Rows[i].Entries {
			if f := four.Rows[i].Entries[k]; e.Metrics != f.Metrics {
				t.Errorf("%s, %s: %+v on one processor, %+v on four", one.Rows[i].ID(), e.Name, e.Metrics, f.Metrics)
			}
		}
	}
}

func TestFewSeedsSpareThoseWithoutTargets(t *testing.T) {
	o := Options{Rows: Suite(), FewSeeds: 2}
	o.fill()
	for c, contender := range o.Contenders {
		want := 2
		if judged(contender.Name) {
			want = len(Seeds)
		}
		if got := o.seedsOf(0, c); got != want {
			t.Errorf("%s is run with %d seeds, want %d", contender.Name, got, want)
		}
	}
}

func TestLimitsThatDependOnTheOracle(t *testing.T) {
	if l := oraclePlus("t95_s", 4).Limit(8, 0); l != 12 {
		t.Errorf("oracle + 4 is %g", l)
	}
	if l := atMost("t95_s", 3).Limit(math.Inf(1), 0); l != 3 {
		t.Errorf("a limit of 3 is %g where the oracle never gets there", l)
	}
	if l := ofTwin("t95_s", 0.5, 1).Limit(math.Inf(1), 8); l != 5 {
		t.Errorf("half of the twin's 8 and one more is %g", l)
	}
	if !atLeast("closes", 1).Met(1, 1) || atLeast("closes", 1).Met(0, 1) || atMost("closes", 1).Met(2, 1) {
		t.Error("a limit is met from the wrong side")
	}
}
