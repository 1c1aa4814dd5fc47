// Command loadgen puts a circuit breaker under load and judges what it did.
//
// See README.md, or run it with -h.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// A command is one subcommand. To add one, write it in a file of its own and
// list it in commands.
type command struct {
	name    string
	summary string // one line for the list of commands
	about   string // what -h teaches before it lists the flags
	onCall  bool   // only by its name: loadgen without a command leaves it out

	// declare registers the command's flags and returns the job that they set up.
	declare func(*flag.FlagSet) job
}

// A job is a command with its flags.
type job interface {
	// validate reports every fault of the flags, by flag and allowed range.
	validate() error

	// run does the work, writes for people to the report's console as it goes
	// along and adds its checks. It returns early when ctx ends.
	run(ctx context.Context, r *report) error
}

// commands are listed in -h in this order, and run in this order, but those on
// call, when loadgen is called with no command.
var commands = []command{failfastCommand, drillCommand, simCommand, adviseCommand, labCommand}

const (
	exitOK     = 0
	exitFailed = 1 // a verdict failed, or the work could not be done
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, rest, err := choose(args)
	if err != nil {
		return usageError(stderr, "loadgen", err)
	}
	title := strings.TrimSpace("loadgen " + c.name)
	flags := flag.NewFlagSet(title, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	jsonFile := flags.String("json", "", "write the checks and the figures behind them as JSON to `FILE`; - is\nstdout, and what is for people then goes to stderr")
	work := c.declare(flags)
	switch err := flags.Parse(rest); {
	case errors.Is(err, flag.ErrHelp):
		help(stdout, c, flags)
		return exitOK
	case err != nil:
		return usageError(stderr, title, err)
	case flags.NArg() > 0:
		return usageError(stderr, title, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if err := work.validate(); err != nil {
		return usageError(stderr, title, err)
	}

	out := stdout
	if *jsonFile == "-" {
		out = stderr
	}
	r := newReport(newConsole(out, stderr), append([]string{"loadgen"}, args...))
	err = work.run(ctx, r)
	r.console.clear()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, title+": interrupted; no verdict")
		return exitFailed
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", title, err)
		return exitFailed
	}
	r.printVerdict()
	if err := r.writeJSON(*jsonFile, stdout); err != nil {
		fmt.Fprintf(stderr, "%s: cannot write -json: %v\n", title, err)
		return exitFailed
	}
	if r.afterwards != nil {
		r.afterwards(ctx)
	}
	if !r.passed() {
		return exitFailed
	}
	return exitOK
}

// choose finds the command that the arguments begin with; without one it is
// all of them, one after the other.
func choose(args []string) (command, []string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return all(), args, nil
	}
	if args[0] == "help" {
		return all(), []string{"-h"}, nil
	}
	var names []string
	for _, c := range commands {
		if c.name == args[0] {
			return c, args[1:], nil
		}
		names = append(names, c.name)
	}
	return command{}, nil, fmt.Errorf("unknown command %q, want %s", args[0], strings.Join(names, " or "))
}

// usageError says in one line what is wrong and where to read on.
func usageError(stderr io.Writer, title string, err error) int {
	line := strings.ReplaceAll(err.Error(), "\n", "; ")
	fmt.Fprintf(stderr, "%s: %s (see %s -h)\n", title, line, title)
	return exitUsage
}

func help(w io.Writer, c command, flags *flag.FlagSet) {
	fmt.Fprintln(w, strings.TrimSpace(c.about))
	fmt.Fprintln(w, "\nFlags:")
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// all is loadgen without a command: every command with its defaults.
func all() command {
	var list strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&list, "  %-10s %s\n", c.name, c.summary)
	}
	return command{
		about: fmt.Sprintf(aboutAll, list.String()),
		declare: func(*flag.FlagSet) job {
			var jobs allJobs
			for _, c := range commands {
				if !c.onCall {
					jobs = append(jobs, c.declare(flag.NewFlagSet(c.name, flag.ContinueOnError)))
				}
			}
			return jobs
		},
	}
}

const aboutAll = `
loadgen puts a circuit breaker under load on this machine and judges it.

  loadgen [-json FILE]           the first two with their defaults, about 20 s
  loadgen COMMAND [flags]        one of them; COMMAND -h tells more

Commands:
%s
The exit status is 0 if every verdict passed, 1 if one failed, 2 for bad usage.`

type allJobs []job

func (jobs allJobs) validate() error {
	var faults []error
	for _, j := range jobs {
		faults = append(faults, j.validate())
	}
	return errors.Join(faults...)
}

func (jobs allJobs) run(ctx context.Context, r *report) error {
	for i, j := range jobs {
		if i > 0 {
			r.console.printf("\n")
		}
		if err := j.run(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
