package simrivals

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/atomicbreaker/breaker/sim"
	"github.com/atomicbreaker/breaker/sim/rivals"
)

var record = flag.Bool("record", false, "record the rivals again and write the files of package rivals; takes half an hour")

// where the recordings are, from this directory.
const recordings = "../../../sim/rivals"

// seeds are the suite's first.
var seeds = sim.Seeds[:1]

// recorded tells whether a rival is recorded in a row. Rows with callers that
// ask Ready say nothing about a rival that cannot answer.
func recorded(row sim.Row) bool { return row.Mode != sim.ModeReady }

// TestRecord writes the recordings.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("only with -record")
	}
	versions := modules(t)
	for i, r := range Rivals() {
		out := &rivals.Recording{
			Name: r.Name, Title: r.Title, Module: r.Module, Version: versions[r.Module], Order: i, Seeds: seeds,
		}
		var mu sync.Mutex
		t.Run(r.Name, func(t *testing.T) {
			rows := slices.DeleteFunc(sim.Suite(), func(row sim.Row) bool { return !recorded(row) })
			out.Rows = make([]rivals.Row, len(rows))
			for k, row := range rows {
				t.Run(row.ID(), func(t *testing.T) {
					t.Parallel()
					played := playRow(t, row, r)
					mu.Lock()
					defer mu.Unlock()
					out.Rows[k] = played
				})
			}
		})
		if out.Rows != nil && !slices.ContainsFunc(out.Rows, func(r rivals.Row) bool { return r.Name == "" }) {
			write(t, out) // else -run left it or some of its rows out
		}
	}
}

// playRow plays a row as sim.RunSuite does: means over variants, medians over
// seeds.
func playRow(t *testing.T, row sim.Row, r Rival) rivals.Row {
	out := rivals.Row{Name: row.Name, Mode: row.Mode}
	var bySeed []sim.Metrics
	for s, seed := range seeds {
		var byVariant []sim.Metrics
		for v, sc := range row.Variants {
			result := Play(t, sc, r, seed)
			byVariant = append(byVariant, result.Metrics())
			if s == 0 && v == len(row.Variants)/2 && !row.Grid {
				result.Changes = nil
				out.Example = result
			}
		}
		bySeed = append(bySeed, combine(byVariant, func(v []float64) float64 {
			sum := 0.0
			for _, x := range v {
				sum += x
			}
			return sum / float64(len(v))
		}))
	}
	out.Metrics = combine(bySeed, func(v []float64) float64 {
		slices.Sort(v)
		return v[(len(v)-1)/2]
	})
	return out
}

// combine makes one of many, figure by figure.
func combine(of []sim.Metrics, by func([]float64) float64) sim.Metrics {
	var out sim.Metrics
	to := reflect.ValueOf(&out).Elem()
	for i := range to.NumField() {
		var values []float64
		for _, m := range of {
			values = append(values, reflect.ValueOf(m).Field(i).Float())
		}
		to.Field(i).SetFloat(by(values))
	}
	return out
}

// write stores a recording, one row to a line.
func write(t *testing.T, r *rivals.Recording) {
	t.Helper()
	rows := r.Rows
	r.Rows = nil
	head, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(string(head), "null}") + "[\n")
	for i, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		if i < len(rows)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("]}\n")
	if err := os.WriteFile(filepath.Join(recordings, r.Name+".json"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// modules returns the versions that go.mod asks for.
func modules(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(text)) {
		var module, version string
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "%s %s", &module, &version); n == 2 {
			versions[module] = version
		}
	}
	return versions
}
