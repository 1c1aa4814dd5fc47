package atomicbreaker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the files of this package, from the top down. A file uses only names
// that are declared in its own layer or in one below.
var layers = [][]string{
	{"group.go", "groupmake.go", "grouptable.go"}, // a breaker for every key
	{"groupconfig.go", "groupname.go"},            // what a Group is made from
	{"do.go"},                                     // Do
	{"ticket.go", "blame.go", "control.go", "snapshot.go", "idle.go"}, // what callers and operators call
	{"timer.go", "late.go"}, // what time does
	{"hold.go"},             // who holds it back at the end of a cooldown
	{"closed.go", "rolling.go", "lastcalls.go", "watch.go", "brake.go", "halfopen.go", "verdict.go", "silence.go", "streak.go"}, // counting, and judging probes
	{"transition.go"},                    // opening, cooldown, closing
	{"announce.go", "errors.go"},         // telling
	{"breaker.go", "sampler.go"},         // the Breaker's state, New, admission
	{"settings.go"},                      // a Config as a breaker keeps it
	{"recovery.go"},                      // how probes are judged: pure
	{"configjson.go"},                    // a Config as JSON
	{"validate.go"},                      // faults and defaults of a Config
	{"config.go", "doc.go"},              // Config
	{"record.go"},                        // what belongs to a generation beside the word
	{"claim.go", "class.go", "trend.go"}, // what a ticket remembers of the word, what counts say from tick to tick: pure
	{"word.go", "tagged.go", "baton.go", "instant.go"}, // words of 64 bits and instants: pure
	{"state.go"}, // the enumerations
}

// upward are the arrows from one file to another in a layer above it. They are
// to become fewer: an arrow that is gone must leave the list.
var upward = []string{
	"breaker.go -> announce.go",
	"breaker.go -> errors.go",
	"breaker.go -> halfopen.go",
	"breaker.go -> late.go",
	"breaker.go -> streak.go",
	"breaker.go -> ticket.go",
	"breaker.go -> timer.go",
	"breaker.go -> transition.go",
	"closed.go -> timer.go",
	"lastcalls.go -> timer.go",
	"rolling.go -> timer.go",
	"sampler.go -> ticket.go",
	"sampler.go -> timer.go",
	"sampler.go -> watch.go",
	"config.go -> hold.go",
	"settings.go -> hold.go",
	"errors.go -> snapshot.go",
	"groupconfig.go -> group.go",
	"halfopen.go -> late.go",
	"halfopen.go -> ticket.go",
	"halfopen.go -> timer.go",
	"hold.go -> timer.go",
	"silence.go -> timer.go",
	"transition.go -> halfopen.go",
	"transition.go -> verdict.go",
	"verdict.go -> ticket.go",
	"transition.go -> silence.go",
	"transition.go -> timer.go",
}

func TestFilesUseOnlyWhatLiesBelow(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command")
	}
	layer := map[string]int{} // 0 is the top
	for i, files := range layers {
		for _, file := range files {
			require.NotContains(t, layer, file, "in two layers")
			layer[file] = i
		}
	}
	var up []string
	for arrow, names := range arrows(t, ".") {
		for _, file := range []string{arrow.from, arrow.to} {
			require.Contains(t, layer, file, "is in no layer")
		}
		if layer[arrow.to] < layer[arrow.from] {
			up = append(up, arrow.String())
			if !slices.Contains(upward, arrow.String()) {
				t.Errorf("%s uses %s of %s, which lies above it", arrow.from, strings.Join(names, ", "), arrow.to)
			}
		}
	}
	for _, arrow := range upward {
		if !slices.Contains(up, arrow) {
			t.Errorf("%s is in the list of upward arrows and is there no more", arrow)
		}
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			require.Contains(t, layer, file, "is in no layer")
		}
	}
	for file := range layer {
		require.Contains(t, files, file, "is in a layer and does not exist")
	}
}

// TestArrowsAreSeen, those that only the types tell of too.
func TestArrowsAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the go command")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"low.go":  "package p\n\nimport \"sync/atomic\"\n\ntype Low struct{ field atomic.Pointer[Low] }\n\nfunc (l *Low) Method() {}\n",
		"high.go": "package p\n\nfunc High(l *Low) { l.field.Load().field.Load().Method() }\n",
		"else.go": "package p\n\nfunc own() { High(nil); var own int; _ = own }\n",
		"go.mod":  "module p\n\ngo 1.26\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.Equal(t, map[arrow][]string{
		{"high.go", "low.go"}:  {"Low", "Method", "field"},
		{"else.go", "high.go"}: {"High"},
	}, arrows(t, dir))
}

// An arrow leads from a file to one whose names it uses.
type arrow struct{ from, to string }

func (a arrow) String() string { return a.from + " -> " + a.to }

// arrows returns the arrows between the files of the package in a folder, each
// with the names that it stands for: of functions, types, constants, variables,
// methods and fields.
func arrows(t *testing.T, dir string) map[arrow][]string {
	t.Helper()
	var files []*ast.File
	fset := token.NewFileSet()
	list, export := listed(t, dir)
	for _, name := range list {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(export[path])
	})}
	checked, err := config.Check("p", fset, files, &info)
	require.NoError(t, err)

	fileOf := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	found := map[arrow][]string{}
	for ident, object := range info.Uses {
		if object.Pkg() != checked || !object.Pos().IsValid() {
			continue
		}
		a := arrow{fileOf(ident.Pos()), fileOf(object.Pos())}
		if a.from != a.to && !slices.Contains(found[a], object.Name()) {
			found[a] = append(found[a], object.Name())
		}
	}
	for _, names := range found {
		slices.Sort(names)
	}
	return found
}

// listed returns the files of the package in a folder and, by their paths, the
// export data of all packages that it is made of.
func listed(t *testing.T, dir string) (files []string, export map[string]string) {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles,DepOnly", ".")
	list.Dir = dir
	if dir != "." {
		list.Env = append(os.Environ(), "GOWORK=off")
	}
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, stderr.String())
	export = map[string]string{}
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export string
			GoFiles            []string
			DepOnly            bool
		}
		if err := packages.Decode(&p); err == io.EOF {
			return files, export
		} else if err != nil {
			t.Fatal(fmt.Errorf("go list: %w", err))
		}
		export[p.ImportPath] = p.Export
		if !p.DepOnly {
			files = p.GoFiles
		}
	}
}
