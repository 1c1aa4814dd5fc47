package sim

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Seeds are the ones that the suite's figures are medians of. They are not
// the ones by which the breaker's constants were chosen.
var Seeds = []uint64{20011, 20021, 20023, 20029, 20047}

// Options choose what [RunSuite] runs. The zero value is the whole suite.
type Options struct {
	Rows       []Row       // default: Suite()
	Contenders []Contender // default: Contenders(); an oracle is always added
	Seeds      []uint64    // default: Seeds

	// FewSeeds is how many of the seeds are run with contenders that have no
	// target to meet; 0: all of them.
	FewSeeds int

	// Progress is told, from any goroutine, how many of all runs are done.
	Progress func(done, all int)

	// Done stops the suite early when it is closed; the report is then nil.
	Done <-chan struct{}
}

// A Report is what the contenders made of the suite.
type Report struct {
	Seeds []uint64
	Rows  []RowReport
}

// A RowReport is what the contenders made of one row.
type RowReport struct {
	Row
	Entries []Entry
	Checks  []Check
}

// An Entry is what one contender made of a row.
type Entry struct {
	Name, Title string
	Metrics     Metrics // medians over the seeds
	Example     *Result // one run, of the first seed and the middle variant, to draw
}

// A Check is one target and whether it was met. Value and Limit may be +Inf,
// which stands for never.
type Check struct {
	Name         string // suite/<scenario>/<mode>/<metric>
	Metric       string
	Value, Limit float64
	Least        bool // the limit is a lower one
	Pass         bool
}

// suiteRun is one run of the suite.
type suiteRun struct {
	row, contender, variant, seed int
}

// RunSuite runs every contender through every row, on as many processors as
// there are. The report depends on the options only, or is nil if they say to
// stop.
func RunSuite(o Options) *Report {
	o.fill()
	var jobs []suiteRun
	for r := range o.Rows {
		for c := range o.Contenders {
			for v := range o.Rows[r].Variants {
				for s := range o.seedsOf(r, c) {
					jobs = append(jobs, suiteRun{r, c, v, s})
				}
			}
		}
	}
	figures := make([]Metrics, len(jobs))
	examples := make([]*Result, len(jobs))
	whole := inParallel(len(jobs), &o, func(i int) {
		j := jobs[i]
		variants := o.Rows[j.row].Variants
		result := Run(variants[j.variant], o.Contenders[j.contender], o.Seeds[j.seed], Time{})
		figures[i] = result.Metrics()
		if j.seed == 0 && j.variant == len(variants)/2 {
			examples[i] = result
		}
	})
	if !whole {
		return nil
	}
	return o.collect(figures, examples)
}

func (o *Options) fill() {
	if o.Rows == nil {
		o.Rows = Suite()
	}
	if o.Contenders == nil {
		o.Contenders = Contenders()
	}
	if o.Contenders[0].Name != Oracle().Name {
		o.Contenders = append([]Contender{Oracle()}, o.Contenders...)
	}
	if o.Seeds == nil {
		o.Seeds = Seeds
	}
}

// seedsOf is how many seeds a contender is run with in a row.
func (o *Options) seedsOf(row, contender int) int {
	switch {
	case judged(o.Contenders[contender].Name):
		return len(o.Seeds)
	case o.Rows[row].OursOnly:
		return 0
	case o.FewSeeds > 0:
		return min(o.FewSeeds, len(o.Seeds))
	}
	return len(o.Seeds)
}

// judged tells which contenders the targets are about.
func judged(name string) bool {
	return name == Oracle().Name || name == Window().Name || name == Defaults().Name
}

// collect puts figures, which are in the order of the jobs, into rows.
func (o *Options) collect(figures []Metrics, examples []*Result) *Report {
	report := &Report{Seeds: o.Seeds}
	for r, row := range o.Rows {
		out := RowReport{Row: row}
		for c, contender := range o.Contenders {
			seeds, variants := o.seedsOf(r, c), len(row.Variants)
			if seeds == 0 {
				continue
			}
			entry := Entry{Name: contender.Name, Title: contender.Title}
			bySeed := make([]Metrics, seeds)
			for s := range seeds {
				of := make([]Metrics, variants)
				for v := range variants {
					of[v] = figures[v*seeds+s]
					if e := examples[v*seeds+s]; e != nil {
						entry.Example = e
					}
				}
				bySeed[s] = combine(of, mean)
			}
			figures, examples = figures[variants*seeds:], examples[variants*seeds:]
			entry.Metrics = combine(bySeed, median)
			out.Entries = append(out.Entries, entry)
		}
		out.check(report.row(row.Twin))
		report.Rows = append(report.Rows, out)
	}
	return report
}

// Entry returns the entry of a contender, or nil.
func (r *RowReport) Entry(name string) *Entry {
	for i := range r.Entries {
		if r.Entries[i].Name == name {
			return &r.Entries[i]
		}
	}
	return nil
}

// row returns the row of an ID, or nil if it was not run.
func (r *Report) row(id string) *RowReport {
	for i := range r.Rows {
		if r.Rows[i].ID() == id {
			return &r.Rows[i]
		}
	}
	return nil
}

// check compares ours with the targets: with the compared trip rule under the
// row's own mode, and with all defaults under the mode with "-defaults". What
// is to be compared with a twin that was not run is left out.
func (r *RowReport) check(twin *RowReport) {
	for _, ours := range []struct{ name, mode string }{{Window().Name, r.Mode}, {Defaults().Name, r.Mode + "-defaults"}} {
		e := r.Entry(ours.name)
		if e == nil {
			continue
		}
		for _, t := range r.Targets {
			if ours.name == Defaults().Name {
				t = t.forDefaults()
			}
			if t.OfTwin != 0 && twin == nil {
				continue
			}
			oracle, _ := r.Entry(Oracle().Name).Metrics.Get(t.Metric)
			other := 0.0
			if t.OfTwin != 0 {
				other, _ = twin.Entry(ours.name).Metrics.Get(t.Metric)
			}
			r.judge(ours.mode, t, e, t.Limit(oracle, other))
		}
	}
}

// forDefaults allows for the default trip rule, which needs up to 20 failures
// in a row where the compared one needs 10 of 20, or half of ten seconds.
// What that costs is in failed_to_trip; the target bounds what comes on top.
func (t Target) forDefaults() Target {
	if t.Metric == "failed" {
		t.Metric = "failed_beyond"
	}
	return t
}

func (r *RowReport) judge(mode string, t Target, e *Entry, limit float64) {
	value, ok := e.Metrics.Get(t.Metric)
	if !ok {
		panic("sim: no metric " + t.Metric)
	}
	r.Checks = append(r.Checks, Check{
		Name:   "suite/" + r.Name + "/" + mode + "/" + t.Metric,
		Metric: t.Metric, Value: value, Limit: limit, Least: t.AtLeast,
		Pass: t.Met(value, limit) && !math.IsNaN(value),
	})
}

// Checks are all checks, in order.
func (r *Report) Checks() []Check {
	var all []Check
	for i := range r.Rows {
		all = append(all, r.Rows[i].Checks...)
	}
	return all
}

// inParallel does n things on all processors, and reports whether all of them.
func inParallel(n int, o *Options, do func(int)) bool {
	var next, done atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || o.stopped() {
					return
				}
				do(i)
				if d := int(done.Add(1)); o.Progress != nil {
					o.Progress(d, n)
				}
			}
		})
	}
	wg.Wait()
	return int(done.Load()) == n
}

func (o *Options) stopped() bool {
	select {
	case <-o.Done:
		return true
	default:
		return false
	}
}
