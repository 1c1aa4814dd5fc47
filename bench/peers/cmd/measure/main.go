// Measure makes the measurements that do not fit a Go benchmark: the tails of
// single calls, the memory of many breakers, and the stress that makes probes
// overlap in breakers that decide on more than one word.
//
// Usage:
//
//	measure tails  [-for 500ms] [-bench]
//	measure memory [-bench]
//	measure stress [-for 15s] [-probe-for 8s] [-bench]
//
// It prints tables, or with -bench lines in the format of Go benchmarks, which
// command report reads.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"golang.org/x/perf/benchfmt"

	"github.com/atomicbreaker/breaker/bench/peers/internal/summary"
)

// A task measures and hands on each result.
type task struct {
	about string
	flags func(*flag.FlagSet) func(emit func(*benchfmt.Result)) error
	write func(*summary.Set, io.Writer) error
}

var tasks = map[string]task{
	"tails":  {"the distribution of the times of single calls", tails, (*summary.Set).WriteTails},
	"memory": {"bytes, objects and collection time of many breakers", memory, (*summary.Set).WriteMemory},
	"stress": {"probes early or overlapping under pressure", stress, (*summary.Set).WriteStress},
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to measure: tails, memory or stress")
	}
	t, ok := tasks[args[0]]
	if !ok {
		return fmt.Errorf("cannot measure %q: say tails, memory or stress", args[0])
	}
	fs := flag.NewFlagSet("measure "+args[0], flag.ContinueOnError)
	raw := fs.Bool("bench", false, "print lines in the format of Go benchmarks instead of tables")
	measure := t.flags(fs)
	fs.SetOutput(io.Discard) // one line of our own says what is wrong
	if err := fs.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(os.Stderr)
			fs.Usage()
			return err
		}
		return fmt.Errorf("%w: see measure %s -h", err, args[0])
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see measure %s -h", fs.Arg(0), args[0])
	}
	set, lines := summary.NewSet(), benchfmt.NewWriter(out)
	var writing error
	err := measure(func(r *benchfmt.Result) {
		if *raw {
			writing = errors.Join(writing, lines.Write(r))
		} else {
			set.Add(r)
		}
	})
	if err = errors.Join(err, writing); err != nil || *raw {
		return err
	}
	return t.write(set, out)
}
