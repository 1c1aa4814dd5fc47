package sim

import "time"

// A Row is one line of the suite: a scenario, or several variants of it whose
// figures are averaged, and what the breaker must reach in it.
type Row struct {
	Name, Mode, Title string
	Variants          []*Scenario
	Targets           []Target

	// Grid marks rows of a large grid: reports list them and draw no picture.
	Grid bool

	// Twin is the ID of a row with the same scenario otherwise, that figures
	// are compared with. It stands before this one.
	Twin string

	// OursOnly rows are run with ours and the oracle: they ask something of
	// ours, or would take the others too long.
	OursOnly bool
}

// ID is the name and the mode.
func (r *Row) ID() string { return r.Name + "/" + r.Mode }

// A Target bounds a figure by OfOracle times the oracle's plus OfTwin times
// that of the same contender in the row's twin, plus Plus.
type Target struct {
	Metric   string
	AtLeast  bool // otherwise at most
	OfOracle float64
	OfTwin   float64
	Plus     float64
}

// Limit is the bound, given the oracle's figure and the twin's.
func (t Target) Limit(oracle, twin float64) float64 {
	limit := t.Plus
	if t.OfOracle != 0 { // the oracle may never get there, and zero times never is not a number
		limit += t.OfOracle * oracle
	}
	if t.OfTwin != 0 {
		limit += t.OfTwin * twin
	}
	return limit
}

// Met tells whether a figure keeps to a bound.
func (t Target) Met(value, limit float64) bool {
	if t.AtLeast {
		return value >= limit
	}
	return value <= limit
}

func atMost(metric string, v float64) Target  { return Target{Metric: metric, Plus: v} }
func atLeast(metric string, v float64) Target { return Target{Metric: metric, AtLeast: true, Plus: v} }
func oraclePlus(metric string, v float64) Target {
	return Target{Metric: metric, OfOracle: 1, Plus: v}
}
func ofOracle(metric string, share float64) Target {
	return Target{Metric: metric, AtLeast: true, OfOracle: share}
}

func row(s *Scenario, targets ...Target) Row {
	return Row{Name: s.Name, Mode: s.Mode, Title: s.Title, Variants: []*Scenario{s}, Targets: targets}
}

func grid(s *Scenario, targets ...Target) Row {
	r := row(s, targets...)
	r.Grid = true
	return r
}

func oursOnly(s *Scenario, targets ...Target) Row {
	r := row(s, targets...)
	r.OursOnly = true
	return r
}

// spread is a row over outages of 7 to 13 s: where in a cooldown an outage
// ends must not decide.
func spread(make func(lasts time.Duration) *Scenario, targets ...Target) Row {
	r := row(make(10*sec), targets...)
	r.Title += " (mean over 7 to 13 s)"
	r.Variants = nil
	for s := 7 * sec; s <= 13*sec; s += sec {
		r.Variants = append(r.Variants, make(s))
	}
	return r
}

// Suite is every scenario with its targets.
func Suite() []Row {
	const u, three, closed = ModeUnbounded, ModeThree, ModeClosed
	mild := []Target{ofOracle("goodput_after", 0.94), atMost("failed_beyond", 25)}
	rows := []Row{
		spread(func(d time.Duration) *Scenario { return dead("01", three, 100, d) }, mild...),
		spread(func(d time.Duration) *Scenario { return dead("01", u, 100, d) }, mild...),
		spread(func(d time.Duration) *Scenario { return dead("01", closed, 100, d) }, mild...),
		row(dead("01b", u, 300, 10*sec), oraclePlus("t95_s", 10), atMost("failed", 60)),
		row(dead("01c", u, 100, 60*sec), oraclePlus("t95_s", 5)),
		row(hanging("02", u), atMost("t95_s", 3), atMost("failed", 100*1+40)),
		row(hanging("02", three), atMost("t95_s", 3), atMost("failed", 100*1+40)),
		row(hanging("02", closed), atMost("t95_s", 3), atMost("failed", 100*1+40)),
		row(shallow(u), oraclePlus("t95_s", 2), atMost("failed", 60)),
		row(shallow(three)), row(shallow(closed)),
		row(tiny(u), oraclePlus("t95_s", 2), atMost("failed", 500)),
		row(collapse(u), oraclePlus("t95_s", 6), atMost("failed", 1.3*800*1)),
		row(collapse(three)), row(collapse(closed)),
		row(errorsFor20s("05", u, 0.2), ofOracle("goodput_during", 0.95)),
		row(errorsFor20s("05b", u, 1), oraclePlus("t95_s", 4), oraclePlus("failed", 50)),
		row(errorsFor20s("05c", u, 0.6)),
		row(background("06", u, 0.05, 100), atMost("t95_s", 3), atMost("trips", 1), atMost("closed_after", 1000)),
		row(background("06b", u, 0.05, 300), oraclePlus("t95_s", 6)),
		row(background("06c", u, 0.2, 100)),
		row(slowReturn("07", u, 200), oraclePlus("t95_s", 3), atMost("failed", 60), atMost("retrips", 0)),
		row(slowReturn("07-q2000", u, 2000), oraclePlus("t95_s", 3), atMost("failed", 60), atMost("retrips", 0)),
		row(flapping(u), ofOracle("goodput_during", 0.9)),
		row(rare(10*sec), atMost("closed_after", 2)),
		row(rare(60*sec), atMost("closed_after", 2)),
		row(fleet("10-dead10s", dead("", u, 200, 10*sec)), oraclePlus("t95_s", 3)),
		row(fleet("10-dead60s", dead("", u, 200, 60*sec)), oraclePlus("t95_s", 8)),
		row(fleet("10-surge", shallow(u)), oraclePlus("t95_s", 3)),
		row(fleet("10-collapse", collapse(u)), oraclePlus("t95_s", 25)),
		row(hungProbe(u), atMost("t95_s", 8)),
	}
	rows = append(rows, sizes(u)...)
	for _, q := range []struct {
		queue int
		share float64
	}{{10, 0.95}, {200, 0.93}, {2000, 0.90}} {
		rows = append(rows, row(overload(u, q.queue),
			atLeast("goodput_during", 200*q.share), atMost("failed_share", 6), atMost("closes", 0)))
	}
	for _, l := range latencies() {
		rows = append(rows,
			row(with("14-"+l.key+"-01b", dead("", u, 300, 10*sec), l.Latency), oraclePlus("t95_s", 6)),
			row(with("14-"+l.key+"-04", collapse(u), l.Latency), oraclePlus("t95_s", 6)))
	}
	rows = append(rows,
		spread(func(d time.Duration) *Scenario { return cancelling(three, d) }, mild...),
		row(fastFirst(u)),
		oursOnly(retrying("17-100ms-01b", dead("", u, 300, 10*sec), 100*ms)),
		oursOnly(retrying("17-100ms-04", collapse(u), 100*ms)),
		row(retrying("17-5s-01b", dead("", u, 300, 10*sec), 5*sec)),
		row(retrying("17-5s-04", collapse(u), 5*sec)),
		row(errorsForEver(u, 0.35)), row(errorsForEver(u, 0.65)),
		row(hardLimit(u, 372)), row(hardLimit(u, 500)),
		row(surge("20-surge", u, 0, "surge to twice a hard limit without a queue for 10 s")),
		row(quota(u, 500)),
		row(coldCache(u)),
		row(backingOff("22-01b", dead("", u, 300, 10*sec))),
		row(backingOff("22-04", collapse(u))),
	)
	rows = append(rows, ahead(u)...)
	rows = append(rows, leased(u)...)
	return append(rows, ready(rows)...)
}

// sizes are dependencies of other capacities and latencies.
func sizes(mode string) []Row {
	var rows []Row
	for _, d := range []struct {
		workers int
		latency time.Duration
	}{
		{1, 200 * ms}, {10, 2 * sec}, // 5 calls a second
		{1, 20 * ms}, {10, 200 * ms}, {100, 2 * sec}, // 50
		{4, 10 * ms}, {20, 50 * ms}, {80, 200 * ms}, {800, 2 * sec}, // 400
		{2, ms}, {20, 10 * ms}, {100, 50 * ms}, {400, 200 * ms}, {4000, 2 * sec}, // 2000
	} {
		within := oraclePlus("t95_s", 4)
		if d.workers > 200 || d.latency >= 2*sec {
			// The window triples per round trip: what counts is their number.
			within = oraclePlus("t95_s", 9*d.latency.Seconds())
		}
		rows = append(rows, grid(size(mode, d.workers, d.latency), within))
	}
	return rows
}

// ready are the rows of unbounded retries once more, with callers that ask
// Ready first and go elsewhere when it says no: the same targets.
func ready(rows []Row) []Row {
	var more []Row
	for _, r := range rows {
		if r.Mode != ModeUnbounded {
			continue
		}
		r.Mode = ModeReady
		r.Grid, r.OursOnly = true, true
		variants := make([]*Scenario, len(r.Variants))
		for i, s := range r.Variants {
			variants[i] = askingReady(s)
		}
		r.Variants = variants
		more = append(more, r)
	}
	return more
}
