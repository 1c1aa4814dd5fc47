package drill

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// filmed is an outage with moments of a second.
func filmed() *story {
	s := outageStory()
	s.film = &film{}
	s.story.events = append([]event{{At: 3 * time.Second, What: `the server <b>"dies"</b>`}}, s.story.events...)
	s.story.events[1].What = "the breaker opens"
	states := map[int]atomicbreaker.State{3: sOpen, 4: sOpen, 5: sOpen, 6: sOpen, 7: sHalfOpen, 8: sHalfOpen}
	for i := range 13 {
		f := moment{From: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, State: states[i], counts: counts{Sent: 100, OK: 100}}
		switch f.State {
		case sOpen:
			f.counts = counts{Sent: 100, Failed: 10, Refused: 90}
		case sHalfOpen:
			f.Window = i * i
		}
		s.film.moments = append(s.film.moments, f)
	}
	return s
}

func writtenPage(t *testing.T, s *story) string {
	t.Helper()
	r := s.verdict()
	r.Command = "loadgen drill -target <script>"
	name := filepath.Join(t.TempDir(), "drill.html")
	if err := s.writePage(name, r, s.asFacts()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDrillPageTellsTheStory(t *testing.T) {
	text := writtenPage(t, filmed())
	for _, want := range []string{
		"every verdict passed", "Of 1,300 calls 900 were answered, 21 failed and 379 were refused without a try.",
		"opened 0.20 s after the fault, when 20 calls had failed, and 1 more failed until it closed",
		"It closed 2.00 s after the mend, having seen 100 probes.",
		"the server &lt;b&gt;", "<td class=\"n\">3.20 s</td><td>the breaker opens</td>", "drill/recovered_s", "at most ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "<b>", "http://", "https://", "url(", "NaN", "Inf", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	failed := filmed()
	failed.nearEnd.Refused = 0
	if text := writtenPage(t, failed); !strings.Contains(text, "a verdict failed") || !strings.Contains(text, `class="FAIL"`) {
		t.Error("a failed verdict is not shown")
	}
}

// TestDrillPictureIsInItsFrame: it is well-formed, nothing lies outside of the
// viewBox, and the areas are as large as the calls are many.
func TestDrillPictureIsInItsFrame(t *testing.T) {
	s := filmed()
	svg := s.picture(nil).draw()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	shapes := map[string]int{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		class := ""
		at := map[string]float64{}
		for _, a := range start.Attr {
			if a.Name.Local == "class" {
				class = a.Value
			}
			if v, err := strconv.ParseFloat(a.Value, 64); err == nil {
				at[a.Name.Local] = v
			}
		}
		shapes[start.Name.Local+"."+class]++
		if at["x"] < 0 || at["x"]+at["width"] > pictureWidth || at["x2"] > pictureWidth || at["y"]+at["height"] > pictureHeight {
			t.Errorf("%v lies outside", start)
		}
	}
	for shape, want := range map[string]int{"rect.open": 2, "rect.half-open": 2, "rect.closed": 2, "rect.incident": 1, "path.window": 1, "line.mark": 2} {
		if shapes[shape] != want {
			t.Errorf("%d of %s, want %d", shapes[shape], shape, want)
		}
	}
	for class, want := range map[string]int{"failed": 4, "good": 9, "refused": 4} {
		path := regexp.MustCompile(`<path class="` + class + `" d="([^"]*)"`).FindStringSubmatch(svg)
		if path == nil || strings.Count(path[1], "M") != want {
			t.Errorf("%s has areas %v, want %d", class, path, want)
		}
	}
}

func TestPictureOfNothing(t *testing.T) {
	p := &picture{total: time.Second, moments: []moment{{}, {From: time.Second, End: time.Second}}}
	if svg := p.draw(); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error(svg)
	}
}

func TestNiceNumbers(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.3: 0.4, 1: 1, 1.1: 2, 640: 800, 401: 500, 9.5: 10, 1200: 2000} {
		if got := nice(v); got < want*0.999999 || got > want*1.000001 {
			t.Errorf("nice(%v) is %v, want %v", v, got, want)
		}
	}
}
