package rivals

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/sim"
)

func TestRowsSurviveTheirFiles(t *testing.T) {
	want := Row{
		Name: "04", Mode: "U",
		Metrics: sim.Metrics{T95: math.Inf(1), Failed: 12, GoodputAfter: 99.5},
		Example: &sim.Result{
			Scenario: "04", Mode: "U", Seed: 7, Breakers: 2, Patience: time.Second,
			Incident: sim.Span{From: 10 * time.Second, To: 20 * time.Second},
			Seconds:  []sim.Second{{Born: 1, Good: 2}, {}, {Open: 1}},
		},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Row
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDamagedRowsAreRefused(t *testing.T) {
	for _, text := range []string{
		`{"name":"04","mode":"U","metrics":{}}`,
		`{"metrics":` + figures(t) + `,"example":{"seconds":2,"columns":{"Born":[1]}}}`,
		`{"metrics":` + figures(t) + `,"example":{"seconds":1,"columns":{"Dead":[1]}}}`,
		`{"metrics":` + figures(t) + `,"example":{"seconds":-1}}`,
	} {
		if err := json.Unmarshal([]byte(text), new(Row)); err == nil {
			t.Errorf("read %s", text)
		}
	}
}

func figures(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(sim.Metrics{})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRecordingsAreWholeAndFitTheSuite(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no recordings")
	}
	for i := range all {
		r := &all[i]
		if !strings.HasPrefix(r.Version, "v") || r.Module == "" || r.Title == "" {
			t.Errorf("%s: module %q at %q", r.Name, r.Module, r.Version)
		}
		for _, row := range sim.Suite() {
			e, ok := r.Entry(&row)
			if !ok {
				continue
			}
			if e.Example != nil && len(e.Example.Seconds) != int(row.Variants[0].Length/time.Second) && len(row.Variants) == 1 {
				t.Errorf("%s in %s: %d seconds of %v", r.Name, row.ID(), len(e.Example.Seconds), row.Variants[0].Length)
			}
		}
		for _, row := range r.Rows {
			known := false
			for _, s := range sim.Suite() {
				known = known || s.ID() == row.ID()
			}
			if !known {
				t.Errorf("%s: the suite has no row %s any more; record again", r.Name, row.ID())
			}
		}
	}
}
