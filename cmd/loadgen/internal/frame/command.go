// Package frame is what the commands of loadgen have in common: how they are
// chosen and called, the console, the report and its checks.
package frame

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// A Command is one subcommand. To add one, write it in a package of its own and
// list it in main.
type Command struct {
	Name    string
	Summary string // one line for the list of commands
	About   string // what -h teaches before it lists the flags
	OnCall  bool   // only by its name: loadgen without a command leaves it out

	// Declare registers the command's flags and returns the job that they set up.
	Declare func(*flag.FlagSet) Job
}

// A Job is a command with its flags.
type Job interface {
	// Validate reports every fault of the flags, by flag and allowed range.
	Validate() error

	// Run does the work, writes for people to the report's console as it goes
	// along and adds its checks. It returns early when ctx ends.
	Run(ctx context.Context, r *Report) error
}

const (
	exitOK     = 0
	exitFailed = 1 // a verdict failed, or the work could not be done
	exitUsage  = 2
)

// Run carries out the command that the arguments begin with, or all that are
// not on call if they name none, and returns the exit status: 0 if every verdict
// passed, 1 if one failed or the work could not be done, 2 for bad usage. The
// commands are listed in -h, and run, in their order.
func Run(ctx context.Context, commands []Command, args []string, stdout, stderr io.Writer) int {
	c, rest, err := choose(commands, args)
	if err != nil {
		return usageError(stderr, "loadgen", err)
	}
	title := strings.TrimSpace("loadgen " + c.Name)
	flags := flag.NewFlagSet(title, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	jsonFile := flags.String("json", "", "write the checks and the figures behind them as JSON to `FILE`; - is\nstdout, and what is for people then goes to stderr")
	work := c.Declare(flags)
	switch err := flags.Parse(rest); {
	case errors.Is(err, flag.ErrHelp):
		help(stdout, c, flags)
		return exitOK
	case err != nil:
		return usageError(stderr, title, err)
	case flags.NArg() > 0:
		return usageError(stderr, title, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if err := work.Validate(); err != nil {
		return usageError(stderr, title, err)
	}

	out := stdout
	if *jsonFile == "-" {
		out = stderr
	}
	r := NewReport(NewConsole(out, stderr), append([]string{"loadgen"}, args...))
	err = work.Run(ctx, r)
	r.Console.Clear()
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
	if r.Afterwards != nil {
		r.Afterwards(ctx)
	}
	if !r.Passed() {
		return exitFailed
	}
	return exitOK
}

// choose finds the command that the arguments begin with; without one it is
// all of them, one after the other.
func choose(commands []Command, args []string) (Command, []string, error) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return all(commands), args, nil
	}
	if args[0] == "help" {
		return all(commands), []string{"-h"}, nil
	}
	var names []string
	for _, c := range commands {
		if c.Name == args[0] {
			return c, args[1:], nil
		}
		names = append(names, c.Name)
	}
	return Command{}, nil, fmt.Errorf("unknown command %q, want %s", args[0], strings.Join(names, " or "))
}

// usageError says in one line what is wrong and where to read on.
func usageError(stderr io.Writer, title string, err error) int {
	line := strings.ReplaceAll(err.Error(), "\n", "; ")
	fmt.Fprintf(stderr, "%s: %s (see %s -h)\n", title, line, title)
	return exitUsage
}

func help(w io.Writer, c Command, flags *flag.FlagSet) {
	fmt.Fprintln(w, strings.TrimSpace(c.About))
	fmt.Fprintln(w, "\nFlags:")
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// all is loadgen without a command: every command with its defaults.
func all(commands []Command) Command {
	var list strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&list, "  %-10s %s\n", c.Name, c.Summary)
	}
	return Command{
		About: fmt.Sprintf(aboutAll, list.String()),
		Declare: func(*flag.FlagSet) Job {
			var jobs allJobs
			for _, c := range commands {
				if !c.OnCall {
					jobs = append(jobs, c.Declare(flag.NewFlagSet(c.Name, flag.ContinueOnError)))
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

type allJobs []Job

func (jobs allJobs) Validate() error {
	var faults []error
	for _, j := range jobs {
		faults = append(faults, j.Validate())
	}
	return errors.Join(faults...)
}

func (jobs allJobs) Run(ctx context.Context, r *Report) error {
	for i, j := range jobs {
		if i > 0 {
			r.Console.Printf("\n")
		}
		if err := j.Run(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
