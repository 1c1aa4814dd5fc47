package rivals

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/atomicbreaker/breaker/sim"
)

// stored is a Row in a file. JSON has no infinity, so that a figure that stands
// for never is null; and a run is stored by columns, of which those without
// anything but zeros are left out, because that is a fifth of the size.
type stored struct {
	Name    string              `json:"name"`
	Mode    string              `json:"mode"`
	Metrics map[string]*float64 `json:"metrics"`
	Example *storedRun          `json:"example,omitempty"`
}

type storedRun struct {
	Seed     uint64           `json:"seed"`
	Breakers int              `json:"breakers"`
	From     time.Duration    `json:"incident_from_ns"`
	To       time.Duration    `json:"incident_to_ns"`
	Patience time.Duration    `json:"patience_ns"`
	Length   int              `json:"seconds"`
	Columns  map[string][]int `json:"columns"`
}

// MarshalJSON writes the row in the form of the files.
func (r Row) MarshalJSON() ([]byte, error) {
	s := stored{Name: r.Name, Mode: r.Mode, Metrics: map[string]*float64{}}
	forEachFigure(&r.Metrics, func(name string, v *float64) {
		if math.IsInf(*v, 1) {
			s.Metrics[name] = nil
		} else {
			s.Metrics[name] = v
		}
	})
	if e := r.Example; e != nil {
		s.Example = &storedRun{
			Seed: e.Seed, Breakers: e.Breakers, From: e.Incident.From, To: e.Incident.To, Patience: e.Patience,
			Length: len(e.Seconds), Columns: columns(e.Seconds),
		}
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads the form of the files.
func (r *Row) UnmarshalJSON(text []byte) error {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*r = Row{Name: s.Name, Mode: s.Mode}
	var missing string
	forEachFigure(&r.Metrics, func(name string, v *float64) {
		switch stored, ok := s.Metrics[name]; {
		case !ok && name == "failed_probes": // it has been added since, and no recording is judged by it
		case !ok:
			missing = name
		case stored == nil:
			*v = math.Inf(1)
		default:
			*v = *stored
		}
	})
	if missing != "" {
		return fmt.Errorf("row %s has no figure %q", r.ID(), missing)
	}
	if s.Example == nil {
		return nil
	}
	seconds, err := secondsOf(s.Example.Length, s.Example.Columns)
	if err != nil {
		return fmt.Errorf("row %s: %w", r.ID(), err)
	}
	r.Example = &sim.Result{
		Scenario: s.Name, Mode: s.Mode, Seed: s.Example.Seed, Breakers: s.Example.Breakers,
		Incident: sim.Span{From: s.Example.From, To: s.Example.To}, Patience: s.Example.Patience, Seconds: seconds,
	}
	return nil
}

// forEachFigure visits the figures by the names that their JSON tags give.
func forEachFigure(m *sim.Metrics, visit func(name string, v *float64)) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		visit(v.Type().Field(i).Tag.Get("json"), v.Field(i).Addr().Interface().(*float64))
	}
}

func columns(seconds []sim.Second) map[string][]int {
	all := map[string][]int{}
	for i := range reflect.TypeFor[sim.Second]().NumField() {
		column, any := make([]int, len(seconds)), false
		for s := range seconds {
			column[s] = int(reflect.ValueOf(seconds[s]).Field(i).Int())
			any = any || column[s] != 0
		}
		if any {
			all[reflect.TypeFor[sim.Second]().Field(i).Name] = column
		}
	}
	return all
}

func secondsOf(n int, columns map[string][]int) ([]sim.Second, error) {
	if n < 0 || n > 1e6 {
		return nil, fmt.Errorf("a run of %d seconds", n)
	}
	seconds := make([]sim.Second, n)
	for name, column := range columns {
		field, ok := reflect.TypeFor[sim.Second]().FieldByName(name)
		if !ok || len(column) != n {
			return nil, fmt.Errorf("column %q with %d of %d seconds", name, len(column), n)
		}
		for s := range seconds {
			reflect.ValueOf(&seconds[s]).Elem().FieldByIndex(field.Index).SetInt(int64(column[s]))
		}
	}
	return seconds, nil
}
