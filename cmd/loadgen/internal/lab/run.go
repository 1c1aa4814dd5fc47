package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/sim"
)

// A Run is what one lane made of a setup.
type Run struct {
	Key     string   `json:"key"`
	Title   string   `json:"title"`
	About   string   `json:"about"`
	Says    string   `json:"says"` // what came of it, in a sentence or two
	Figures []string `json:"figures"`
	Charts  []Chart  `json:"charts"`
	Seconds Columns  `json:"seconds"`

	back float64 // seconds until all is well; infinite for never
	run  *sim.Result
}

// Columns are the seconds of a run, by what happened in each.
type Columns struct {
	Born     []int     `json:"born"`
	Good     []int     `json:"good"`
	Failed   []int     `json:"failed"`
	Refused  []int     `json:"refused"`
	Behind   []int     `json:"behind"`
	Queue    []int     `json:"queue"`
	Window   []int     `json:"window"`
	Open     []int     `json:"open"` // breakers, at the end of the second
	HalfOpen []int     `json:"halfOpen"`
	P50      []float64 `json:"p50"` // ms, of calls that were sent; -1: none ended
	P99      []float64 `json:"p99"`
}

// FigureNames are the heads of [Run.Figures].
func FigureNames() []string {
	return []string{"Back to normal after", "Good in the incident", "Failed", "Refused", "Refused needlessly", "Given up", "Openings"}
}

// Play runs one lane of a setup that [Parse] has accepted.
func Play(s *Setup, key string) (*Run, error) {
	i := laneIndex(key)
	if i < 0 {
		return nil, fmt.Errorf("lane is %q, want one of %s", key, laneKeys())
	}
	l := lanes[i]
	scenario := s.scenario()
	if l.single {
		scenario.Breakers = 1
	}
	if l.turns {
		scenario.Lease = &sim.LeaseStore{Latency: time.Millisecond, TTL: 100 * time.Millisecond}
	}
	m := &meter{seconds: make([][]time.Duration, int(s.Length/time.Second)+1)}
	result := sim.Run(scenario, m.on(l.contender(s)), uint64(s.Seed), sim.Time{})
	r := &Run{Key: l.Key, Title: l.Title, About: l.About, run: result, Seconds: columns(result, m)}
	metrics := result.Metrics()
	r.back = metrics.T95
	r.Figures = figures(s, result, &metrics)
	r.Says = r.sentence(s)
	r.Charts = draw(s, r)
	return r, nil
}

func columns(result *sim.Result, m *meter) Columns {
	var c Columns
	for i, s := range result.Seconds {
		c.Born = append(c.Born, s.Born)
		c.Good = append(c.Good, s.Good)
		c.Failed = append(c.Failed, s.Failed)
		c.Refused = append(c.Refused, s.Refused)
		c.Behind = append(c.Behind, s.Behind)
		c.Queue = append(c.Queue, s.Queue)
		c.Window = append(c.Window, s.Window)
		c.Open = append(c.Open, s.Open)
		c.HalfOpen = append(c.HalfOpen, s.HalfOpen)
		c.P50 = append(c.P50, m.quantile(i, 0.5))
		c.P99 = append(c.P99, m.quantile(i, 0.99))
	}
	return c
}

// judged tells whether the run goes on long enough to be judged after the
// incident.
func (s *Setup) judged() bool {
	return s.Incident != "nothing" && s.Length-incidentBegins-s.Lasts >= 5*time.Second
}

func figures(s *Setup, r *sim.Result, m *sim.Metrics) []string {
	back := "–"
	if s.judged() {
		back = backIn(m.T95)
	}
	all := r.All()
	return []string{
		back, number(m.GoodputDuring) + "/s", count(all.Failed), count(all.Refused), count(all.Needless), count(all.Lost), count(r.Trips + r.Reopens),
	}
}

func backIn(t95 float64) string {
	if math.IsInf(t95, 1) {
		return "never"
	}
	return fmt.Sprintf("%.0f s", t95)
}

func (r *Run) sentence(s *Setup) string {
	all := r.run.All()
	var b strings.Builder
	switch {
	case !s.judged():
	case math.IsInf(r.back, 1):
		fmt.Fprintf(&b, "Not back to normal %.0f s after the incident. ", (s.Length - incidentBegins - s.Lasts).Seconds())
	case r.back == 0:
		b.WriteString("Back to normal as soon as the incident is over. ")
	default:
		fmt.Fprintf(&b, "Back to normal %.0f s after the incident. ", r.back)
	}
	fmt.Fprintf(&b, "%s of %s calls that were sent failed", count(all.Failed), count(all.Sent))
	if all.Refused > 0 {
		fmt.Fprintf(&b, "; %s were refused, %s of them needlessly", count(all.Refused), count(all.Needless))
	}
	b.WriteByte('.')
	return b.String()
}

// count groups digits: 1234567 is 1,234,567.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func number(v float64) string {
	if v >= 10 || v == math.Trunc(v) {
		return count(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}
