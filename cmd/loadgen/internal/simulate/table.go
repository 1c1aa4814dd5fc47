package simulate

import (
	"fmt"
	"math"
	"strings"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/sim"
)

// A column of the table.
type column struct {
	title, about string
	metric       string
	digits       int
	after        bool // of the time after the incident
}

// cell writes an entry's figure.
func (c column) cell(row *sim.RowReport, e *sim.Entry) string {
	if s := row.Variants[0]; c.after && s.Incident.To >= s.Length {
		return "–" // it never ends
	}
	v, _ := e.Metrics.Get(c.metric)
	return figure(v, c.digits)
}

var columns = []column{
	{"t95 s", "seconds after the incident until five seconds of good answers at 95 % of the calls born, with no backlog left", "t95_s", 0, true},
	{"good/s in it", "good answers a second in the incident", "goodput_during", 1, false},
	{"good/s after", "good answers a second in the 20 s after it", "goodput_after", 1, true},
	{"failed", "calls that were sent and failed, in the whole run", "failed", 0, false},
	{"to trip", "of these, up to the first opening", "failed_to_trip", 0, false},
	{"needless", "refusals that the dependency had room for", "needless", 0, false},
	{"trips", "closed to open", "trips", 0, false},
	{"re-trips", "of these, after the incident", "retrips", 0, true},
	{"reopens", "half-open to open", "reopens", 0, false},
	{"herd", "calls sent in the first second of good answers after the incident", "herd", 0, true},
}

// printSuite prints scenario by contender.
func printSuite(c *frame.Console, suite *sim.Report) {
	if len(suite.Rows) == 0 {
		return
	}
	for _, col := range columns {
		c.Printf("%-13s %s\n", col.title, col.about)
	}
	c.Printf("%-13s not within the run\n", "never")
	for i := range suite.Rows {
		printRow(c, &suite.Rows[i])
	}
}

func printRow(c *frame.Console, row *sim.RowReport) {
	c.Printf("\n%s  %s\n", row.ID(), row.Title)
	var head strings.Builder
	for _, col := range columns {
		fmt.Fprintf(&head, " %*s", width(col), col.title)
	}
	c.Printf("  %-18s%s\n", "", head.String())
	for _, e := range row.Entries {
		var line strings.Builder
		for _, col := range columns {
			fmt.Fprintf(&line, " %*s", width(col), col.cell(row, &e))
		}
		c.Printf("  %-18s%s\n", e.Name, line.String())
	}
	for _, check := range row.Checks {
		if !check.Pass {
			c.Printf("  MISSED %s: %s\n", check.Name, figure(check.Value, 1))
		}
	}
}

func width(c column) int { return max(len(c.title), 9) }

// figure writes a number with so many digits after the point.
func figure(v float64, digits int) string {
	switch {
	case math.IsInf(v, 1):
		return "never"
	case digits == 0:
		return frame.Thousands(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.*f", digits, v)
}

// losses are the scenarios in which some contender does clearly better than
// ours, in words. The oracle, which nobody can have, is left out.
func losses(suite *sim.Report) []string {
	var out []string
	for i := range suite.Rows {
		row := &suite.Rows[i]
		ours := row.Entry(sim.Window().Name)
		if ours == nil || row.Mode == sim.ModeReady {
			continue
		}
		for _, m := range []struct {
			metric, what string
			better       func(theirs, ours float64) bool
		}{
			{"t95_s", "seconds until all is well", func(t, o float64) bool { return t <= o-2 && !math.IsInf(t, 1) }},
			{"failed", "failed calls", func(t, o float64) bool { return t <= o/2 && t <= o-10 }},
			{"goodput_during", "good answers/s in the incident", func(t, o float64) bool { return t >= 1.05*o+1 }},
		} {
			if line := lossIn(row, ours, m.metric, m.better); line != "" {
				out = append(out, fmt.Sprintf("%s: %s: %s", row.ID(), m.what, line))
			}
		}
	}
	return out
}

// lossIn names those that do better in one figure.
func lossIn(row *sim.RowReport, ours *sim.Entry, metric string, better func(theirs, ours float64) bool) string {
	own, _ := ours.Metrics.Get(metric)
	var others []string
	for _, e := range row.Entries {
		if e.Name == sim.Oracle().Name || e.Name == sim.Window().Name || e.Name == sim.Defaults().Name {
			continue
		}
		if metric == "failed" && starves(&e.Metrics, &ours.Metrics) {
			continue
		}
		if v, _ := e.Metrics.Get(metric); better(v, own) {
			others = append(others, e.Name+" "+figure(v, 0))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "ours " + figure(own, 0) + ", " + strings.Join(others, ", ")
}

// starves tells of one that fails fewer calls by never coming back, or by
// serving clearly fewer: that is not better.
func starves(theirs, ours *sim.Metrics) bool {
	return math.IsInf(theirs.T95, 1) && !math.IsInf(ours.T95, 1) ||
		theirs.GoodputAfter < 0.9*ours.GoodputAfter || theirs.GoodputDuring < 0.9*ours.GoodputDuring
}

func printLosses(c *frame.Console, lost []string) {
	if len(lost) == 0 {
		return
	}
	c.Printf("\nWhere others do better than ours (window); to fail fewer by serving fewer is not better:\n")
	for _, line := range lost {
		c.Printf("  %s\n", line)
	}
}
