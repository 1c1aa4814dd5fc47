package overlay

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

const before = `package p

type leaf struct{ a, b int }

func (l leaf) sum() int { return l.a + l.b }
func (l *leaf) grow()   { l.a++ }

type inner struct {
	leaf
	cells [2]int
	next  *inner
}

func f(p *inner, list []leaf, own inner) *int {
	own.a = p.a
	p.leaf.b += own.cells[1]
	p.cells[own.a] = p.next.cells[p.b]
	p.grow()
	_ = p.leaf.sum() + len(p.cells[:]) + len(list)
	list[1].a, own.b = 3, list[0].b
	*p = own
	return &p.next.cells[0]
}
`

const after = `
	own.a = (*recorded.R(&p.a))
	(*recorded.W(&p.leaf.b)) += own.cells[1]
	(*recorded.W(&p.cells[own.a])) = (*recorded.R(&(*recorded.R(&p.next)).cells[(*recorded.R(&p.b))]))
	p.grow()
	_ = (*recorded.R(&p.leaf)).sum() + len(p.cells[:]) + len(list)
	(*recorded.W(&list[1].a)), own.b = 3, (*recorded.R(&list[0].b))
	(*recorded.W(&*p)) = own
	return &(*recorded.R(&p.next)).cells[0]
`

func TestEveryFieldBehindAPointerIsRecorded(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", before, 0)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: importer.Default()}).Check("p", fset, []*ast.File{file}, info); err != nil {
		t.Fatal(err)
	}
	got := rewrite(fset, file, before, info)
	_, body, _ := strings.Cut(got, "own inner) *int {")
	if body, _, _ = strings.Cut(body, "}\n"); body != after {
		t.Errorf("got %s\nwant %s", body, after)
	}
	for _, want := range []string{"package p; import recorded ", "{ return l.a + l.b }", "{ (*recorded.W(&l.a))++ }"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
