package breakervet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzers are all analyzers of this package.
var Analyzers = []*analysis.Analyzer{Unsettled, EarlyDefer, DroppedRefusal, ReadyClaim, PerCall, SuccessOnError}

const (
	core   = "github.com/atomicbreaker/breaker/atomicbreaker"
	ignore = "//breakervet:ignore"
)

// Where an analyzer reports: in test files much of what it would find is meant.
const (
	inTests    = true
	notInTests = false
)

// report reports a diagnostic unless a comment says that it is meant, or it is in a test file.
func report(pass *analysis.Pass, tests bool, at ast.Node, format string, args ...any) {
	place := pass.Fset.Position(at.Pos())
	if !tests && strings.HasSuffix(place.Filename, "_test.go") {
		return
	}
	for _, file := range pass.Files {
		if file.FileStart > at.Pos() || at.Pos() > file.FileEnd {
			continue
		}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				line := pass.Fset.Position(comment.Pos()).Line
				reason, marked := strings.CutPrefix(comment.Text, ignore)
				if marked && strings.TrimSpace(reason) != "" && (line == place.Line || line == place.Line-1) {
					return
				}
			}
		}
	}
	pass.ReportRangef(at, format, args...)
}

// called returns the function of the core that a call calls, as its name, with that of
// its receiver, if any, before it: "New", "Breaker.Acquire". It is empty for every other call.
func called(info *types.Info, call *ast.CallExpr) string {
	f, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok {
		return ""
	}
	return nameOf(f)
}

func nameOf(f *types.Func) string {
	if f.Pkg() == nil || f.Pkg().Path() != core {
		return ""
	}
	if recv := f.Signature().Recv(); recv != nil {
		if named := namedOf(recv.Type()); named != nil {
			return named.Obj().Name() + "." + f.Name()
		}
	}
	return f.Name()
}

// namedOf returns the named type that t is or points to, or nil.
func namedOf(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}

// is reports whether t is, or points to, a type by its package's path and name.
func is(t types.Type, path, name string) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path && named.Obj().Name() == name
}

func isBreaker(t types.Type) bool { return is(t, core, "Breaker") || is(t, core, "Group") }

// admits reports whether the named function of the core asks a breaker for leave.
func admits(name string) bool {
	switch name {
	case "Breaker.Acquire", "Breaker.AcquireWait", "Breaker.Do", "Breaker.DoWith", "Do", "DoWith":
		return true
	}
	return false
}

func acquires(name string) bool { return name == "Breaker.Acquire" || name == "Breaker.AcquireWait" }

// varOf returns the variable that an expression is, or nil.
func varOf(info *types.Info, e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := info.ObjectOf(id).(*types.Var)
	return v
}

// mentions reports whether a node uses a variable.
func mentions(info *types.Info, n ast.Node, v *types.Var) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && info.Uses[id] == v {
			found = true
		}
		return !found
	})
	return found
}

// reaches reports whether a call goes out with a context or a request, as calls to a
// dependency do.
func reaches(info *types.Info, call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		t := info.TypeOf(arg)
		if t != nil && (is(t, "context", "Context") || is(t, "net/http", "Request")) {
			return true
		}
	}
	f, ok := typeutil.Callee(info, call).(*types.Func)
	return ok && f.Signature().Recv() != nil && is(f.Signature().Recv().Type(), "net/http", "Client")
}

// function is one function's node, type and body; those inside of it are their own.
type function struct {
	node ast.Node // *ast.FuncDecl or *ast.FuncLit
	name string   // empty for a FuncLit
	typ  *ast.FuncType
	body *ast.BlockStmt
}

// functions calls f for every function that has a body.
func functions(pass *analysis.Pass, f func(function)) {
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil {
					f(function{n, n.Name.Name, n.Type, n.Body})
				}
			case *ast.FuncLit:
				f(function{n, "", n.Type, n.Body})
			}
			return true
		})
	}
}

// own calls visit for every node of the function that is not in one inside of it,
// with the nodes around it.
func (f function) own(visit func(n ast.Node, stack []ast.Node)) {
	ast.PreorderStack(f.body, nil, func(n ast.Node, stack []ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		visit(n, stack)
		return true
	})
}

// holds reports whether the function declares a variable, its results and parameters included.
func (f function) holds(v *types.Var) bool {
	return f.node.Pos() <= v.Pos() && v.Pos() <= f.node.End()
}

// assigns calls visit for every assignment to a variable by name, with what is assigned: the call
// itself where it returns several.
func (f function) assigns(visit func(id *ast.Ident, value ast.Expr, at ast.Node)) {
	f.own(func(n ast.Node, _ []ast.Node) {
		s, ok := n.(*ast.AssignStmt)
		if !ok || s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
			return
		}
		for i, left := range s.Lhs {
			if id, ok := ast.Unparen(left).(*ast.Ident); ok {
				visit(id, s.Rhs[min(i, len(s.Rhs)-1)], s)
			}
		}
	})
}
