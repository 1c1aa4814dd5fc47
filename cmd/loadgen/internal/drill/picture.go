package drill

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
)

// picture is a drill as an SVG: calls a second by how they ended, stacked;
// under them the breaker's state, and in half-open the probe window. Sizes are in
// units of the viewBox; the page scales it.
type picture struct {
	total          time.Duration
	rate           float64
	moments        []moment
	broken, mended time.Duration
	stays          []stay
	marks          []time.Duration

	b strings.Builder
}

// stay is the time in one state.
type stay struct {
	from, to time.Duration
	state    string
}

const (
	pictureWidth  = 960
	pictureLeft   = 46
	pictureRight  = 940
	callsTop      = 26
	callsBottom   = 226
	stateTop      = 236
	stateBottom   = 254
	probesTop     = 268
	probesBottom  = 338
	pictureHeight = 362
)

func (p *picture) x(at time.Duration) float64 {
	return pictureLeft + float64(at)/float64(p.total)*(pictureRight-pictureLeft)
}

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func (p *picture) draw() string {
	p.printf(`<svg viewBox="0 0 %d %d" role="img" aria-label="Calls a second by outcome over %.0f seconds, with the state of the breaker and its probe window below">`,
		pictureWidth, pictureHeight, p.total.Seconds())
	if p.broken > 0 {
		end := p.mended
		if end == 0 {
			end = p.total
		}
		p.printf(`<rect class="incident" x="%.1f" y="%d" width="%.1f" height="%d"/>`, p.x(p.broken), callsTop, p.x(end)-p.x(p.broken), probesBottom-callsTop)
	}
	p.calls()
	p.states()
	p.probes()
	p.seconds()
	right := 0.0 // of the last number
	for i, at := range p.marks {
		x := max(p.x(at), right+7) // numbers must not lie on each other
		right = x + 7
		p.printf(`<line class="mark" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="number" x="%.1f" y="%d">%d</text>`,
			p.x(at), p.x(at), callsTop-4, stateBottom, x, callsTop-8, i+1)
	}
	p.b.WriteString(`</svg>`)
	return p.b.String()
}

// calls draws what became of the calls of each moment, those that failed below.
func (p *picture) calls() {
	top := p.rate
	perSecond := func(n int, f moment) float64 { return float64(n) / (f.End - f.From).Seconds() }
	for _, f := range p.moments {
		if f.End > f.From {
			top = max(top, perSecond(f.OK+f.Failed+f.Refused, f))
		}
	}
	top = nice(top)
	y := func(v float64) float64 { return callsBottom - v/top*(callsBottom-callsTop) }
	for _, v := range []float64{0, top / 2, top} {
		p.printf(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="tick" x="%d" y="%.1f">%s</text>`,
			pictureLeft, pictureRight, y(v), y(v), pictureLeft-5, y(v)+3.5, frame.Number(v))
	}
	for _, part := range []struct {
		class       string
		below, upTo func(moment) int
	}{
		{"failed", func(moment) int { return 0 }, func(f moment) int { return f.Failed }},
		{"good", func(f moment) int { return f.Failed }, func(f moment) int { return f.Failed + f.OK }},
		{"refused", func(f moment) int { return f.Failed + f.OK }, func(f moment) int { return f.Failed + f.OK + f.Refused }},
	} {
		p.printf(`<path class="%s" d="`, part.class)
		for _, f := range p.moments {
			if low, high := part.below(f), part.upTo(f); high > low && f.End > f.From {
				p.printf("M%.1f %.1fH%.1fV%.1fH%.1fZ", p.x(f.From), y(perSecond(low, f)), p.x(f.End), y(perSecond(high, f)), p.x(f.From))
			}
		}
		p.printf(`"/>`)
	}
	p.printf(`<text class="label" x="%d" y="%d">calls/s</text>`, 4, callsTop-8)
}

func (p *picture) states() {
	for _, s := range p.stays {
		p.printf(`<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s from %.2f s to %.2f s</title></rect>`, s.state,
			p.x(s.from), stateTop, max(p.x(s.to)-p.x(s.from), 0.8), stateBottom-stateTop, s.state, s.from.Seconds(), s.to.Seconds())
	}
	p.printf(`<text class="tick" x="%d" y="%d">state</text>`, pictureLeft-5, stateBottom-5)
}

// probes draws the probe window in half-open, on a logarithmic scale.
func (p *picture) probes() {
	most := 1
	for _, f := range p.moments {
		most = max(most, f.Window)
	}
	span := max(math.Log10(float64(most)), 1)
	y := func(v int) float64 {
		return probesBottom - math.Log10(float64(v))/span*(probesBottom-probesTop)
	}
	for v := 1; math.Log10(float64(v)) <= span; v *= 10 {
		p.printf(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="tick" x="%d" y="%.1f">%s</text>`,
			pictureLeft, pictureRight, y(v), y(v), pictureLeft-5, y(v)+3.5, frame.Thousands(int64(v)))
	}
	p.printf(`<path class="window" d="`)
	drawing := false
	for _, f := range p.moments {
		if f.Window == 0 {
			drawing = false
			continue
		}
		command := "L"
		if !drawing {
			command, drawing = "M", true
			p.printf("M%.1f %.1fH%.1f", p.x(f.From), y(f.Window), p.x(f.End))
			continue
		}
		p.printf("%s%.1f %.1f", command, p.x(f.End), y(f.Window))
	}
	p.printf(`"/><text class="label" x="%d" y="%d">probe window</text>`, pictureLeft+4, probesTop+8)
}

// seconds writes the time below.
func (p *picture) seconds() {
	step := nice(p.total.Seconds() / 12)
	for s := 0.0; s <= p.total.Seconds()+1e-9; s += step {
		at := time.Duration(s * float64(time.Second))
		p.printf(`<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="time" x="%.1f" y="%d">%s s</text>`,
			p.x(at), p.x(at), probesBottom, probesBottom+4, p.x(at), probesBottom+17, frame.Number(s))
	}
}

// nice is the next number up with one digit that divides well.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 5, 6, 8} {
		if m*power >= v*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}
