package simulate

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
	"github.com/atomicbreaker/breaker/sim"
)

// simulated is what came of a small part of the suite and the lab.
type simulated struct{ json, table, page string }

// simulate runs it once and keeps it, and again if asked to.
func simulate(t *testing.T, again bool) simulated {
	t.Helper()
	if kept != (simulated{}) && !again {
		return kept
	}
	page := filepath.Join(os.TempDir(), "loadgen-test-report.html")
	defer os.Remove(page)
	code, stdout, stderr := frametest.Run([]frame.Command{Command}, "sim", "-scenario", "05b,12-5x2s/U,lab", "-against", "classic,none", "-seeds", "2", "-json", "-", "-html", page)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr)
	}
	out := simulated{stdout, stderr, readFile(t, page)}
	if !again {
		kept = out
	}
	return out
}

var kept simulated

// The same command gives the same bytes, on any number of processors: nothing
// in them tells of time or machine.
func TestSimIsReproducible(t *testing.T) {
	first := simulate(t, false)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if simulate(t, true) != first {
		t.Error("two runs of one command differ")
	}
	for _, word := range []string{`"started"`, `"took_s"`, `"machine"`, runtime.Version()} {
		if strings.Contains(first.json+first.table+first.page, word) {
			t.Errorf("the output holds %s", word)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSimChecksEveryFigure(t *testing.T) {
	out := simulate(t, false)
	var got struct {
		Pass   bool
		Checks []frame.Check
		Sim    facts
	}
	if err := json.Unmarshal([]byte(out.json), &got); err != nil {
		t.Fatal(err)
	}
	byName := map[string]frame.Check{}
	for _, c := range got.Checks {
		if _, twice := byName[c.Name]; twice {
			t.Errorf("two checks are called %s", c.Name)
		}
		byName[c.Name] = c
	}
	for name, want := range map[string]frame.Check{
		"lab/overloaded-classic-3000/calls": {Value: 1295532, Unit: "calls", Limit: pointer(1295532.0), Bound: "exactly", Pass: true},
		"lab/overloaded-classic-3000/over":  {Value: -1, Unit: "tick", Limit: pointer(-1.0), Bound: "exactly", Pass: true},
		"lab/dead-window-400/over":          {Value: 28, Unit: "tick", Limit: pointer(29.0), Pass: true},
	} {
		want.Name = name
		if c := byName[name]; c.Limit == nil || *c.Limit != *want.Limit || c.Value != want.Value || c.Unit != want.Unit || c.Bound != want.Bound || !c.Pass {
			t.Errorf("check %s is %+v", name, c)
		}
	}
	for _, name := range []string{
		"suite/05b/U/t95_s", "suite/05b/U-defaults/failed_beyond", "suite/05b/U-ready/failed", "suite/12-5x2s/U/t95_s",
	} {
		if c := byName[name]; c.Limit == nil || !c.Pass {
			t.Errorf("target %s is %+v", name, c)
		}
	}
	if c := byName["suite/05b/U/herd"]; c.Limit != nil || c.Value <= 0 || !c.Pass {
		t.Errorf("a figure without a target: %+v", c)
	}
	if len(got.Sim.Rows) != 3 || len(got.Sim.Rows[0].Entries) != 5 || got.Sim.Rows[0].Entries[3].Metrics["t95_s"] != never {
		t.Errorf("facts %+v", got.Sim.Rows)
	}
	for _, want := range []string{"05b/U  100 % errors for 20 s", "classic", "never", "Where others do better", "12-5x2s/U: seconds until all is well: ours"} {
		if !strings.Contains(out.table, want) {
			t.Errorf("the table does not say %q:\n%s", want, out.table)
		}
	}
}

func TestSimListsWhatThereIs(t *testing.T) {
	code, stdout, _ := frametest.Run([]frame.Command{Command}, "sim", "-list")
	for _, want := range []string{"lab", "04/U", "01/C", "09-60s/1", "U-ready", "oracle", "window", "three-in-a-row"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("exit %d; the list lacks %q:\n%s", code, want, stdout)
		}
	}
}

// The short set has scenarios of every kind, with the twins that they are compared
// with, and the flags choose it or all.
func TestSimRunsAShortSetUnlessAskedForAll(t *testing.T) {
	choose := func(change func(*job)) ([]sim.Row, error) {
		j := &job{scenarios: shortName, against: "ours", seeds: len(sim.Seeds)}
		change(j)
		err := j.Validate()
		return j.rows, err
	}
	short, err := choose(func(*job) {})
	if err != nil || len(short) != len(shortSet) {
		t.Fatalf("%d rows of %d, %v", len(short), len(shortSet), err)
	}
	kinds, ids := map[string]bool{}, map[string]bool{}
	for _, r := range short {
		kinds[r.Name[:2]], ids[r.ID()] = true, true
	}
	for _, r := range short {
		if r.Twin != "" && !ids[r.Twin] {
			t.Errorf("%s is without its twin %s", r.ID(), r.Twin)
		}
	}
	suite := sim.Suite()
	for _, r := range suite {
		if !kinds[r.Name[:2]] {
			t.Errorf("none of the kind of %s", r.ID())
		}
	}
	for name, change := range map[string]func(*job){
		"-all": func(j *job) { j.all = true }, "-scenario all": func(j *job) { j.scenarios = "all" }, "-list": func(j *job) { j.list = true },
	} {
		if all, err := choose(change); err != nil || len(all) != len(suite) {
			t.Errorf("%s: %d rows of %d, %v", name, len(all), len(suite), err)
		}
	}
	if _, err := choose(func(j *job) { j.all, j.scenarios = true, "04" }); err == nil {
		t.Error("-all and -scenario are taken together")
	}
}

// A missed target fails the command and is told.
func TestSimTellsMissedTargets(t *testing.T) {
	suite := sim.RunSuite(sim.Options{Rows: sim.Suite()[:1], Contenders: []sim.Contender{sim.Window()}, Seeds: sim.Seeds[:1]})
	suite.Rows[0].Checks[0].Pass = false
	r := frametest.Quiet()
	judgeSuite(r, suite)
	if r.Passed() {
		t.Error("passed")
	}
	page := filepath.Join(t.TempDir(), "report.html")
	if err := writePage(page, suite, &facts{}, []string{"window"}); err != nil {
		t.Fatal(err)
	}
	if text := readFile(t, page); !strings.Contains(text, "<b>Missed:</b> suite/01/3/goodput_after") {
		t.Error("the page does not tell the missed target")
	}
}

// The page needs nothing but itself, and its pictures are well-formed.
func TestSimPageIsSelfContained(t *testing.T) {
	text := simulate(t, false).page
	for _, word := range []string{"http:", "https:", "//cdn", "<script", "<link", "<img", "url(", "@import"} {
		if strings.Contains(text, word) {
			t.Errorf("the page holds %q", word)
		}
	}
	pictures := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1)
	if len(pictures) != 3 {
		t.Errorf("%d pictures, want ours and two others of the one row that has any", len(pictures))
	}
	for _, svg := range pictures {
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in %.200s", err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || !strings.Contains(svg, `role="img"`) {
			t.Errorf("picture %.200s", svg)
		}
	}
	for _, id := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, `id="`+id[1]+`"`) {
			t.Errorf("a link leads to %s, which is nowhere", id[1])
		}
	}
}

func TestChartOfALongRunIsDrawnByAverages(t *testing.T) {
	r := &sim.Result{Seconds: make([]sim.Second, 1000), Incident: sim.Span{From: 100 * time.Second, To: 200 * time.Second}, Breakers: 2}
	for i := range r.Seconds {
		r.Seconds[i] = sim.Second{Born: 10, Good: 8, Failed: 4000, Tries: 20, Refused: 5, Open: 1, HalfOpen: 1, Window: 64}
	}
	c := newChart(r)
	if len(c.bins) > maxBins || c.per != 7 {
		t.Errorf("%d bins of %d seconds", len(c.bins), c.per)
	}
	want := bin{born: 10, good: 8, failed: 4000, refused: 0.25, open: 0.5, half: 0.5, window: 64}
	for i, b := range c.bins {
		if b != want {
			t.Fatalf("bin %d is %+v", i, b)
		}
	}
	svg := c.draw(c.height(), "label")
	for _, part := range []string{"failed: up to 4,000/s", "window up to 64", `class="half"`, `class="open"`} {
		if !strings.Contains(svg, part) {
			t.Errorf("the picture lacks %q", part)
		}
	}
}

func TestAxes(t *testing.T) {
	for v, want := range map[float64]float64{0: 1, 0.3: 0.4, 1: 1, 3: 4, 9: 10, 110: 200, 880: 1000, 430: 500, 641: 800} {
		if got := niceAbove(v); math.Abs(got-want) > 1e-12 {
			t.Errorf("above %g: %g, want %g", v, got, want)
		}
	}
	for length, want := range map[int]int{30: 10, 105: 20, 180: 30, 650: 120, 3900: 600, 100000: 3600} {
		if got := niceStep(length); got != want {
			t.Errorf("step for %d: %d, want %d", length, got, want)
		}
	}
}

func TestLossesAreNamed(t *testing.T) {
	entry := func(name string, t95, failed float64) sim.Entry {
		return sim.Entry{Name: name, Metrics: sim.Metrics{T95: t95, Failed: failed, GoodputDuring: 100}}
	}
	never := math.Inf(1)
	suite := &sim.Report{Rows: []sim.RowReport{
		{Row: sim.Row{Name: "x", Mode: "U"}, Entries: []sim.Entry{
			entry("oracle", 0, 0), entry("window", 10, 100), entry("defaults", 0, 0), entry("a", 9, 60), entry("b", 8, 50), entry("c", never, 0),
		}},
		{Row: sim.Row{Name: "y", Mode: "U"}, Entries: []sim.Entry{
			entry("oracle", 0, 0), entry("window", never, 100), entry("c", never, 0),
		}},
	}}
	got := strings.Join(losses(suite), "\n")
	want := "x/U: seconds until all is well: ours 10, b 8\nx/U: failed calls: ours 100, b 50\ny/U: failed calls: ours 100, c 0"
	if got != want {
		t.Errorf("losses\n%s\nwant\n%s", got, want)
	}
}
