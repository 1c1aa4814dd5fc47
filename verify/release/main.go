// Command release readies a release of all modules of this repository: it sets
// their requirements on each other to the version, checks what would be published,
// and prints the tags. It makes no tag, and sends nothing anywhere.
//
//	go run ./verify/release -version v0.1.0
//
// It works on a copy of the tree. Only when every check has passed does it write
// the go.mod and go.sum files of the published modules back, and with -check it
// leaves them alone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/semver"
)

func main() {
	version := flag.String("version", "", "the version of all modules, such as v0.1.0")
	check := flag.Bool("check", false, "check only, and leave go.mod and go.sum files as they are")
	skip := flag.String("skip", "", "checks to leave out, a comma between: "+strings.Join(checkNames(), ", "))
	flag.Parse()
	if err := run(*version, *check, *skip); err != nil {
		fmt.Fprintln(os.Stderr, "release:", strings.ReplaceAll(err.Error(), "\n", "\nrelease: "))
		os.Exit(1)
	}
}

func run(version string, checkOnly bool, skip string) error {
	if semver.Canonical(version) != version || semver.Build(version) != "" || semver.Major(version) != "v0" && semver.Major(version) != "v1" {
		return fmt.Errorf("-version is %q, want v0.MINOR.PATCH or v1.MINOR.PATCH, such as v0.1.0", version)
	}
	skipped, err := parseSkip(skip)
	if err != nil {
		return err
	}
	root, err := output(".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	if dirty, err := output(root, nil, "git", "status", "--porcelain"); err != nil || dirty != "" && !checkOnly {
		return errors.Join(err, errors.New("the tree has changes: commit or stash them first, or look with -check"))
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Printf("The modules as %s would publish them:\n", version)
	r, err := prepare(root, work, version)
	if err != nil {
		return err
	}
	for _, m := range r.modules {
		fmt.Printf("  %s\n", m.path)
	}
	if err := r.check(skipped); err != nil {
		return err
	}
	if checkOnly {
		fmt.Println("\nEvery check passed. Nothing was written.")
		return nil
	}
	if err := r.writeBack(); err != nil {
		return err
	}
	r.printTags()
	return nil
}

// printTags says what is left to do by hand.
func (r *release) printTags() {
	fmt.Printf("\nEvery check passed, and the go.mod and go.sum files are written. What is left:\n\n")
	fmt.Printf("  git commit -am 'Release %s'\n", r.version)
	for _, m := range r.modules {
		fmt.Printf("  git tag -s %s -m %s\n", m.tag(r.version), m.tag(r.version))
	}
	fmt.Printf("  git revert --no-edit HEAD    # the modules find each other in the tree again\n")
	fmt.Printf("  git push origin main %s\n", strings.Join(r.tags(), " "))
}

func (r *release) tags() []string {
	var tags []string
	for _, m := range r.modules {
		tags = append(tags, m.tag(r.version))
	}
	return tags
}
