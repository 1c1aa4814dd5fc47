package sim

import (
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// A LabRow is a run in the lab whose figures are known. They hold to the unit:
// there is no chance in them.
type LabRow struct {
	Name      string // of letters, digits and hyphens
	Lab       Lab
	Contender Contender
	Want      []LabFigure
}

// A LabFigure is one figure of a lab's run and what it must be.
type LabFigure struct {
	Metric string // calls, completed, failed, waiting, dropped or over
	Want   int
	AtMost bool // Want is an upper limit instead; Never exceeds every limit
}

// Value returns a figure by name.
func (r *LabResult) Value(metric string) int {
	switch metric {
	case "calls":
		return r.Calls
	case "completed":
		return r.Completed
	case "failed":
		return r.Failed
	case "waiting":
		return r.Waiting
	case "dropped":
		return r.Dropped
	case "over":
		return r.Over
	}
	panic("sim: no lab metric " + metric)
}

// Met tells whether a figure is what it must be.
func (f LabFigure) Met(value int) bool {
	if f.AtMost {
		return value <= f.Want && value != Never
	}
	return value == f.Want
}

// labClassic is the lab's classic breaker: this module's, with one probe and a
// cooldown of a whole number of ticks. Outcomes that were admitted before it
// opened are late, so the probes alone decide.
func labClassic(cooldown time.Duration, rate float64, r atomicbreaker.Recovery) Contender {
	c := compared(atomicbreaker.Config{Cooldown: constant(cooldown), Recovery: r})
	c.FailureRate = rate
	return Breaker("classic", "classic", c)
}

func oneProbe() Contender {
	return labClassic(5*time.Second, 0.5, atomicbreaker.Recovery{Probes: 1})
}

// LabRows are the lab's runs. The study's two variants are settings of ours: a
// cooldown compared with <= instead of < is one tick longer, and three
// successes in a row with one probe at a time are three probes, one in flight.
func LabRows() []LabRow {
	dead := func(ticks int) Lab { return Lab{Ticks: ticks, Base: 5, Surge: 40} }
	over := func(ticks int) Lab { return Lab{Ticks: ticks, Base: 5, Surge: 40, Overloaded: true} }
	capped := func(l Lab) Lab { l.Attempts = 3; return l }
	base := func(n int) Lab { l := over(3000); l.Base = n; return l }
	mild := over(400)
	mild.Surge = LabCapacity

	late := labClassic(6*time.Second, 0.5, atomicbreaker.Recovery{Probes: 1})
	three := labClassic(5*time.Second, 0.5, atomicbreaker.Recovery{Probes: 3, Concurrent: 1})

	rows := []LabRow{
		{"dead-none-45", dead(45), None(), figures(2775, 575, 2200, 0, 20)},
		{"dead-classic-45", dead(45), oneProbe(), figures(616, 575, 41, 0, 21)},
		{"dead-none-400", dead(400), None(), figures(4550, 2350, 2200, 0, 20)},
		{"dead-classic-400", dead(400), oneProbe(), figures(2391, 2350, 41, 0, 21)},
		{"overloaded-none-400", over(400), None(), figures(4685, 2350, 2335, 0, 33)},
		{"overloaded-classic-400", over(400), oneProbe(), figures(41490, 1415, 40075, 935, Never)},
		{"overloaded-classic-3000", over(3000), oneProbe(), figures(1295532, 10528, 1285004, 4822, Never)},
		{"dead-late-cooldown-400", dead(400), late, figures(2391, 2350, 41, 0, 23)},
		{"overloaded-late-cooldown-400", over(400), late, figures(41160, 1225, 39935, 1125, Never)},
		{"dead-three-in-a-row-400", dead(400), three, figures(2391, 2350, 41, 0, 23)},
		{"overloaded-three-in-a-row-400", over(400), three, figures(37232, 1175, 36057, 1175, Never)},
		{"dead-cap3-none-400", capped(dead(400)), None(), append(figures(3110, 2030, 1080, 0, 20), LabFigure{Metric: "dropped", Want: 320})},
		{"dead-cap3-classic-400", capped(dead(400)), oneProbe(), append(figures(2032, 1991, 41, 0, 21), LabFigure{Metric: "dropped", Want: 359})},
		{"overloaded-cap3-none-400", capped(over(400)), None(), append(figures(3085, 2190, 895, 0, 22), LabFigure{Metric: "dropped", Want: 160})},
		{"overloaded-cap3-classic-400", capped(over(400)), oneProbe(), append(figures(2112, 1992, 120, 0, 22), LabFigure{Metric: "dropped", Want: 358})},
		{"no-overload-none-400", mild, None(), figures(2150, 2150, 0, 0, 0)},
		{"no-overload-classic-400", mild, oneProbe(), figures(2150, 2150, 0, 0, 0)},
		{"overloaded-classic-base4-3000", base(4), oneProbe(), figures(554495, 10518, 543977, 1842, Never)},
		{"overloaded-classic-base3-3000", base(3), oneProbe(), figures(29864, 9370, 20494, 0, 701)},
	}
	for _, rate := range []float64{0.3, 0.7, 0.9, 0.99} {
		rows = append(rows, LabRow{
			fmt.Sprintf("overloaded-threshold-%g-400", 100*rate), over(400),
			labClassic(5*time.Second, rate, atomicbreaker.Recovery{Probes: 1}), figures(41490, 1415, 40075, 935, Never),
		})
	}
	rows = append(rows, cooldownSweep(over(3000))...)
	rows = append(rows, probeSweep(over(400))...)
	return append(rows, windowRows(dead(400), over(400))...)
}

// figures are the five that most rows have.
func figures(calls, completed, failed, waiting, over int) []LabFigure {
	return []LabFigure{
		{Metric: "calls", Want: calls}, {Metric: "completed", Want: completed}, {Metric: "failed", Want: failed},
		{Metric: "waiting", Want: waiting}, {Metric: "over", Want: over},
	}
}

// cooldownSweep: only a cooldown so short that hardly anybody waits ends the
// overload.
func cooldownSweep(l Lab) []LabRow {
	var rows []LabRow
	for i, want := range []struct{ over, waiting int }{
		{71, 0}, {176, 0}, {1315, 0}, {Never, 2742}, {Never, 4822}, {Never, 6313}, {Never, 7447}, {Never, 8308},
	} {
		rows = append(rows, LabRow{
			fmt.Sprintf("overloaded-cooldown-%d-3000", i+1), l,
			labClassic(time.Duration(i+1)*time.Second, 0.5, atomicbreaker.Recovery{Probes: 1}),
			[]LabFigure{{Metric: "over", Want: want.over}, {Metric: "waiting", Want: want.waiting}},
		})
	}
	return rows
}

// probeSweep: the right number of probes is the capacity of the server, which
// the client cannot see. One more than that is worse than five.
func probeSweep(l Lab) []LabRow {
	type want struct{ completed, over int }
	wants := map[int]want{
		1: {1415, Never}, 2: {1480, Never}, 3: {1545, Never}, 5: {1675, Never}, 10: {2000, Never}, 15: {2325, Never},
		16: {2350, 341}, 17: {2350, 293}, 18: {2350, 257}, 19: {2350, 233}, 20: {2350, 209},
		21: {1610, Never}, 22: {1610, Never}, 30: {1610, Never}, 100: {1610, Never},
	}
	var rows []LabRow
	for _, n := range []int{1, 2, 3, 5, 10, 15, 16, 17, 18, 19, 20, 21, 22, 30, 100} {
		rows = append(rows, LabRow{
			fmt.Sprintf("overloaded-probes-%d-400", n), l,
			labClassic(5*time.Second, 0.5, atomicbreaker.Recovery{Probes: n}),
			[]LabFigure{{Metric: "completed", Want: wants[n].completed}, {Metric: "over", Want: wants[n].over}},
		})
	}
	return rows
}

// windowRows are what the probe window must make of the same dependencies,
// with the same settings for both and no knowledge of either.
func windowRows(dead, over Lab) []LabRow {
	return []LabRow{
		{"dead-window-400", dead, Window(), []LabFigure{
			{Metric: "completed", Want: 2350}, {Metric: "failed", Want: 51, AtMost: true}, {Metric: "over", Want: 29, AtMost: true}}},
		{"overloaded-window-400", over, Window(), []LabFigure{
			{Metric: "completed", Want: 2350}, {Metric: "failed", Want: 80, AtMost: true}, {Metric: "over", Want: 40, AtMost: true}}},
	}
}
