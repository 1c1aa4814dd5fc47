// Report turns benchmark results into the text of benchstat.txt: floors, this
// library, its twins behind a lock and the rivals, with the ratios between them
// and with everything in which another breaker is better.
//
// Usage:
//
//	report [-command "make bench"] [-commit abc1234] [file ...]
//
// The files hold results in the format of Go benchmarks, from go test -bench and
// from command measure with -bench; without any, standard input is read.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/atomicbreaker/breaker/bench/peers/internal/summary"
	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	command := fs.String("command", "go test -bench", "the `command` to name as the one that measured")
	commit := fs.String("commit", "", "the `commit` to name as the one measured (default: the checkout's)")
	fs.SetOutput(io.Discard) // one line of our own says what is wrong
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(os.Stderr)
			fs.Usage()
			return err
		}
		return fmt.Errorf("%w: see report -h", err)
	}
	set := summary.NewSet()
	if err := set.Read(fs.Args()...); err != nil {
		return fmt.Errorf("reading results: %w", err)
	}
	if set.Empty() {
		return errors.New("no benchmark results: give files written by go test -bench or measure -bench")
	}
	if *commit == "" {
		*commit = checkout()
	}
	if err := header(out, set, *command, *commit); err != nil {
		return err
	}
	for _, section := range []func(io.Writer) error{
		set.WriteTargets, set.WriteOurs, set.WriteOthers, set.WriteLayout, set.WriteGrowth, set.WriteSimulated, set.WriteLosses,
		set.WriteFloors, set.WriteCalls, set.WriteDropIn, set.WriteTails, set.WriteMemory, set.WriteStress,
	} {
		if err := section(out); err != nil {
			return err
		}
	}
	return nil
}

// checkout names the commit of the working directory, with a plus sign where
// files differ from it.
func checkout() string {
	id, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(id))
	if exec.Command("git", "diff", "--quiet", "HEAD").Run() != nil {
		name += "+"
	}
	return name
}

func header(out io.Writer, set *summary.Set, command, commit string) error {
	var b strings.Builder
	line := func(key, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", key+":", fmt.Sprintf(format, args...))
	}
	line("machine", "%s, %d processors, %s/%s", known(set.Config("cpu")), runtime.NumCPU(), known(set.Config("goos")), known(set.Config("goarch")))
	line("go", "%s", strings.TrimPrefix(runtime.Version(), "go"))
	line("commit", "%s", commit)
	line("command", "%s", command)
	fmt.Fprintf(&b, `
Medians. ± is the 95 %% confidence interval of the median where there are six
measurements or more, else the farthest of them. nP xg: n processors and g
goroutines for each; the time is wall time over all calls, so that perfect
scaling halves it from 1P to 2P. All run through the same call of a function
value, which the floor "empty" shows. Ratios are to the floor of the row and to
the same form of ours (ticket or wrapper).

`)
	b.WriteString("Rivals, as built into this report:\n\n")
	seen := map[string]bool{}
	for _, s := range rival.Subjects() {
		if s.Rival() && !seen[s.Module] {
			seen[s.Module] = true
			fmt.Fprintf(&b, "  %-40s %s\n", s.Module, known(s.Version()))
		}
	}
	if bad := set.Skipped(); len(bad) > 0 {
		fmt.Fprintf(&b, "\n%d lines could not be read as results; the first: %s\n", len(bad), bad[0])
	}
	b.WriteString("\n")
	_, err := io.WriteString(out, b.String())
	return err
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
