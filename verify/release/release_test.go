package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program outside of the workspace builds and runs against the modules of this
// tree as they would be published, and the command can be installed.
func TestThisTreeCanBeInstalled(t *testing.T) {
	root, err := output(".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skipf("NOT TESTED: not in a git repository: %v", err)
	}
	r, err := prepare(root, t.TempDir(), "v0.999.0", "contrib/breakerprom", "cmd/loadgen")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.install(); err != nil {
		t.Error(err)
	}
}

// repository is a small one with two modules, of which the second requires the
// first as the modules of this one do.
func repository(t *testing.T, change map[string]string) string {
	t.Helper()
	files := map[string]string{
		"LICENSE":                      mit,
		"go.mod":                       "module example.com/core\n\ngo 1.26.0\n",
		"CHANGELOG.md":                 "# Changes\n\n## 0.1.0 - 2026-12-01\n\nThe first.\n",
		"atomicbreaker/breaker.go":     breaker,
		"contrib/page/go.mod":          "module example.com/core/contrib/page\n\ngo 1.26.0\n\nrequire example.com/core v0.0.0\n\nreplace example.com/core => ../..\n",
		"contrib/page/page.go":         "// Package page is a page.\npackage page\n\nimport _ \"example.com/core/atomicbreaker\"\n",
		"cmd/tool/go.mod":              "module example.com/core/cmd/tool\n\ngo 1.26.0\n\nrequire example.com/core/contrib/page v0.0.0\n\nrequire example.com/core v0.0.0 // indirect\n\nreplace (\n\texample.com/core => ../..\n\texample.com/core/contrib/page => ../../contrib/page\n)\n",
		"cmd/tool/main.go":             "// Command tool is one.\npackage main\n\nimport _ \"example.com/core/contrib/page\"\n\nfunc main() {}\n",
		"verify/go.mod":                "module example.com/core/verify\n\ngo 1.26.0\n",
		"verify/verify.go":             "package verify\n",
		"contrib/faults/go.mod":        "module example.com/core/contrib/faults\n\ngo 1.26.0\n",
		"contrib/faults/doc.go":        "package faults\n",
		"contrib/page/browser/go.mod":  "module example.com/core/contrib/page/browser\n\ngo 1.26.0\n",
		"contrib/page/browser/page.go": "package browser\n",
	}
	for name, text := range change {
		files[name] = text
	}
	root := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(root, name), text)
	}
	git(t, root, "init", "-q")
	commit(t, root)
	return root
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	if _, err := output(root, nil, "git", args...); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, root string) {
	t.Helper()
	git(t, root, "add", "-A")
	git(t, root, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "test")
}

const breaker = `// Package atomicbreaker stands for the real one.
package atomicbreaker

import "context"

type (
	Config   struct{ Name string }
	Breaker  struct{ n int }
	Snapshot struct{ Succeeded int }
)

func MustNew(Config) *Breaker              { return &Breaker{} }
func (b *Breaker) Snapshot() Snapshot      { return Snapshot{b.n} }
func (b *Breaker) Gone()                   {}
func Do[T any](ctx context.Context, b *Breaker, f func(context.Context) (T, error)) (T, error) {
	b.n++
	return f(ctx)
}
`

const mit = `MIT License

Copyright (c) 2026 The authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

func TestRelease(t *testing.T) {
	root := repository(t, nil)
	r, err := prepare(root, t.TempDir(), "v0.1.0")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.tags(), []string{"v0.1.0", "contrib/page/v0.1.0", "cmd/tool/v0.1.0"}; !slices.Equal(got, want) {
		t.Errorf("the tags are %v, want %v", got, want)
	}
	if err := r.check([]string{"vulnerabilities"}); err != nil {
		t.Error(err)
	}
	if err := r.writeBack(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "cmd/tool/go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); strings.Contains(s, "replace") || !strings.Contains(s, "example.com/core/contrib/page v0.1.0") || !strings.Contains(s, "example.com/core v0.1.0 // indirect") {
		t.Errorf("cmd/tool/go.mod is\n%s", s)
	}
}

func TestWhatCannotBeReleased(t *testing.T) {
	page := func(rest string) map[string]string {
		return map[string]string{"contrib/page/go.mod": "module example.com/core/contrib/page\n\ngo 1.26.0\n\n" + rest}
	}
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"a replaced module of others": {page("replace example.com/other => ../other\n"), "replaces example.com/other: whoever requires it would not"},
		"one that is not published":   {page("require example.com/core/verify v0.0.0\n"), "requires example.com/core/verify, which is not published"},
		"a path of another folder":    {map[string]string{"contrib/page/go.mod": "module example.com/core/page\n\ngo 1.26.0\n"}, "lies in the folder contrib/page"},
		"a circle": {map[string]string{
			"contrib/page/go.mod": "module example.com/core/contrib/page\n\ngo 1.26.0\n\nrequire example.com/core/cmd/tool v0.0.0\n",
		}, "in a circle"},
		"no entry in the changelog": {map[string]string{"CHANGELOG.md": "# Changes\n\n## Unreleased\n"}, `no entry "## 0.1.0`},
		"a program that prints something else": {map[string]string{
			"atomicbreaker/breaker.go": strings.Replace(breaker, "b.n++", "b.n += 2", 1),
		}, `the program printed "42 <nil> 2"`},
		"a package that does not compile": {map[string]string{"contrib/page/page.go": "package page\n\nvar x int = \"\"\n"}, "contrib/page"},
	} {
		r, err := prepare(repository(t, c.change), t.TempDir(), "v0.1.0")
		if err == nil {
			err = r.check([]string{"vulnerabilities", "api", "licences"})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What a version had may go with the next minor version, and not with a patch.
func TestPatchesBreakNothing(t *testing.T) {
	root := repository(t, nil)
	for _, tag := range []string{"v0.1.0", "contrib/page/v0.1.0", "cmd/tool/v0.1.0"} {
		git(t, root, "tag", tag)
	}
	write(t, filepath.Join(root, "atomicbreaker/breaker.go"), strings.Replace(breaker, "Gone()", "New()", 1))
	commit(t, root)
	for version, want := range map[string]string{"v0.1.1": "(*Breaker).Gone: removed", "v0.2.0": ""} {
		r, err := prepare(root, t.TempDir(), version)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.api(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	for versions, want := range map[[2]string]bool{
		{"v0.1.0", "v0.1.1"}: false, {"v0.1.0", "v0.2.0"}: true, {"v0.9.0", "v1.0.0"}: true, {"v1.0.0", "v1.1.0"}: false,
	} {
		if mayBreak(versions[0], versions[1]) != want {
			t.Errorf("%v: may break: %v", versions, !want)
		}
	}
}

func TestLicences(t *testing.T) {
	for want, text := range map[string]string{
		"":                         mit,
		"the licence is AGPL-3.0":  "This program is free software: you can redistribute it and/or modify it under the terms of the GNU Affero General Public License as published by the Free Software Foundation, either version 3 of the License, or (at your option) any later version.",
		"no licence that is known": "All rights reserved.",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "LICENSE"), text)
		if err := licenceOf(dir); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want[:12])) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
	if licenceOf(t.TempDir()) == nil {
		t.Error("no licence is a licence")
	}
}

func TestArguments(t *testing.T) {
	for _, version := range []string{"", "1.0.0", "v1", "v0.1.0+build", "v2.0.0", "latest"} {
		if err := run(version, true, ""); err == nil || !strings.Contains(err.Error(), "want v0.MINOR.PATCH") {
			t.Errorf("%q: %v", version, err)
		}
	}
	if err := run("v0.1.0", true, "vet,spelling"); err == nil || !strings.Contains(err.Error(), `-skip has "spelling", want some of changelog, vet`) {
		t.Error(err)
	}
}
