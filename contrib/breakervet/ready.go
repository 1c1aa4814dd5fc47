package breakervet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// ReadyClaim reports Ready used as leave to make a call.
var ReadyClaim = &analysis.Analyzer{
	Name: "readyclaim",
	Doc:  "report Ready used as leave to make a call\n\nReady is a question. Only Acquire and Do claim a probe's place, and only their outcomes are counted.",
	URL:  "https://pkg.go.dev/github.com/atomicbreaker/breaker/contrib/breakervet",
	Run:  runReadyClaim,
}

// runReadyClaim reports only in packages that make breakers, never ask one for leave, and
// give none away: there nobody can claim what Ready was asked for.
func runReadyClaim(pass *analysis.Pass) (any, error) {
	makesOne := false
	for _, file := range pass.Files {
		given := false
		ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name := called(pass.TypesInfo, n)
				makesOne = makesOne || makes(name)
				given = given || admits(name)
				for _, arg := range n.Args {
					given = given || givesAway(pass, arg)
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Value
					}
					given = given || givesAway(pass, e) && !ours(pass, n)
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					given = given || givesAway(pass, r)
				}
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if sel, ok := left.(*ast.SelectorExpr); ok && givesAway(pass, left) {
						given = given || !declaredHere(pass, sel.Sel)
					}
				}
			}
			return true
		})
		if given {
			return nil, nil
		}
	}
	if makesOne {
		functions(pass, func(f function) { readyIn(pass, f) })
	}
	return nil, nil
}

func givesAway(pass *analysis.Pass, e ast.Expr) bool {
	t := pass.TypesInfo.TypeOf(e)
	return t != nil && isBreaker(t)
}

// ours reports whether a composite literal is of a type that this package has declared.
func ours(pass *analysis.Pass, lit *ast.CompositeLit) bool {
	named := namedOf(pass.TypesInfo.TypeOf(lit))
	return named == nil || named.Obj().Pkg() == pass.Pkg
}

func declaredHere(pass *analysis.Pass, id *ast.Ident) bool {
	o := pass.TypesInfo.ObjectOf(id)
	return o != nil && o.Pkg() == pass.Pkg
}

// readyIn reports the conditions of a function that let a call go out by Ready.
func readyIn(pass *analysis.Pass, f function) {
	f.own(func(n ast.Node, stack []ast.Node) {
		s, ok := n.(*ast.IfStmt)
		if !ok {
			return
		}
		ready, yes := readyCond(pass, s.Cond)
		if ready == nil {
			return
		}
		var guarded []ast.Stmt
		switch {
		case yes:
			guarded = s.Body.List
		case len(stack) > 0:
			if block, ok := stack[len(stack)-1].(*ast.BlockStmt); ok && leaves(s.Body) {
				for i, other := range block.List {
					if other == ast.Stmt(s) {
						guarded = block.List[i+1:]
					}
				}
			}
		}
		for _, g := range guarded {
			if goesOut(pass, g) {
				report(pass, notInTests, ready, "Ready is a question: the call that it lets through is not claimed, and its outcome not counted; use Do or Acquire")
				return
			}
		}
	})
}

// readyCond returns the call of Ready that a condition consists of, and whether it must be true.
func readyCond(pass *analysis.Pass, cond ast.Expr) (*ast.CallExpr, bool) {
	cond, yes := ast.Unparen(cond), true
	if not, ok := cond.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		cond, yes = ast.Unparen(not.X), false
	}
	call, ok := cond.(*ast.CallExpr)
	if !ok || called(pass.TypesInfo, call) != "Breaker.Ready" {
		return nil, false
	}
	return call, yes
}

// leaves reports whether a block ends by leaving its function or loop.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// goesOut reports whether a statement makes a call with a context or request that can fail.
func goesOut(pass *analysis.Pass, s ast.Stmt) (out bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && reaches(pass.TypesInfo, call) && fails(pass.TypesInfo.TypeOf(call)) {
			out = true
		}
		return !out
	})
	return out
}

func fails(t types.Type) bool {
	if tuple, ok := t.(*types.Tuple); ok {
		return tuple.Len() > 0 && fails(tuple.At(tuple.Len()-1).Type())
	}
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}
