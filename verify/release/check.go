package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
	"golang.org/x/mod/semver"
)

// Versions of the tools that check.
const (
	apidiff     = "golang.org/x/exp/cmd/apidiff@v0.0.0-20261113113407-e3970619a1a4"
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
)

// A check is one question to a release.
type check struct {
	name string
	ask  func(*release) error
}

var checks = []check{
	{"changelog", (*release).changelog},
	{"vet", (*release).vet},
	{"licences", (*release).licences},
	{"install", (*release).install},
	{"api", (*release).api},
	{"vulnerabilities", (*release).vulnerabilities},
}

func checkNames() []string {
	var names []string
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

func parseSkip(text string) ([]string, error) {
	var names []string
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(checkNames(), name) {
			return nil, fmt.Errorf("-skip has %q, want some of %s", name, strings.Join(checkNames(), ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// check asks every question, and returns all that is wrong.
func (r *release) check(skipped []string) error {
	var faults []error
	for _, c := range checks {
		if slices.Contains(skipped, c.name) {
			fmt.Printf("  skipped  %s\n", c.name)
			continue
		}
		if err := c.ask(r); err != nil {
			fmt.Printf("  FAILED   %s\n", c.name)
			faults = append(faults, fmt.Errorf("%s: %w", c.name, err))
			continue
		}
		fmt.Printf("  passed   %s\n", c.name)
	}
	return errors.Join(faults...)
}

// changelog: the version has an entry.
func (r *release) changelog() error {
	text, err := os.ReadFile(filepath.Join(r.tree, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if head := "## " + strings.TrimPrefix(r.version, "v"); !strings.Contains("\n"+string(text), "\n"+head+" ") {
		return fmt.Errorf("CHANGELOG.md has no entry %q: give what is under Unreleased that head, with the date", head+" - YYYY-MM-DD")
	}
	return nil
}

// vet: every module compiles, tests included, with the others as published.
func (r *release) vet() error {
	return r.each(func(m *module) error {
		_, err := r.goCommand(m, "vet", "./...")
		return err
	})
}

func (r *release) each(do func(*module) error) error {
	var faults []error
	for _, m := range r.modules {
		if err := do(m); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", m.path, err))
		}
	}
	return errors.Join(faults...)
}

// permitted are the licences of what is linked into a program that uses a module:
// those that ask for nothing but notice.
var permitted = []string{
	"MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "MPL-2.0", "Unlicense", "CC0-1.0", "0BSD", "Zlib",
	"BSD-2-Clause-Views", "BSL-1.0", "OpenSSL", "blessing",
}

// licences: whatever is linked into a program with it may be.
func (r *release) licences() error {
	asked := map[string]error{} // by folder
	return r.each(func(m *module) error {
		list, err := r.goCommand(m, "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "./...")
		if err != nil {
			return err
		}
		var faults []error
		lines := strings.Split(list, "\n")
		slices.Sort(lines)
		for _, line := range slices.Compact(lines) {
			path, dir, ok := strings.Cut(line, " ")
			if !ok || r.own(path) {
				continue
			}
			if _, known := asked[dir]; !known {
				asked[dir] = licenceOf(dir)
			}
			if err := asked[dir]; err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", path, err))
			}
		}
		return errors.Join(faults...)
	})
}

// licenceOf finds fault with the licence of a module.
func licenceOf(dir string) error {
	var unknown []string
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "License*", "license*"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			found := licensecheck.Scan(text)
			for _, match := range found.Match {
				if slices.Contains(permitted, match.ID) {
					return nil
				}
				unknown = append(unknown, match.ID)
			}
		}
	}
	if len(unknown) == 0 {
		return errors.New("no licence that is known")
	}
	return fmt.Errorf("the licence is %s", strings.Join(slices.Compact(unknown), ", "))
}

// vulnerabilities: none is known that a module's code reaches.
func (r *release) vulnerabilities() error {
	return r.each(func(m *module) error {
		_, err := r.goCommand(m, "run", govulncheck, "./...")
		return err
	})
}

// api: what the last version had is still there, unless this one may break it.
func (r *release) api() error {
	return r.each(func(m *module) error {
		last, err := r.last(m)
		if err != nil || last == "" {
			return err // the first version of it
		}
		broken, err := r.broken(m, last)
		if err != nil {
			return err
		}
		if broken != "" && !mayBreak(last, r.version) {
			return fmt.Errorf("%s breaks what %s had; only a new minor version below v1, or a new major one, may:\n%s", r.version, last, broken)
		}
		return nil
	})
}

// mayBreak tells whether a version may take away what an earlier one had: below
// v1, if its minor number differs.
func mayBreak(last, next string) bool {
	if semver.Major(next) == "v0" {
		return semver.MajorMinor(last) != semver.MajorMinor(next)
	}
	return semver.Major(last) != semver.Major(next)
}

// last is the highest version of a module that has a tag below this one, or
// nothing.
func (r *release) last(m *module) (string, error) {
	prefix := strings.TrimPrefix(m.dir+"/", "./")
	list, err := output(r.root, nil, "git", "tag", "--list", prefix+"v*")
	if err != nil {
		return "", err
	}
	last := ""
	for _, tag := range strings.Fields(list) {
		v := strings.TrimPrefix(tag, prefix)
		if semver.IsValid(v) && semver.Compare(v, r.version) < 0 && (last == "" || semver.Compare(v, last) > 0) {
			last = v
		}
	}
	return last, nil
}

// broken lists what a module's API had at a tag and has no more.
func (r *release) broken(m *module, last string) (string, error) {
	old, err := os.MkdirTemp("", "release-old-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(old)
	if _, err := output(r.root, nil, "git", "worktree", "add", "--detach", filepath.Join(old, "tree"), m.tag(last)); err != nil {
		return "", err
	}
	defer output(r.root, nil, "git", "worktree", "remove", "--force", filepath.Join(old, "tree"))
	was := filepath.Join(old, "api")
	if _, err := output(filepath.Join(old, "tree", m.dir), r.env(), "go", "run", apidiff, "-m", "-w", was, m.path); err != nil {
		return "", err
	}
	is := filepath.Join(old, "api-now")
	if _, err := r.goCommand(m, "run", apidiff, "-m", "-w", is, m.path); err != nil {
		return "", err
	}
	return r.goCommand(m, "run", apidiff, "-m", "-incompatible", was, is)
}

// packages lists the packages of a module that others can import, and its
// commands.
func (r *release) packages(m *module) (libraries, commands []string, err error) {
	text, err := r.goCommand(m, "list", "-json=ImportPath,Name,GoFiles", "./...")
	if err != nil {
		return nil, nil, err
	}
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var p struct {
			ImportPath, Name string
			GoFiles          []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return libraries, commands, nil
		} else if err != nil {
			return nil, nil, err
		}
		switch {
		case len(p.GoFiles) == 0, strings.Contains(p.ImportPath+"/", "/internal/"): // tests alone; not for others
		case p.Name == "main":
			commands = append(commands, p.ImportPath)
		default:
			libraries = append(libraries, p.ImportPath)
		}
	}
}
