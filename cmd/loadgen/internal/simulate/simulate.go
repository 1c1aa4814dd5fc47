// Package simulate runs the scenarios of the recovery simulator and judges them.
package simulate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/sim"
	"github.com/atomicbreaker/breaker/sim/rivals"
)

// Command is what loadgen lists.
var Command = frame.Command{
	Name:    "sim",
	Summary: "the recovery simulator: scenarios and policies in virtual time",
	OnCall:  true,
	About: `
loadgen sim [flags]

Runs breakers through outages, surges and partial failures in virtual time and
prints what came of it: how long until all is well again, good answers, failed
calls, calls refused that could have been served, trips, and how many calls
fell upon the dependency in its first second. The calls, the dependency and
their chances are simulated; the breaker is the real one on a clock that is set
by hand. Rivals are real code too, recorded under fake time.

  loadgen sim                          scenarios of every kind, in under a minute of two cores
  loadgen sim -all                     every scenario, in some minutes
  loadgen sim -list                    the scenarios and the contenders, and stop
  loadgen sim -scenario 04,10          some of them; lab is the discrete lab
  loadgen sim -against classic,none    fewer contenders beside the oracle and ours
  loadgen sim -html report.html        a page with pictures, for any browser

The verdicts: every figure of the discrete lab to the unit, and every target
of the scenarios, as medians over the seeds. "oracle" knows the dependency's
queue and is the physical limit; "window" is ours with the trip rule of all
contenders, half of the last 20 calls, so that only recovery differs;
"defaults" is ours as it comes. "never" means not within the run.

The same command prints and writes the same bytes on any machine: there is no
time and no machine in them.`,
	Declare: func(fs *flag.FlagSet) frame.Job {
		j := &job{}
		fs.BoolVar(&j.list, "list", false, "list the scenarios and the contenders")
		fs.StringVar(&j.scenarios, "scenario", shortName, "run these, a comma between names such as 04, 04/U, 10-surge or lab; short is a set\nof every kind, and all is all")
		fs.BoolVar(&j.all, "all", false, "run every scenario")
		fs.StringVar(&j.against, "against", "all", "show these beside the oracle and ours: all, ours for nobody, or names with a\ncomma between; the page draws the first three")
		fs.IntVar(&j.seeds, "seeds", len(sim.Seeds), "take medians over `N` seeds, 1 to 99; contenders without targets run with 3\nat most")
		fs.Uint64Var(&j.seed, "seed", 0, "use the seeds from this `number` on instead of the suite's own; targets are\nmeant for medians over several")
		fs.StringVar(&j.html, "html", "", "write a page with pictures to `FILE`")
		return j
	},
}

// shortName stands for the rows of shortSet and the lab, in -scenario.
const shortName = "short"

// shortSet are rows of every kind, without the ones that take longest or tell what
// another tells too. Their figures are those that -all gives them.
var shortSet = strings.Fields(`01/3 01/U 01/C 01b/U 02/U 02/C 03/U 04/U 04/U-ready 05/U 05b/U 06/U 07/U 08/U 09-10s/1 09-60s/1 23-4x/3 23-timeout-5s/U 24-mix60/U
	10-dead10s/U 10-surge/U 10-surge/U-lease 10-collapse/U 11/U 12-50x200ms/U 12-400x50ms/U 12-2000x2s/U
	13-q10/U 13-q200/U 14-pareto-04/U 15/3 16/U 17-5s-04/U 18-35/U 18-65/U 20-500/U 20-surge/U 20-quota/U 21/U 22-01b/U`)

// fewSeeds is how many seeds contenders without targets are run with. The
// recordings of rivals have as many.
const fewSeeds = 3

// job is the sim command with its flags.
type job struct {
	list, all          bool
	scenarios, against string
	seeds              int
	seed               uint64
	html               string

	rows       []sim.Row
	lab        bool
	contenders []sim.Contender
	recordings []rivals.Recording
}

// facts are the figures behind the checks.
type facts struct {
	Seeds []uint64      `json:"seeds"`
	Rows  []rowFacts    `json:"rows"`
	Lab   []labRowFacts `json:"lab,omitempty"`
	Lost  []string      `json:"others_do_better,omitempty"`
}

func (j *job) Validate() error {
	var faults []error
	if j.seeds < 1 || j.seeds > 99 {
		faults = append(faults, fmt.Errorf("-seeds is %d, want 1 to 99", j.seeds))
	}
	if j.seed == 0 && j.seeds > len(sim.Seeds) {
		faults = append(faults, fmt.Errorf("-seeds is %d and the suite has %d of its own: say where to begin with -seed", j.seeds, len(sim.Seeds)))
	}
	faults = append(faults, j.chooseRows(), j.chooseContenders())
	return errors.Join(faults...)
}

// chooseRows finds the rows that -scenario names: a name without its mode
// stands for all modes, and for all names that go on with a hyphen.
func (j *job) chooseRows() error {
	suite := sim.Suite()
	names := strings.Split(j.scenarios, ",")
	switch {
	case j.all && j.scenarios != shortName:
		return errors.New("-all and -scenario exclude each other")
	case j.all, j.list:
		names = []string{"all"}
	case j.scenarios == shortName:
		names = append(slices.Clone(shortSet), "lab")
	}
	for _, name := range names {
		switch name = strings.TrimSpace(name); name {
		case "all":
			j.rows, j.lab = suite, true
			continue
		case "lab":
			j.lab = true
			continue
		}
		found := false
		for _, r := range suite {
			if r.ID() == name || r.Name == name || strings.HasPrefix(r.Name, name+"-") {
				found = true
				if !slices.ContainsFunc(j.rows, func(o sim.Row) bool { return o.ID() == r.ID() }) {
					j.rows = append(j.rows, r)
				}
			}
		}
		if !found {
			return fmt.Errorf("-scenario %q is unknown: loadgen sim -list tells the names", name)
		}
	}
	return nil
}

// chooseContenders finds the contenders that -against names.
func (j *job) chooseContenders() error {
	recorded, err := rivals.All()
	if err != nil {
		return err
	}
	j.contenders = []sim.Contender{sim.Oracle(), sim.Window(), sim.Defaults()}
	live := slices.DeleteFunc(sim.Contenders(), func(c sim.Contender) bool {
		return slices.ContainsFunc(j.contenders, func(o sim.Contender) bool { return o.Name == c.Name })
	})
	switch j.against {
	case "all":
		j.contenders, j.recordings = append(j.contenders, live...), recorded
		return nil
	case "ours":
		return nil
	}
	for _, name := range strings.Split(j.against, ",") {
		name = strings.TrimSpace(name)
		if i := slices.IndexFunc(live, func(c sim.Contender) bool { return c.Name == name }); i >= 0 {
			j.contenders = append(j.contenders, live[i])
		} else if i := slices.IndexFunc(recorded, func(r rivals.Recording) bool { return r.Name == name }); i >= 0 {
			j.recordings = append(j.recordings, recorded[i])
		} else {
			return fmt.Errorf("-against %q is unknown: loadgen sim -list tells the names", name)
		}
	}
	return nil
}

func (j *job) Run(ctx context.Context, r *frame.Report) error {
	r.Reproduce()
	if j.list {
		j.printList(r.Console)
		return nil
	}
	facts := &facts{Seeds: j.seedList()}
	r.Facts("sim", facts)
	if j.lab {
		facts.Lab = runLab(r)
	}
	suite, err := j.runSuite(ctx, r)
	if err != nil {
		return err
	}
	j.addRecordings(suite)
	facts.Rows = judgeSuite(r, suite)
	printSuite(r.Console, suite)
	facts.Lost = losses(suite)
	printLosses(r.Console, facts.Lost)
	if j.html == "" {
		return nil
	}
	return writePage(j.html, suite, facts, j.inPictures())
}

func (j *job) seedList() []uint64 {
	if j.seed == 0 {
		return sim.Seeds[:j.seeds]
	}
	seeds := make([]uint64, j.seeds)
	for i := range seeds {
		seeds[i] = j.seed + uint64(i)
	}
	return seeds
}

// runSuite runs the chosen rows.
func (j *job) runSuite(ctx context.Context, r *frame.Report) (*sim.Report, error) {
	if len(j.rows) == 0 {
		return &sim.Report{Seeds: j.seedList()}, ctx.Err()
	}
	suite := sim.RunSuite(sim.Options{
		Rows: j.rows, Contenders: j.contenders, Seeds: j.seedList(), FewSeeds: fewSeeds, Done: ctx.Done(),
		Progress: func(done, all int) { r.Console.Status("simulating: %d of %d runs", done, all) },
	})
	return suite, ctx.Err()
}

// addRecordings puts what rivals did beside what was run.
func (j *job) addRecordings(suite *sim.Report) {
	for i := range suite.Rows {
		row := &suite.Rows[i]
		for k := range j.recordings {
			if e, ok := j.recordings[k].Entry(&row.Row); ok && !row.OursOnly {
				row.Entries = append(row.Entries, e)
			}
		}
	}
}

func (j *job) printList(c *frame.Console) {
	c.Printf("Scenarios\n  %-22s %s\n", "lab", "the discrete lab: one breaker, two dependencies, no chance")
	for _, r := range j.rows {
		if r.Mode != sim.ModeReady {
			c.Printf("  %-22s %s\n", r.ID(), r.Title)
		}
	}
	c.Printf("  %-22s %s\n", "NAME/"+sim.ModeReady, "those of mode U once more, by callers that ask Ready first")
	c.Printf("\nModes: U open loop with retries without limit, 3 three attempts, C closed loop, 1 no retry\n\nContenders\n")
	for _, x := range j.contenders {
		c.Printf("  %-22s %s\n", x.Name, x.Title)
	}
	for _, x := range j.recordings {
		c.Printf("  %-22s %s (%s %s, recorded)\n", x.Name, x.Title, x.Module, x.Version)
	}
}
