package breakervet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// EarlyDefer reports a deferred settling whose argument is not yet what it is going to be:
// the arguments of a deferred call are taken when the defer statement runs.
var EarlyDefer = &analysis.Analyzer{
	Name: "earlydefer",
	Doc:  "report defer ticket.Done(ctx, err) where err is set later\n\nThe deferred call gets the value that err has at the defer statement: defer a function literal instead.",
	URL:  "https://pkg.go.dev/github.com/atomicbreaker/breaker/contrib/breakervet",
	Run:  runEarlyDefer,
}

func runEarlyDefer(pass *analysis.Pass) (any, error) {
	functions(pass, func(f function) {
		f.own(func(n ast.Node, _ []ast.Node) {
			d, ok := n.(*ast.DeferStmt)
			if !ok {
				return
			}
			name := called(pass.TypesInfo, d.Call)
			switch name {
			case "Ticket.Done", "Ticket.Report", "Ticket.ReportAfter":
			default:
				return
			}
			for _, arg := range d.Call.Args {
				v := varOf(pass.TypesInfo, arg)
				if v == nil || is(v.Type(), "context", "Context") {
					continue
				}
				if setLater(pass, f, v, d) {
					report(pass, inTests, arg, "%s is taken when the defer statement runs, not when the function ends: defer a function literal that calls %s", v.Name(), name[len("Ticket."):])
				}
			}
		})
	})
	return nil, nil
}

// setLater reports whether a variable gets its value after a statement, or holds at it only
// whether the breaker has refused.
func setLater(pass *analysis.Pass, f function, v *types.Var, at ast.Node) bool {
	if r := f.typ.Results; r != nil && r.Pos() <= v.Pos() && v.Pos() < r.End() {
		return true
	}
	later := false
	ast.Inspect(f.body, func(n ast.Node) bool { // assignments in function literals count, too
		s, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for i, left := range s.Lhs {
			if id, ok := ast.Unparen(left).(*ast.Ident); !ok || pass.TypesInfo.ObjectOf(id) != v {
				continue
			}
			call, ok := ast.Unparen(s.Rhs[min(i, len(s.Rhs)-1)]).(*ast.CallExpr)
			later = later || s.Pos() > at.Pos() || ok && acquires(called(pass.TypesInfo, call)) && lastBefore(pass, f, v, at) == s
		}
		return true
	})
	return later
}

// lastBefore returns the last assignment to a variable before a node, in the order of the text.
func lastBefore(pass *analysis.Pass, f function, v *types.Var, at ast.Node) (last ast.Node) {
	f.assigns(func(id *ast.Ident, _ ast.Expr, s ast.Node) {
		if s.Pos() < at.Pos() && pass.TypesInfo.ObjectOf(id) == v {
			last = s
		}
	})
	return last
}

// SuccessOnError reports failed calls that are settled as a success.
var SuccessOnError = &analysis.Analyzer{
	Name: "successonerror",
	Doc:  "report a call that failed and is settled as a success\n\nIn the branch for err != nil of a call to a dependency, Report(Success) and Done(ctx, nil) hide the failure from the breaker.",
	URL:  "https://pkg.go.dev/github.com/atomicbreaker/breaker/contrib/breakervet",
	Run:  runSuccessOnError,
}

func runSuccessOnError(pass *analysis.Pass) (any, error) {
	functions(pass, func(f function) {
		f.own(func(n ast.Node, stack []ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok || !saysSuccess(pass, call) {
				return
			}
			if v := failing(pass, stack); v != nil && fromDependency(pass, f, v, call) {
				report(pass, inTests, call, "the call failed with %s, and is settled as a success: use Done(ctx, %s)", v.Name(), v.Name())
			}
		})
	})
	return nil, nil
}

func saysSuccess(pass *analysis.Pass, call *ast.CallExpr) bool {
	switch called(pass.TypesInfo, call) {
	case "Ticket.Done":
		return len(call.Args) == 2 && isNil(pass.TypesInfo, call.Args[1])
	case "Ticket.Report", "Ticket.ReportAfter":
		tv := pass.TypesInfo.Types[call.Args[0]]
		return tv.Value != nil && tv.Value.ExactString() == "0" // Success
	}
	return false
}

// failing returns the variable of the error that the code at the end of the stack runs for, or
// nil: it is the innermost condition, and says err != nil and nothing else.
func failing(pass *analysis.Pass, stack []ast.Node) *types.Var {
	for i := len(stack) - 1; i > 0; i-- {
		switch n := stack[i].(type) {
		case *ast.CaseClause, *ast.CommClause, *ast.ForStmt, *ast.RangeStmt, *ast.DeferStmt, *ast.GoStmt:
			return nil
		case *ast.IfStmt:
			if i+1 >= len(stack) {
				return nil // in the condition
			}
			op := token.ILLEGAL
			switch stack[i+1] {
			case n.Body:
				op = token.NEQ
			case n.Else:
				op = token.EQL
			}
			cond, ok := ast.Unparen(n.Cond).(*ast.BinaryExpr)
			if !ok || cond.Op != op || !isNil(pass.TypesInfo, cond.Y) {
				return nil
			}
			return varOf(pass.TypesInfo, cond.X)
		}
	}
	return nil
}

// fromDependency reports whether an error is that of a call that went out. A reply that
// cannot be parsed is no failure of who sent it.
func fromDependency(pass *analysis.Pass, f function, v *types.Var, at ast.Node) bool {
	out := false
	f.assigns(func(id *ast.Ident, value ast.Expr, s ast.Node) {
		if s.Pos() < at.Pos() && pass.TypesInfo.ObjectOf(id) == v {
			call, ok := ast.Unparen(value).(*ast.CallExpr)
			out = ok && reaches(pass.TypesInfo, call) && !admits(called(pass.TypesInfo, call))
		}
	})
	return out
}
