package overlay

import (
	"cmp"
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
)

// stripes tells of each stripe that a ring allocates.
var stripes = Edit{
	File: "ring/stripe.go",
	Old:  "return unsafe.Slice(&lines[0][0], len(lines)*lineWords)",
	New:  "return recorded.Stripe(unsafe.Slice(&lines[0][0], len(lines)*lineWords))",
}

// mutex puts the shim's mutex into the breaker behind a lock.
var mutex = []Edit{
	{File: "bench/locked/mutex.go", Old: "\t\"sync\"\n", New: ""},
	{File: "bench/locked/mutex.go", Old: "mu sync.Mutex", New: "mu recorded.Mutex"},
}

// Record is Instrument for the breaker, the ring and the breaker behind a
// mutex, with every access to memory that others may reach told to the shim's
// Record: besides atomic operations these are the reads and writes of fields,
// elements and whole values through a pointer. Not told are an element that a
// range statement copies, an element of a map, and what other packages do.
func (b *Build) Record() error {
	for _, dir := range []string{"ring", "atomicbreaker", "bench/locked"} {
		if err := b.recordFields(dir); err != nil {
			return fmt.Errorf("overlay: record the fields of %s: %w", dir, err)
		}
	}
	for _, e := range append([]Edit{stripes}, mutex...) {
		if err := b.edit(e); err != nil {
			return err
		}
	}
	return b.Instrument()
}

// recordFields puts a call of the shim around each access in a package.
func (b *Build) recordFields(dir string) error {
	names, err := filepath.Glob(filepath.Join(b.root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	var texts []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		_, text, err := b.read(dir + "/" + filepath.Base(name))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files, texts = append(files, file), append(texts, text)
	}
	info, err := b.check(dir, fset, files)
	if err != nil {
		return err
	}
	for i, file := range files {
		name := fset.File(file.Package).Name()
		b.files[name] = rewrite(fset, file, texts[i], info)
	}
	return nil
}

// check finds the types of a package's expressions.
func (b *Build) check(dir string, fset *token.FileSet, files []*ast.File) (*types.Info, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}", "./"+dir)
	list.Dir = b.root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list its imports: %w", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			exports[path] = file
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", open)}
	_, err = config.Check(dir, fset, files, info)
	return info, err
}

// insertion is text that comes into a file before an offset.
type insertion struct {
	at    int
	text  string
	close bool
	depth int // in the syntax tree, so that what opens last closes first
}

// rewrite returns a file's text with a call of the shim around each access.
func rewrite(fset *token.FileSet, file *ast.File, text string, info *types.Info) string {
	var in []insertion
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		var path []ast.Node
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			if e, ok := n.(ast.Expr); ok {
				if call := access(e, path, info); call != "" {
					in = append(in,
						insertion{offset(e.Pos()), "(*recorded." + call + "(&", false, len(path)},
						insertion{offset(e.End()), "))", true, len(path)})
				}
			}
			path = append(path, n)
			return true
		})
	}
	if len(in) == 0 && !strings.HasSuffix(fset.Position(file.Package).Filename, "stripe.go") {
		return text
	}
	in = append(in, insertion{offset(file.Name.End()), fmt.Sprintf("; import recorded %q", Shim), false, 0})
	slices.SortStableFunc(in, func(x, y insertion) int {
		switch {
		case x.at != y.at:
			return x.at - y.at
		case x.close != y.close:
			if x.close {
				return -1
			}
			return 1
		case x.close:
			return cmp.Compare(y.depth, x.depth)
		default:
			return cmp.Compare(x.depth, y.depth)
		}
	})
	var out strings.Builder
	from := 0
	for _, i := range in {
		out.WriteString(text[from:i.at] + i.text)
		from = i.at
	}
	return out.String() + text[from:]
}

// access tells which call of the shim stands for expression e, whose parents
// are in path: R, W, or none.
func access(e ast.Expr, path []ast.Node, info *types.Info) string {
	switch e.(type) {
	case *ast.SelectorExpr, *ast.IndexExpr, *ast.StarExpr:
	default:
		return ""
	}
	if tv := info.Types[e]; !tv.IsValue() || !tv.Addressable() || !reached(e, info) {
		return ""
	}
	i := len(path) - 1
	for ; i > 0; i-- {
		if _, ok := path[i].(*ast.ParenExpr); !ok {
			break
		}
	}
	isArray := func() bool { _, ok := info.TypeOf(e).Underlying().(*types.Array); return ok }
	isPointer := func() bool { _, ok := info.TypeOf(e).Underlying().(*types.Pointer); return ok }
	switch parent := path[i].(type) {
	case *ast.UnaryExpr:
		if parent.Op == token.AND {
			return ""
		}
	case *ast.SelectorExpr:
		s := info.Selections[parent]
		if s == nil {
			return "R"
		}
		if method, ok := s.Obj().(*types.Func); ok {
			_, byPointer := method.Signature().Recv().Type().(*types.Pointer)
			if byPointer && !isPointer() {
				return "" // its address is taken
			}
		} else if !isPointer() {
			return "" // only a part of it is reached
		}
	case *ast.IndexExpr:
		if ast.Unparen(parent.X) == e && isArray() {
			return ""
		}
	case *ast.SliceExpr:
		if ast.Unparen(parent.X) == e && isArray() {
			return ""
		}
	case *ast.RangeStmt:
		if ast.Unparen(parent.X) != e || isArray() {
			return ""
		}
	case *ast.IncDecStmt:
		return "W"
	case *ast.AssignStmt:
		if slices.ContainsFunc(parent.Lhs, func(l ast.Expr) bool { return ast.Unparen(l) == e }) {
			return "W"
		}
	}
	return "R"
}

// reached reports whether e lies behind a pointer or a slice: otherwise it is
// part of a variable of its function's own.
func reached(e ast.Expr, info *types.Info) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return true
	case *ast.IndexExpr:
		switch info.TypeOf(e.X).Underlying().(type) {
		case *types.Slice, *types.Pointer:
			return true
		}
		return reached(e.X, info)
	case *ast.SelectorExpr:
		s := info.Selections[e]
		if s == nil {
			return false // a package's variable
		}
		return s.Indirect() || reached(e.X, info)
	}
	return false
}
