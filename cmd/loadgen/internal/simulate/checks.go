package simulate

import (
	"math"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/sim"
)

// never stands in JSON, which has no infinity, for what did not happen within
// the run.
const never = sim.Never

// rowFacts are the figures of one scenario, by contender.
type rowFacts struct {
	Name    string       `json:"name"`
	Mode    string       `json:"mode"`
	Title   string       `json:"title"`
	Entries []entryFacts `json:"entries"`
}

type entryFacts struct {
	Name    string             `json:"name"`
	Metrics map[string]float64 `json:"metrics"`
}

type labRowFacts struct {
	Name    string         `json:"name"`
	Figures map[string]int `json:"figures"`
}

var labMetrics = []string{"calls", "completed", "failed", "dropped", "waiting", "over"}

// runLab runs the discrete lab: a check per figure, named lab/<row>/<metric>.
func runLab(r *frame.Report) []labRowFacts {
	var facts []labRowFacts
	for _, row := range sim.LabRows() {
		r.Console.Status("the discrete lab: %s", row.Name)
		result := row.Lab.Run(row.Contender)
		figures := map[string]int{}
		for _, metric := range labMetrics {
			figures[metric] = result.Value(metric)
		}
		for _, f := range row.Want {
			c := frame.Check{
				Name: "lab/" + row.Name + "/" + f.Metric, Value: float64(figures[f.Metric]),
				Unit: labUnit(f.Metric), Limit: pointer(float64(f.Want)), Pass: f.Met(figures[f.Metric]),
			}
			if !f.AtMost {
				c.Bound = "exactly"
			}
			r.Add(c)
		}
		facts = append(facts, labRowFacts{row.Name, figures})
	}
	return facts
}

func labUnit(metric string) string {
	if metric == "over" {
		return "tick"
	}
	return "calls"
}

// judgeSuite adds a check per figure of ours, named
// suite/<scenario>/<mode>/<metric>: those with a target judged, the others for
// information. The mode of the defaults ends in -defaults.
func judgeSuite(r *frame.Report, suite *sim.Report) []rowFacts {
	var facts []rowFacts
	for i := range suite.Rows {
		row := &suite.Rows[i]
		judged := map[string]bool{}
		for _, c := range row.Checks {
			judged[c.Name] = true
			r.Add(suiteCheck(c))
		}
		f := rowFacts{Name: row.Name, Mode: row.Mode, Title: row.Title}
		for _, e := range row.Entries {
			f.Entries = append(f.Entries, entryFacts{e.Name, finite(e.Metrics)})
			mode, ours := modeOf(row, e.Name)
			if !ours {
				continue
			}
			for _, metric := range sim.MetricNames() {
				name := "suite/" + row.Name + "/" + mode + "/" + metric
				if v, _ := e.Metrics.Get(metric); !judged[name] {
					r.Info(name, orNever(v), unitOf(metric))
				}
			}
		}
		facts = append(facts, f)
	}
	return facts
}

// modeOf is the mode under which a contender's figures are checks, and
// whether they are: only ours are.
func modeOf(row *sim.RowReport, contender string) (string, bool) {
	switch contender {
	case sim.Window().Name:
		return row.Mode, true
	case sim.Defaults().Name:
		return row.Mode + "-defaults", true
	}
	return "", false
}

func suiteCheck(c sim.Check) frame.Check {
	out := frame.Check{Name: c.Name, Value: orNever(c.Value), Unit: unitOf(c.Metric), Limit: pointer(orNever(c.Limit)), Pass: c.Pass}
	if c.Least {
		out.Bound = "at least"
	}
	return out
}

func unitOf(metric string) string {
	switch metric {
	case "t95_s":
		return "s"
	case "goodput_during", "goodput_after":
		return "calls/s"
	case "failed_share":
		return "%"
	case "trips", "retrips", "reopens", "closes":
		return "times"
	}
	return "calls"
}

// finite lists the figures by name.
func finite(m sim.Metrics) map[string]float64 {
	out := map[string]float64{}
	for _, name := range sim.MetricNames() {
		v, _ := m.Get(name)
		out[name] = orNever(v)
	}
	return out
}

func orNever(v float64) float64 {
	if math.IsInf(v, 1) {
		return never
	}
	return v
}

func pointer[T any](v T) *T { return &v }
