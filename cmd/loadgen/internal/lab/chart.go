package lab

import (
	"fmt"
	"math"
	"strings"
)

// A Chart is one of the pictures of a run. Its shapes fill a box of [Setup]
// Length x chartHeight units, one to a second across, which is stretched to
// whatever room there is; text stands beside it, so that it is not stretched too.
type Chart struct {
	Name   string `json:"name"`   // rates, state, latency or depth
	Title  string `json:"title"`  // for the reader
	Top    string `json:"top"`    // what its upper edge stands for
	Shapes string `json:"shapes"` // SVG, whose classes say what each shape is
}

const chartHeight = 100

// scales are what the upper edges of charts stand for: the same in all lanes.
type scales struct{ rate, latency, depth float64 }

func (s *Setup) scales() scales {
	depth := max(20, s.peak()*s.Lasts.Seconds(), float64(s.Queue))
	latency := 4 * s.Latency.Seconds() * 1000
	if s.Patience > 0 {
		latency = 1.1 * s.Patience.Seconds() * 1000
	}
	return scales{rate: niceAbove(1.2 * max(s.peak(), s.Capacity)), latency: niceAbove(latency), depth: niceAbove(depth)}
}

// draw makes the charts of a run.
func draw(s *Setup, r *Run) []Chart {
	p := &pen{setup: s, c: &r.Seconds, n: len(r.Seconds.Born), breakers: float64(r.run.Breakers), scales: s.scales()}
	return []Chart{
		{"rates", "Calls a second: good, failed, refused", number(p.rate) + "/s", p.rates()},
		{"state", "State", "", p.states()},
		{"latency", "Latency of calls sent: median, 99 %", milliseconds(p.latency), p.latencies()},
		{"depth", "Waiting: in the queue, to try again; probe window", number(p.depth), p.depths()},
	}
}

func milliseconds(ms float64) string {
	if ms >= 1000 {
		return short(ms/1000) + " s"
	}
	return short(ms) + " ms"
}

// niceAbove is the next number of one digit or a half with it.
func niceAbove(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	return unit * math.Ceil(v/unit*2) / 2
}

// pen draws what happened.
type pen struct {
	scales
	setup    *Setup
	c        *Columns
	n        int
	breakers float64
}

// y is where a share of the height is.
func y(share float64) string {
	return trim(chartHeight * (1 - min(max(share, 0), 1)))
}

func trim(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

// area fills what lies between two heights, second by second.
func (p *pen) area(class string, from, to func(i int) float64) string {
	var up, down strings.Builder
	any := false
	for i := range p.n {
		lo, hi := from(i), to(i)
		any = any || hi > lo
		fmt.Fprintf(&up, "L%d %sH%d", i, y(hi), i+1)
		k := p.n - 1 - i
		fmt.Fprintf(&down, "L%d %sH%d", k+1, y(from(k)), k)
	}
	if !any {
		return ""
	}
	return fmt.Sprintf(`<path class="%s" d="M0 %s%s%sZ"/>`, class, y(from(0)), up.String(), down.String())
}

// line goes along values, with gaps where there is none.
func (p *pen) line(class string, top float64, at func(i int) float64) string {
	var d strings.Builder
	drawn := false
	for i := range p.n {
		v := at(i)
		if v < 0 {
			drawn = false
			continue
		}
		verb := "L"
		if !drawn {
			verb = "M"
		}
		fmt.Fprintf(&d, "%s%d %sH%d", verb, i, y(v/top), i+1)
		drawn = true
	}
	return fmt.Sprintf(`<path class="%s line" d="%s"/>`, class, d.String())
}

func ints(v []int) func(int) float64 { return func(i int) float64 { return float64(v[i]) } }

// incident shades the time in which something is wrong.
func (p *pen) incident() string {
	if p.setup.Incident == "nothing" {
		return ""
	}
	return fmt.Sprintf(`<rect class="incident" x="%g" y="0" width="%g" height="%d"/>`, incidentBegins.Seconds(), p.setup.Lasts.Seconds(), chartHeight)
}

func (p *pen) rates() string {
	c := p.c
	good := func(i int) float64 { return float64(c.Good[i]) / p.rate }
	sent := func(i int) float64 { return float64(c.Good[i]+c.Failed[i]) / p.rate }
	all := func(i int) float64 { return float64(c.Good[i]+c.Failed[i]+c.Refused[i]) / p.rate }
	return p.incident() +
		p.area("refused", sent, all) + p.area("failed", good, sent) +
		p.area("good", func(int) float64 { return 0 }, good) +
		p.line("born", p.rate, ints(c.Born)) + p.capacity()
}

// capacity marks what the dependency can serve.
func (p *pen) capacity() string {
	return fmt.Sprintf(`<path class="capacity line" d="M0 %sH%d"/>`, y(p.setup.Capacity/p.rate), p.n)
}

func (p *pen) states() string {
	c := p.c
	open := func(i int) float64 { return float64(c.Open[i]) / p.breakers }
	notClosed := func(i int) float64 { return float64(c.Open[i]+c.HalfOpen[i]) / p.breakers }
	return p.area("closed", notClosed, func(int) float64 { return 1 }) +
		p.area("half-open", open, notClosed) + p.area("open", func(int) float64 { return 0 }, open)
}

func (p *pen) latencies() string {
	return p.incident() +
		p.line("p99", p.latency, func(i int) float64 { return p.c.P99[i] }) +
		p.line("p50", p.latency, func(i int) float64 { return p.c.P50[i] })
}

func (p *pen) depths() string {
	return p.incident() + p.line("behind", p.depth, ints(p.c.Behind)) +
		p.line("queue", p.depth, ints(p.c.Queue)) + p.line("window", p.depth, ints(p.c.Window))
}
