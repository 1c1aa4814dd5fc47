package simulate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/sim"
)

// A chart is one run in pictures: what was wanted, what was answered well and
// what failed, the state of the breaker, the share of refusals and the probe
// window, all over the same time.
//
// Sizes are in units of the viewBox; the page scales it.
const (
	chartWidth  = 480
	plotLeft    = 40
	plotRight   = 472
	plotTop     = 22
	plotBottom  = 132
	bandTop     = 136
	bandBottom  = 146
	lowTop      = 154
	lowBottom   = 198
	chartHeight = 214

	maxBins = 160 // longer runs are drawn by averages
)

// bin is the average of some seconds.
type bin struct {
	born, good, failed, refused float64 // a second
	open, half                  float64 // shares of the breakers
	window                      float64 // of all breakers together, the widest
}

type chart struct {
	result *sim.Result
	bins   []bin
	per    int // seconds in a bin
	top    float64
	b      strings.Builder
}

func newChart(r *sim.Result) *chart {
	c := &chart{result: r, per: max(1, (len(r.Seconds)+maxBins-1)/maxBins)}
	breakers := float64(max(1, r.Breakers))
	for from := 0; from < len(r.Seconds); from += c.per {
		var sum sim.Second
		part := r.Seconds[from:min(from+c.per, len(r.Seconds))]
		n := float64(len(part))
		for _, s := range part {
			sum.Born += s.Born
			sum.Good += s.Good
			sum.Failed += s.Failed
			sum.Refused += s.Refused
			sum.Tries += s.Tries
			sum.Open += s.Open
			sum.HalfOpen += s.HalfOpen
			sum.Window = max(sum.Window, s.Window)
		}
		b := bin{
			born: float64(sum.Born) / n, good: float64(sum.Good) / n, failed: float64(sum.Failed) / n,
			refused: float64(sum.Refused) / float64(max(1, sum.Tries)),
			open:    float64(sum.Open) / (breakers * n), half: float64(sum.HalfOpen) / (breakers * n),
			window: float64(sum.Window),
		}
		c.bins = append(c.bins, b)
	}
	return c
}

// height is what the calls of a chart would have the axis reach.
func (c *chart) height() float64 {
	top := 0.0
	for _, b := range c.bins {
		top = max(top, b.born, b.good)
	}
	return top
}

// draw returns the SVG, with an axis up to top.
func (c *chart) draw(top float64, label string) string {
	c.top = niceAbove(1.1 * top)
	c.printf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, label)
	c.incident()
	c.axes()
	c.printf(`<path class="good" d="%s"/>`, c.area(func(b bin) (float64, float64) { return 0, b.good }))
	c.printf(`<path class="failed" d="%s"/>`, c.area(func(b bin) (float64, float64) { return b.good, b.good + b.failed }))
	c.printf(`<path class="born" d="%s"/>`, c.steps(func(b bin) float64 { return c.y(b.born) }))
	c.overflow()
	c.states()
	c.low()
	c.printf(`</svg>`)
	return c.b.String()
}

func (c *chart) printf(format string, args ...any) { fmt.Fprintf(&c.b, format, args...) }

func (c *chart) x(i int) float64 {
	return plotLeft + (plotRight-plotLeft)*float64(i)/float64(max(1, len(c.bins)))
}

func (c *chart) xAt(t time.Duration) float64 {
	return min(plotRight, plotLeft+(plotRight-plotLeft)*t.Seconds()/float64(len(c.bins)*c.per))
}

// y is where so many calls a second are; more than fit stay at the top.
func (c *chart) y(v float64) float64 {
	return plotBottom - (plotBottom-plotTop)*min(v/c.top, 1)
}

// incident shades the time in which something is wrong.
func (c *chart) incident() {
	from, to := c.xAt(c.result.Incident.From), c.xAt(c.result.Incident.To)
	c.printf(`<rect class="incident" x="%s" y="%d" width="%s" height="%d"/>`, at(from), plotTop, at(to-from), lowBottom-plotTop)
}

func (c *chart) axes() {
	for _, v := range []float64{0, c.top / 2, c.top} {
		c.printf(`<path class="grid" d="M%d %sH%d"/><text class="tick" x="%d" y="%s">%s</text>`,
			plotLeft, at(c.y(v)), plotRight, plotLeft-4, at(c.y(v)+3), frame.Number(v))
	}
	length := len(c.bins) * c.per
	step := niceStep(length)
	for t := 0; t <= length; t += step {
		x := c.xAt(time.Duration(t) * time.Second)
		unit := ""
		if t == 0 {
			unit = " s"
		}
		c.printf(`<text class="time" x="%s" y="%d">%s%s</text>`, at(min(x, plotRight-6)), chartHeight-4, frame.Thousands(int64(t)), unit)
	}
	c.printf(`<text class="unit" x="%d" y="%d">calls/s</text>`, 2, plotTop-11)
}

// steps is a line that holds its height through each bin.
func (c *chart) steps(y func(bin) float64) string {
	var d strings.Builder
	last := math.NaN()
	for i, b := range c.bins {
		v := y(b)
		switch {
		case i == 0:
			fmt.Fprintf(&d, "M%s %s", at(c.x(i)), at(v))
		case v != last:
			fmt.Fprintf(&d, "H%sV%s", at(c.x(i)), at(v))
		}
		last = v
	}
	fmt.Fprintf(&d, "H%s", at(c.x(len(c.bins))))
	return d.String()
}

// area is what lies between two heights in each bin.
func (c *chart) area(between func(bin) (low, high float64)) string {
	d := c.steps(func(b bin) float64 { _, high := between(b); return c.y(high) })
	var back strings.Builder
	for i := len(c.bins) - 1; i >= 0; i-- {
		low, _ := between(c.bins[i])
		fmt.Fprintf(&back, "V%sH%s", at(c.y(low)), at(c.x(i)))
	}
	return d + back.String() + "Z"
}

// overflow says how far failures go beyond the axis.
func (c *chart) overflow() {
	most, where := 0.0, 0
	for i, b := range c.bins {
		if b.failed > most {
			most, where = b.failed, i
		}
	}
	if b := most + c.bins[where].good; b <= c.top {
		return
	}
	x, anchor := c.x(where), "start"
	if where > len(c.bins)/2 {
		anchor = "end"
	}
	c.printf(`<text class="over" x="%s" y="%d" text-anchor="%s">▲ failed: up to %s/s</text>`, at(x), plotTop-6, anchor, frame.Number(math.Round(most)))
}

// states is a band whose parts are the shares of breakers in each state.
func (c *chart) states() {
	c.printf(`<rect class="closed" x="%d" y="%d" width="%d" height="%d"/>`, plotLeft, bandTop, plotRight-plotLeft, bandBottom-bandTop)
	for from := 0; from < len(c.bins); {
		to := from + 1
		for to < len(c.bins) && c.bins[to].open == c.bins[from].open && c.bins[to].half == c.bins[from].half {
			to++
		}
		b, y := c.bins[from], float64(bandTop)
		for _, part := range []struct {
			class string
			share float64
		}{{"open", b.open}, {"half", b.half}} {
			h := part.share * (bandBottom - bandTop)
			if h > 0 {
				c.printf(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`,
					part.class, at(c.x(from)), at(y), at(c.x(to)-c.x(from)), at(h))
			}
			y += h
		}
		from = to
	}
}

// low is the share of refusals, and the window on a logarithmic scale.
func (c *chart) low() {
	y := func(share float64) float64 { return lowBottom - (lowBottom-lowTop)*share }
	c.printf(`<path class="grid" d="M%d %dH%dM%d %dH%d"/>`, plotLeft, lowTop, plotRight, plotLeft, lowBottom, plotRight)
	c.printf(`<text class="tick" x="%d" y="%d">100 %%</text>`, plotLeft-4, lowTop+4)
	widest := 0.0
	var refused strings.Builder
	for _, b := range c.bins {
		widest = max(widest, b.window)
	}
	refused.WriteString(c.steps(func(b bin) float64 { return y(b.refused) }))
	fmt.Fprintf(&refused, "V%dH%dZ", lowBottom, plotLeft)
	c.printf(`<path class="refused" d="%s"/>`, refused.String())
	if widest <= 1 { // of a breaker with one probe there is nothing to see
		return
	}
	c.printf(`<path class="window" d="%s"/>`, c.windows(func(b bin) float64 { return y(math.Log2(b.window) / math.Log2(widest)) }))
	c.printf(`<text class="wide" x="%d" y="%d">window up to %s</text>`, plotRight-2, lowTop+10, frame.Number(widest))
}

// windows is a line where there is a window, and nothing between.
func (c *chart) windows(y func(bin) float64) string {
	var d strings.Builder
	drawing := false
	for i, b := range c.bins {
		if b.window < 1 {
			drawing = false
			continue
		}
		if drawing {
			fmt.Fprintf(&d, "V%s", at(y(b)))
		} else {
			fmt.Fprintf(&d, "M%s %s", at(c.x(i)), at(y(b)))
		}
		fmt.Fprintf(&d, "H%s", at(c.x(i+1)))
		drawing = true
	}
	return d.String()
}

// at writes a coordinate with one digit, and none where it is whole.
func at(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// niceAbove is the least of 1, 2, 4, 5, 8 and 10 times a power of ten that is not below v.
func niceAbove(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := 1.0
	for unit*10 < v {
		unit *= 10
	}
	for unit > v {
		unit /= 10
	}
	for _, m := range []float64{1, 2, 4, 5, 8} {
		if m*unit >= v {
			return m * unit
		}
	}
	return 10 * unit
}

// niceStep is the distance of marks on the axis of time, in seconds.
func niceStep(length int) int {
	for _, step := range []int{10, 20, 30, 60, 120, 300, 600, 1200, 1800} {
		if length/step <= 6 {
			return step
		}
	}
	return 3600
}
