// Package rivals holds what circuit breakers of others did in the simulator of
// package sim: figures and traces, recorded from their real code.
//
// They are recorded and not run, so that nobody who runs the simulator downloads
// them. The module bench/peers records them again with
//
//	go test ./simrivals -run Record -record
//
// which is due when the engine or the scenarios of package sim change.
package rivals

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"github.com/atomicbreaker/breaker/sim"
)

// A Recording is what one breaker, at one setting, did in the suite.
type Recording struct {
	Name    string   `json:"name"`    // as a sim.Contender's
	Title   string   `json:"title"`   // for a reader, with the settings that matter
	Module  string   `json:"module"`  // the module that its code is from
	Version string   `json:"version"` // of that module
	Order   int      `json:"order"`   // among the recordings, in tables
	Seeds   []uint64 `json:"seeds"`   // what the figures are medians over
	Rows    []Row    `json:"rows"`
}

// A Row is what it did in one row of the suite.
type Row struct {
	Name, Mode string
	Metrics    sim.Metrics // means over the row's variants, medians over the seeds

	// Example is the run of the first seed and the middle variant, without
	// Changes. It is nil in rows of which reports draw no picture.
	Example *sim.Result
}

// ID is the name and the mode, as of a sim.Row.
func (r *Row) ID() string { return r.Name + "/" + r.Mode }

//go:embed *.json
var files embed.FS

// All returns every recording in the order of tables. It fails only if a
// recording in the source tree is damaged.
func All() ([]Recording, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, err
	}
	var all []Recording
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var r Recording
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("rivals: %s: %w", name, err)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Recording) int { return a.Order - b.Order })
	return all, nil
}

// Entry returns the recording's entry for a row of a suite's report, and whether
// there is one.
func (r *Recording) Entry(row *sim.Row) (sim.Entry, bool) {
	for i := range r.Rows {
		if of := &r.Rows[i]; of.ID() == row.ID() {
			return sim.Entry{Name: r.Name, Title: r.Title + " (" + r.Version + ")", Metrics: of.Metrics, Example: of.Example}, true
		}
	}
	return sim.Entry{}, false
}
