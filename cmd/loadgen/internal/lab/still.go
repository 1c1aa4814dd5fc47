package lab

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// Sizes of a still, in pixels.
const (
	stillCell  = 410 // a lane is so wide,
	stillTall  = 212 // and so high
	stillGap   = 20
	stillRates = 116 // the height of its chart of calls
	stillState = 10
	stillHead  = 62
)

// stillStyle has the colours of the page, for light and dark.
const stillStyle = `
text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1c2430}
.h{font-size:17px;font-weight:600}.t{font-size:15px;font-weight:600}.s{fill:#5a6675;font-size:12px}
.card{fill:#fff;stroke:#d5dbe3}.plot{fill:#eef2f7}.page{fill:#f6f7f9}
.good,.k-good{fill:#5b9bd5}.failed,.k-failed{fill:#d64a2c}.refused,.k-refused{fill:#c3cad4}.incident{fill:#d64a2c;fill-opacity:.09}
.closed,.k-closed{fill:#a9cbea}.half-open,.k-half{fill:#eab308}.open,.k-open{fill:#7f1d1d}
.line{fill:none;stroke-width:1.5;vector-effect:non-scaling-stroke}.born{stroke:#1c2430}.capacity{stroke:#7d8896;stroke-dasharray:4 4}
@media (prefers-color-scheme:dark){text{fill:#e6ebf2}.s{fill:#9aa7b7}.card{fill:#1b212a;stroke:#343e4b}.plot{fill:#242c37}.page{fill:#12161c}
.good,.k-good{fill:#3d7ab3}.failed,.k-failed,.incident{fill:#e8694c}.refused,.k-refused{fill:#48525f}
.closed,.k-closed{fill:#2f5b86}.half-open,.k-half{fill:#d9a90b}.open,.k-open{fill:#e05252}.born{stroke:#e6ebf2}.capacity{stroke:#8a97a8}}
`

// WriteStill writes a picture of a setup's lanes as SVG, which is light or dark as
// its viewer is.
func WriteStill(w io.Writer, s *Setup) error {
	rows := (len(s.Lanes) + 1) / 2
	width, height := 2*stillCell+3*stillGap, stillHead+rows*(stillTall+stillGap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="h"><style>%s</style>`, width, height, width, height, stillStyle)
	fmt.Fprintf(&b, `<rect class="page" width="%d" height="%d" rx="8"/><text id="h" class="h" x="%d" y="28">%s</text>`, width, height, stillGap, html.EscapeString(s.headline()))
	stillKey(&b, stillGap, 46)
	for i, key := range s.Lanes {
		r, err := Play(s, key)
		if err != nil {
			return err
		}
		s.stillLane(&b, r, stillGap+(i%2)*(stillCell+stillGap), stillHead+(i/2)*(stillTall+stillGap))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// headline says what the setup is.
func (s *Setup) headline() string {
	what := s.incident().Title
	if s.Incident == "surge" {
		what = fmt.Sprintf("%s calls/s instead of %s", number(s.peak()), number(s.Rate))
	}
	return fmt.Sprintf("%s for %.0f s; capacity %s calls/s", upperFirst(what), s.Lasts.Seconds(), number(s.Capacity))
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func stillKey(b *strings.Builder, x, y int) {
	for _, k := range []struct{ class, word string }{
		{"good", "good calls"}, {"failed", "failed"}, {"refused", "refused"}, {"closed", "closed"}, {"half", "half-open"}, {"open", "open"},
	} {
		fmt.Fprintf(b, `<rect class="k-%s" x="%d" y="%d" width="10" height="10" rx="2"/><text class="s" x="%d" y="%d">%s</text>`, k.class, x, y-9, x+15, y, k.word)
		x += 30 + 7*len(k.word)
	}
	fmt.Fprintf(b, `<path class="born line" d="M%d %dh14"/><text class="s" x="%d" y="%d">new calls</text>`, x, y-4, x+19, y)
	x += 19 + 7*len("new calls") + 12
	fmt.Fprintf(b, `<path class="capacity line" d="M%d %dh14"/><text class="s" x="%d" y="%d">capacity</text>`, x, y-4, x+19, y)
}

func (s *Setup) stillLane(b *strings.Builder, r *Run, x, y int) {
	const pad = 12
	inner, seconds := stillCell-2*pad, len(r.Seconds.Born)
	fmt.Fprintf(b, `<rect class="card" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, x, y, stillCell, stillTall)
	fmt.Fprintf(b, `<text class="t" x="%d" y="%d">%s</text>`, x+pad, y+24, html.EscapeString(r.Title))
	fmt.Fprintf(b, `<text class="s" x="%d" y="%d">%s</text>`, x+pad, y+43, html.EscapeString(r.short(s)))
	top := y + 54
	for _, c := range r.Charts[:2] {
		tall := stillRates
		if c.Name == "state" {
			tall = stillState
		}
		fmt.Fprintf(b, `<rect class="plot" x="%d" y="%d" width="%d" height="%d"/>`, x+pad, top, inner, tall)
		fmt.Fprintf(b, `<svg x="%d" y="%d" width="%d" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">%s</svg>`, x+pad, top, inner, tall, seconds, chartHeight, c.Shapes)
		if c.Top != "" {
			fmt.Fprintf(b, `<text class="s" x="%d" y="%d" text-anchor="end">%s</text>`, x+pad+inner, top-11, c.Top)
		}
		top += tall + 3
	}
	fmt.Fprintf(b, `<text class="s" x="%d" y="%d">0 s</text><text class="s" x="%d" y="%d" text-anchor="end">%d s</text>`, x+pad, top+13, x+pad+inner, top+13, seconds)
}

// short is what came of a run, in as few words as a still has room for.
func (r *Run) short(s *Setup) string {
	text := fmt.Sprintf("%s calls failed", count(r.run.All().Failed))
	if !s.judged() {
		return text
	}
	switch back := backIn(r.back); back {
	case "never":
		return "Not back to normal in the run; " + text
	default:
		return "Back to normal after " + back + "; " + text
	}
}
