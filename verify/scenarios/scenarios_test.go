// Package scenarios keeps verify/SCENARIOS.md: the table of what went wrong
// in circuit breakers in the field, and of the tests that show that it does
// not go wrong in this one.
//
// The scenarios are in field.csv, with what there is to say where a policy
// decides or a test is missing. The laws and the tests are read from the
// comments of the tests, in whatever package and module they are: a test that
// shows a scenario states the law and then, in a paragraph of its own,
//
//	Field: S001, resilience4j/resilience4j#544 (2019-07-15).
//
// with the source as field.csv has it. Every test whose name begins with
// TestField does.
package scenarios

import (
	"encoding/csv"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root  = "../.."
	table = "../SCENARIOS.md"

	total = 146
)

var update = flag.Bool("update", false, "write verify/SCENARIOS.md anew")

// A scenario is a row of field.csv.
type scenario struct {
	id, kind, class, title, source string

	remark        string // where a policy decides, or what the test does differently
	waits         string // what is not there yet, all of it or a part
	notApplicable string // why not
}

func scenarios(t *testing.T) []scenario {
	t.Helper()
	file, err := os.Open("field.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []scenario
	for _, r := range rows[1:] {
		all = append(all, scenario{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]})
	}
	return all
}

// A proof is a test that shows a scenario.
type proof struct {
	test, file, law string
	shows           map[string]string // sources by scenario
}

var marker = regexp.MustCompile(`^Field: (\S+), (.+)\.$`)

// proofs reads all tests whose comment has a marker or whose name asks for one.
func proofs(t *testing.T) []proof {
	t.Helper()
	var all []proof
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".git")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				if p := proofOf(t, f, filepath.ToSlash(name)); p.shows != nil {
					all = append(all, p)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// proofOf reads the comment of a function. A function that is none is left
// without what it shows.
func proofOf(t *testing.T, f *ast.FuncDecl, file string) proof {
	p := proof{test: f.Name.Name, file: file}
	for i, paragraph := range strings.Split(strings.TrimSpace(f.Doc.Text()), "\n\n") {
		text := strings.Join(strings.Fields(paragraph), " ")
		if i == 0 {
			p.law = first(strings.TrimPrefix(text, p.test+": "))
		}
		if !strings.HasPrefix(text, "Field: ") {
			continue
		}
		m := marker.FindStringSubmatch(text)
		if m == nil || i == 0 {
			t.Errorf("%s: %s: want a law, and then %q in a paragraph of its own, got %q", file, p.test, "Field: S001, source.", text)
			continue
		}
		if p.shows == nil {
			p.shows = map[string]string{}
		}
		p.shows[m[1]] = m[2]
	}
	switch {
	case p.shows == nil && strings.HasPrefix(p.test, "TestField"):
		t.Errorf("%s: %s has no Field paragraph in its comment", file, p.test)
	case p.shows != nil && !strings.HasPrefix(p.test, "Test"):
		t.Errorf("%s: %s is no test", file, p.test)
	}
	return p
}

// first writes a sentence with a capital letter.
func first(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// TestEveryScenarioHasItsPlace: each is shown by a test, or waits for a feature
// that is named, or is told not to apply; and the table says the same.
func TestEveryScenarioHasItsPlace(t *testing.T) {
	all := scenarios(t)
	if len(all) != total {
		t.Errorf("field.csv has %d scenarios, want %d", len(all), total)
	}
	known := map[string]scenario{}
	for i, s := range all {
		if i > 0 && s.id <= all[i-1].id {
			t.Errorf("%s comes after %s", s.id, all[i-1].id)
		}
		known[s.id] = s
	}
	shown := map[string][]proof{}
	for _, p := range proofs(t) {
		for id, source := range p.shows {
			s, ok := known[id]
			switch {
			case !ok:
				t.Errorf("%s: %s shows %s, which field.csv does not have", p.file, p.test, id)
			case source != s.source:
				t.Errorf("%s: %s cites for %s\n\t%q, and field.csv\n\t%q", p.file, p.test, id, source, s.source)
			}
			shown[id] = append(shown[id], p)
		}
	}
	for _, s := range all {
		switch n := len(shown[s.id]); {
		case n == 0 && s.waits == "" && s.notApplicable == "":
			t.Errorf("%s %s: no test, and no reason why", s.id, s.title)
		case s.notApplicable != "" && (n > 0 || s.waits != "" || s.remark != ""):
			t.Errorf("%s %s: said not to apply, and has a test, or something more to say", s.id, s.title)
		}
		slices.SortFunc(shown[s.id], func(a, b proof) int { return strings.Compare(a.file+a.test, b.file+b.test) })
	}
	want := render(all, shown)
	if *update {
		if err := os.WriteFile(table, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(table); err != nil || string(got) != want {
		t.Errorf("verify/SCENARIOS.md is not what the tests say (%v): run go test ./verify/scenarios -update", err)
	}
}

const head = `# What went wrong elsewhere

Bugs of circuit breakers from public reports, as laws that this one keeps. Written by ` + "`go test ./verify/scenarios -update`" + ` from
field.csv beside that test and from the comments of the tests, and compared with them by it. "Policy" marks a question on
which sound breakers differ: the test pins this one's answer.

`

// render returns the table.
func render(all []scenario, shown map[string][]proof) string {
	var b strings.Builder
	b.WriteString(head)
	var tested, partly, waiting, none int
	for _, s := range all {
		switch n := len(shown[s.id]); {
		case s.notApplicable != "":
			none++
		case n == 0:
			waiting++
		default:
			tested++
			if s.waits != "" {
				partly++
			}
		}
	}
	fmt.Fprintf(&b, "%d scenarios: %d shown by a test (of which %d in part, with the rest waiting for a feature), %d waiting for a feature, %d not applicable.\n",
		len(all), tested, partly, waiting, none)
	kind := ""
	for _, s := range byKind(all) {
		if s.kind != kind {
			kind = s.kind
			fmt.Fprintf(&b, "\n## %s\n\n| scenario | source | law | test |\n|---|---|---|---|\n", kind)
		}
		fmt.Fprintf(&b, "| %s %s (%s) | %s | %s | %s |\n", s.id, s.title, s.class, s.source,
			cell(laws(s, shown[s.id])), cell(tests(s, shown[s.id])))
	}
	return b.String()
}

// byKind orders scenarios by kind, kinds as they come first.
func byKind(all []scenario) []scenario {
	first := map[string]int{}
	for i, s := range all {
		if _, ok := first[s.kind]; !ok {
			first[s.kind] = i
		}
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b scenario) int { return first[a.kind] - first[b.kind] })
	return all
}

func cell(lines []string) string {
	return strings.ReplaceAll(strings.Join(lines, " <br>"), "|", `\|`)
}

func laws(s scenario, by []proof) (lines []string) {
	for _, p := range by {
		lines = append(lines, p.law)
	}
	if s.remark != "" {
		lines = append(lines, "*"+s.remark+"*")
	}
	return lines
}

func tests(s scenario, by []proof) (lines []string) {
	for _, p := range by {
		lines = append(lines, fmt.Sprintf("[%s](../%s)", p.test, p.file))
	}
	if s.waits != "" {
		lines = append(lines, "Covered by "+s.waits+"; not in this table yet.")
	}
	if s.notApplicable != "" {
		lines = append(lines, "Not applicable, because "+s.notApplicable)
	}
	return lines
}
