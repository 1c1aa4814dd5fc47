// Mutants breaks the breaker in every way of package mutation's list, one at a
// time in a temporary copy, and runs the checks, narrow ones first, until one
// fails. It prints which check caught which mutation and exits with an error
// if one survives.
//
//	go run ./mutants [-match text] [-list]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/verify/internal/mutation"
	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

// check is one run of go test.
type check struct {
	name         string
	dir          string
	instrumented bool
	args         []string
}

// checks are in the order in which they are tried.
var checks = []check{
	{"unit tests", ".", false, []string{"./ring", "./atomicbreaker", "./contrib/breakerlease"}},
	{"lockstep with the locked breaker", ".", false, []string{"./bench/lockstep"}},
	{"promises and properties", "verify", false, []string{"./property", "-rapid.nofailfile"}},
	{"schedules", "verify", true, []string{"./interleave"}},
	{"histories", "verify", true, []string{"./linear"}},
	{"soak", "verify", false, []string{"./soak"}},
}

// patience is how long a check may take; a broken breaker may well hang.
const patience = 2 * time.Minute

func main() {
	match := flag.String("match", "", "only mutations whose guarantee or name matches this regular expression")
	list := flag.Bool("list", false, "list the mutations and do nothing")
	flag.Parse()
	if err := run(*match, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(match string, list bool) error {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	caught := map[string]int{}
	var survivors []string
	began, tried := time.Now(), 0
	for _, m := range mutation.List {
		title := m.Guarantee + ": " + m.Name
		if !pattern.MatchString(title) {
			continue
		}
		tried++
		if list {
			fmt.Println(title)
			continue
		}
		by, how, err := try(m)
		if err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		if by == "" {
			survivors = append(survivors, title)
			fmt.Printf("SURVIVED  %s\n", title)
			continue
		}
		caught[by]++
		fmt.Printf("caught    %-62s by %s: %s\n", title, by, how)
	}
	if tried == 0 {
		return fmt.Errorf("no mutation matches %q; -list shows them", match)
	}
	if list {
		return nil
	}
	for _, c := range checks {
		fmt.Printf("%4d caught by %s\n", caught[c.name], c.name)
	}
	fmt.Printf("%d passed, %d failed\n", tried-len(survivors), len(survivors))
	fmt.Printf("%d mutations in %v\n", tried, time.Since(began).Round(time.Second))
	if len(survivors) > 0 {
		return fmt.Errorf("%d of %d survived: %s; add a check that fails for them", len(survivors), tried, strings.Join(survivors, "; "))
	}
	return nil
}

// try returns the first check that fails on a mutation, and its first failing
// test; an empty name if none fails.
func try(m mutation.Mutation) (by, how string, err error) {
	for _, c := range checks {
		r, timedOut, err := c.run(m)
		switch {
		case err != nil:
			return "", "", err
		case timedOut:
			return c.name, "no end within " + patience.String(), nil
		case !r.Built:
			return "", "", fmt.Errorf("does not compile, bring it up to date with the source:\n%s", r.Output)
		case !r.Passed:
			return c.name, failure(r.Output), nil
		}
	}
	return "", "", nil
}

func (c check) run(m mutation.Mutation) (r overlay.Result, timedOut bool, err error) {
	b, err := overlay.New(m.Edits...)
	if err != nil {
		return r, false, err
	}
	defer b.Close()
	if c.instrumented {
		if err := b.Instrument(); err != nil {
			return r, false, err
		}
	}
	// A timeout of the command itself too: of the build, should it hang.
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	args := append([]string{"-failfast", "-vet=off", "-count=1", "-timeout=" + patience.String()}, c.args...)
	r, err = b.Test(ctx, c.dir, nil, args...)
	timedOut = ctx.Err() != nil || strings.Contains(r.Output, "panic: test timed out after")
	return r, timedOut, err
}

// failure names the first test that failed.
func failure(output string) string {
	deepest := "it does not run"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " (")
			return name
		}
		if strings.HasPrefix(line, "panic: ") {
			deepest = line
		}
	}
	return deepest
}
