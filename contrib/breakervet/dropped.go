package breakervet

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
)

// DroppedRefusal reports calls that go on although the breaker may have refused.
var DroppedRefusal = &analysis.Analyzer{
	Name:     "droppedrefusal",
	Doc:      "report a circuit breaker's refusal that is dropped\n\nThe error of Acquire says whether the call may be made, that of Do whether it was.",
	URL:      "https://pkg.go.dev/github.com/atomicbreaker/breaker/contrib/breakervet",
	Requires: []*analysis.Analyzer{ctrlflow.Analyzer},
	Run:      runDroppedRefusal,
}

func runDroppedRefusal(pass *analysis.Pass) (any, error) {
	functions(pass, func(f function) {
		f.own(func(n ast.Node, stack []ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(stack) == 0 {
				return
			}
			name := called(pass.TypesInfo, call)
			if !admits(name) {
				return
			}
			switch stmt := stack[len(stack)-1].(type) {
			case *ast.ExprStmt:
				if !acquires(name) { // of Acquire unsettled has said more
					report(pass, notInTests, call, "the error of %s is dropped: it says that the breaker refused, or how the call failed", name)
				}
			case *ast.AssignStmt:
				if !acquires(name) || len(stmt.Lhs) != 2 || len(stmt.Rhs) != 1 {
					return
				}
				id, ok := ast.Unparen(stmt.Lhs[1]).(*ast.Ident)
				if !ok {
					return
				}
				if id.Name == "_" {
					report(pass, notInTests, call, "the refusal of Acquire is dropped: with an error the call must not be made")
					return
				}
				c := claim{pass: pass, f: f, stmt: stmt, err: varOf(pass.TypesInfo, id)}
				if over := c.overwritten(stack); over != nil {
					report(pass, notInTests, call, "the refusal of Acquire is overwritten in line %d before anything reads it", pass.Fset.Position(over.Pos()).Line)
				}
			}
		})
	})
	return nil, nil
}

// overwritten returns the statement of the same block that overwrites the error before any statement
// reads it, or nil.
func (c claim) overwritten(stack []ast.Node) ast.Node {
	if len(stack) < 2 || c.err == nil {
		return nil
	}
	block, ok := stack[len(stack)-2].(*ast.BlockStmt)
	if !ok {
		return nil
	}
	after := false
	for _, s := range block.List {
		switch {
		case s == ast.Stmt(c.stmt):
			after = true
		case !after:
		case c.reads(s):
			return nil
		case c.overwrites(s):
			return s
		}
	}
	return nil
}
