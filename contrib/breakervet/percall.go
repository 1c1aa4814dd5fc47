package breakervet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// PerCall reports breakers that live for one call.
var PerCall = &analysis.Analyzer{
	Name: "percall",
	Doc:  "report a circuit breaker that is made for each call\n\nA breaker that is made, used and forgotten by one function never sees the calls before: make it once and keep it.",
	URL:  "https://pkg.go.dev/github.com/atomicbreaker/breaker/contrib/breakervet",
	Run:  runPerCall,
}

func makes(name string) bool {
	switch name {
	case "New", "MustNew", "NewGroup":
		return true
	}
	return false
}

func runPerCall(pass *analysis.Pass) (any, error) {
	functions(pass, func(f function) {
		if f.name == "main" || f.name == "init" || strings.HasPrefix(f.name, "Test") || strings.HasPrefix(f.name, "Example") || strings.HasPrefix(f.name, "Benchmark") {
			return
		}
		f.own(func(n ast.Node, stack []ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok || !makes(called(pass.TypesInfo, call)) || len(stack) == 0 {
				return
			}
			switch around := stack[len(stack)-1].(type) {
			case *ast.SelectorExpr: // MustNew(c).Do(...)
				if len(stack) > 1 {
					if use, ok := stack[len(stack)-2].(*ast.CallExpr); ok && admits(called(pass.TypesInfo, use)) {
						report(pass, notInTests, call, "this breaker is made for one call and never sees another: make it once and keep it")
					}
				}
			case *ast.CallExpr: // Do(ctx, MustNew(c), f)
				if admits(called(pass.TypesInfo, around)) {
					report(pass, notInTests, call, "this breaker is made for one call and never sees another: make it once and keep it")
				}
			case *ast.AssignStmt:
				if v := varOf(pass.TypesInfo, around.Lhs[0]); v != nil && f.holds(v) && forOneCall(pass, f, v, call) {
					report(pass, notInTests, call, "the breaker %s is made for one call and never sees another: make it once and keep it", v.Name())
				}
			}
		})
	})
	return nil, nil
}

// forOneCall reports whether every use of a breaker is a call of its own method in the function
// that made it, one of them asks for leave, and none is in a loop or function that the making
// is not in.
func forOneCall(pass *analysis.Pass, f function, v *types.Var, made ast.Node) bool {
	asked, kept := false, false
	ast.PreorderStack(f.body, nil, func(n ast.Node, stack []ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || pass.TypesInfo.Uses[id] != v {
			return true
		}
		for _, around := range stack {
			switch around.(type) {
			case *ast.FuncLit, *ast.ForStmt, *ast.RangeStmt:
				if made.Pos() < around.Pos() || around.End() < made.End() {
					kept = true
				}
			}
		}
		use := useOf(stack)
		if use == nil || ast.Unparen(use.Fun) == ast.Expr(id) {
			kept = true
			return true
		}
		name := called(pass.TypesInfo, use)
		asked = asked || admits(name) || name == "Group.Get"
		switch name {
		case "Breaker.Trip", "Breaker.SetMode", "Breaker.Reset":
			kept = true // it is there to be looked at, not to guard a call
		}
		_, receiver := stack[len(stack)-1].(*ast.SelectorExpr)
		kept = kept || name == "" || !receiver && !admits(name)
		return true
	})
	return asked && !kept
}

// useOf returns the call of which the node at the end of the stack is the receiver or an argument.
func useOf(stack []ast.Node) *ast.CallExpr {
	for i := len(stack) - 1; i >= 0 && i >= len(stack)-2; i-- {
		switch n := stack[i].(type) {
		case *ast.CallExpr:
			return n
		case *ast.SelectorExpr:
		default:
			return nil
		}
	}
	return nil
}
