package simulate

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/atomicbreaker/breaker/sim"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"columns": heads}).Parse(pageText))

// page is what the template shows.
type page struct {
	Lead     *pageSection // the picture beside the question
	Seeds    int
	Few      int
	Passed   int
	Judged   int
	Missed   []string
	Columns  []string
	Summary  []summaryRow
	Sections []pageSection
	Grid     []pageSection // rows that have a table and no picture
	Lost     []string
	Lab      []labRowFacts
}

type summaryRow struct {
	ID, Title, Anchor string
	Cells             []summaryCell
}

// summaryCell is the time back and the failed calls of one contender.
type summaryCell struct {
	T95, Failed, Class string
}

type pageHead struct{ Title, About string }

func heads() []pageHead {
	var out []pageHead
	for _, col := range columns {
		out = append(out, pageHead{col.title, col.about})
	}
	return out
}

type pageSection struct {
	ID, Title, Anchor string
	Charts            []pageChart
	Rows              []tableRow
	Checks            []string
}

type pageChart struct {
	Name, Title string
	SVG         template.HTML
}

type tableRow struct {
	Name, Title string
	Ours        bool
	Cells       []string
}

// writePage writes the report as one self-contained file.
func writePage(name string, suite *sim.Report, facts *facts, shown []string) error {
	p := page{Seeds: len(suite.Seeds), Few: min(fewSeeds, len(suite.Seeds)), Lost: facts.Lost, Lab: facts.Lab}
	for i := range suite.Rows {
		row := &suite.Rows[i]
		for _, c := range row.Checks {
			p.Judged++
			if c.Pass {
				p.Passed++
			} else {
				p.Missed = append(p.Missed, fmt.Sprintf("%s: %s", c.Name, figure(c.Value, 1)))
			}
		}
		s := section(row, shown)
		if row.Grid {
			p.Grid = append(p.Grid, s)
			continue
		}
		p.Sections = append(p.Sections, s)
		p.summarize(row)
	}
	if i := slices.IndexFunc(p.Sections, func(s pageSection) bool { return s.ID == "04/U" }); i >= 0 {
		p.Lead = &p.Sections[i]
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

// summarize adds a line to the overview.
func (p *page) summarize(row *sim.RowReport) {
	if len(p.Columns) == 0 {
		for _, e := range row.Entries {
			p.Columns = append(p.Columns, e.Name)
		}
	}
	oracle := row.Entry(sim.Oracle().Name).Metrics.T95
	line := summaryRow{ID: row.ID(), Title: row.Title, Anchor: anchor(row.ID())}
	for _, name := range p.Columns {
		e := row.Entry(name)
		if e == nil {
			line.Cells = append(line.Cells, summaryCell{T95: "–"})
			continue
		}
		line.Cells = append(line.Cells, summaryCell{
			T95: columns[0].cell(row, e), Failed: figure(e.Metrics.Failed, 0), Class: shade(e.Metrics.T95, oracle),
		})
	}
	p.Summary = append(p.Summary, line)
}

// shade grades a time back by the oracle's. Where not even that comes back,
// there is nothing to grade.
func shade(t95, oracle float64) string {
	switch {
	case math.IsInf(oracle, 1):
		return ""
	case math.IsInf(t95, 1):
		return "never"
	case t95 <= oracle+3:
		return "near"
	case t95 <= oracle+15:
		return "later"
	}
	return "late"
}

func section(row *sim.RowReport, shown []string) pageSection {
	s := pageSection{ID: row.ID(), Title: row.Title, Anchor: anchor(row.ID())}
	for _, e := range row.Entries {
		r := tableRow{Name: e.Name, Title: e.Title, Ours: e.Name == sim.Window().Name || e.Name == sim.Defaults().Name}
		for _, col := range columns {
			r.Cells = append(r.Cells, col.cell(row, &e))
		}
		s.Rows = append(s.Rows, r)
	}
	for _, c := range row.Checks {
		s.Checks = append(s.Checks, checkText(c))
	}
	if !row.Grid {
		s.Charts = charts(row, shown)
	}
	return s
}

func checkText(c sim.Check) string {
	word, bound := "met", "at most"
	if !c.Pass {
		word = "MISSED"
	}
	if c.Least {
		bound = "at least"
	}
	mode := ""
	if strings.Contains(c.Name, "-defaults/") {
		mode = " (defaults)"
	}
	return fmt.Sprintf("%s%s %s, %s %s: %s", c.Metric, mode, brief(c.Value), bound, brief(c.Limit), word)
}

// brief is a figure with one digit where it has any.
func brief(v float64) string { return strings.TrimSuffix(figure(v, 1), ".0") }

// charts draws the shown contenders of a row with a common axis.
func charts(row *sim.RowReport, shown []string) []pageChart {
	var drawn []*chart
	var of []*sim.Entry
	top := 0.0
	for _, name := range shown {
		if e := row.Entry(name); e != nil && e.Example != nil && len(drawn) < 4 {
			c := newChart(e.Example)
			drawn, of = append(drawn, c), append(of, e)
			top = max(top, c.height())
		}
	}
	var out []pageChart
	for i, c := range drawn {
		e := of[i]
		label := template.HTMLEscapeString(fmt.Sprintf("%s in %s: %s seconds until all is well again, %s failed calls",
			e.Name, row.ID(), figure(e.Metrics.T95, 0), figure(e.Metrics.Failed, 0)))
		out = append(out, pageChart{e.Name, e.Title, template.HTML(c.draw(top, label))})
	}
	return out
}

// inPictures are the contenders that the page draws, by preference: ours and
// the first three others of which there is a run.
func (j *job) inPictures() []string {
	shown := []string{sim.Window().Name}
	prefer := []string{"classic", "gobreaker-matched", "none", "oxy-matched"}
	if j.against != "all" {
		prefer = nil // those that were asked for
		for _, name := range strings.Split(j.against, ",") {
			prefer = append(prefer, strings.TrimSpace(name))
		}
	}
	return append(shown, prefer...)
}

func anchor(id string) string { return "s-" + strings.ReplaceAll(id, "/", "-") }
