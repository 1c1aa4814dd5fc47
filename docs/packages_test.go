package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A library is a package that users import: its folder, comment, exported functions and examples.
type library struct {
	dir, comment string
	functions    []string
	examples     []string
}

// forTools are packages that users do not write programs with.
var forTools = []string{
	"contrib/breakerprom/promtest", // for tests of this repository
	"contrib/breakervet/golangci",  // a plugin; the README beside it says how to build with it
	"contrib/breakervet/cmd/breakervet",
	"contrib/breakerpage/browsertest", // tests
	"contrib/faults",                  // tests
	"contrib/breakercaddy",            // outside the workspace; examples/caddy is its first program
}

// libraries returns the packages under contrib, and the core's.
func libraries(t *testing.T) (all []library) {
	t.Helper()
	byDir := make(map[string]*library)
	files := files(t, ".go")
	slices.Sort(files)
	for _, file := range files {
		dir, err := filepath.Rel(root, filepath.Dir(file))
		require.NoError(t, err)
		dir = filepath.ToSlash(dir)
		if dir != "atomicbreaker" && dir != "clock" && !strings.HasPrefix(dir, "contrib/") || strings.HasPrefix(dir, "contrib/internal/") || slices.Contains(forTools, dir) {
			continue
		}
		if byDir[dir] == nil {
			byDir[dir] = &library{dir: dir}
		}
		l := byDir[dir]
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		require.NoError(t, err)
		isTest := strings.HasSuffix(file, "_test.go")
		if !isTest {
			l.comment += parsed.Doc.Text()
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok || f.Recv != nil:
			case isTest && strings.HasPrefix(f.Name.Name, "Example"):
				l.examples = append(l.examples, f.Name.Name)
			case !isTest && f.Name.IsExported():
				l.functions = append(l.functions, f.Name.Name)
			}
		}
	}
	for _, l := range byDir {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b library) int { return strings.Compare(a.dir, b.dir) })
	return all
}

// TestContribListsEveryPackage: the table of contrib/README.md has a row for each, and
// says which are modules of their own.
func TestContribListsEveryPackage(t *testing.T) {
	text := read(t, path.Join(root, "contrib/README.md"))
	folders, err := os.ReadDir(path.Join(root, "contrib"))
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| \[(\w+)\]\((\w+)\) \| ([^|]+) \| [^|]+ \|$`)
	listed := make(map[string]string)
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		require.Equal(t, m[1], m[2])
		listed[m[1]] = m[3]
	}
	for _, folder := range folders {
		if !folder.IsDir() || folder.Name() == "internal" {
			continue
		}
		module, found := listed[folder.Name()]
		require.True(t, found, "%s is not in the table of contrib/README.md", folder.Name())
		_, err := os.Stat(path.Join(root, "contrib", folder.Name(), "go.mod"))
		require.Equal(t, err == nil, strings.Contains(module, "its own"), folder.Name())
		delete(listed, folder.Name())
	}
	require.Empty(t, listed)
}

// indentedCode is a block of code in a comment that begins with a package clause.
var indentedCode = regexp.MustCompile(`(?m)^\tpackage \w+\n(?:(?:\t.*)?\n)+`)

// TestPackageCommentsAreForUsers: each says when to use the package, and has a first
// program that compiles as it is written.
func TestPackageCommentsAreForUsers(t *testing.T) {
	for _, l := range libraries(t) {
		t.Run(l.dir, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, l.comment, "Package "+path.Base(strings.TrimSuffix(l.dir, "/v1")))
			if l.dir == "clock" || strings.HasSuffix(l.dir, "/leasetest") {
				return // the first programs of the packages that they belong to
			}
			require.Regexp(t, `\bUse (it|its)\b`, l.comment)
			require.Regexp(t, `\b[Ff]irst (program|test)\b`, l.comment)
			program := indentedCode.FindString(l.comment)
			require.NotEmpty(t, program)
			program = regexp.MustCompile(`(?m)^\t`).ReplaceAllString(program, "")
			name := "main.go"
			if !strings.HasPrefix(program, "package main") {
				name = "main_test.go"
			}
			file := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(file, []byte(program), 0o666))
			vet := exec.Command("go", "vet", file)
			vet.Dir = path.Join(root, l.dir)
			out, err := vet.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// TestEveryEntryPointHasAnExample: what a user begins with is shown at work.
func TestEveryEntryPointHasAnExample(t *testing.T) {
	entry := regexp.MustCompile(`^(New\w*|Must\w+|Register\w*|Publish|Listener|Find|Do|DoWith|Join|Per\w+|IsRejected|Transitions)$`)
	for _, l := range libraries(t) {
		require.NotEmpty(t, l.examples, "%s has no example", l.dir)
		for _, name := range l.functions {
			if !entry.MatchString(name) {
				continue
			}
			shown := slices.ContainsFunc(l.examples, func(e string) bool { return e == "Example"+name || strings.HasPrefix(e, "Example"+name+"_") })
			if !shown {
				t.Errorf("%s: no Example%s", l.dir, name)
			}
		}
	}
}
