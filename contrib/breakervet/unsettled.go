package breakervet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/cfg"
)

// Unsettled reports tickets that some path neither settles nor passes on. In a half-open
// breaker each keeps a probe's place until silence gives it up.
var Unsettled = &analysis.Analyzer{
	Name:     "unsettled",
	Doc:      "report a circuit breaker's ticket that is not settled on some path\n\nEvery ticket of an Acquire without an error has to be settled by Done, Report, ReportAfter or Cancel.",
	URL:      "https://pkg.go.dev/github.com/atomicbreaker/breaker/contrib/breakervet",
	Requires: []*analysis.Analyzer{ctrlflow.Analyzer},
	Run:      runUnsettled,
}

func runUnsettled(pass *analysis.Pass) (any, error) {
	functions(pass, func(f function) {
		var g *cfg.CFG
		f.own(func(n ast.Node, stack []ast.Node) {
			call, ok := n.(*ast.CallExpr)
			if !ok || !acquires(called(pass.TypesInfo, call)) || len(stack) == 0 {
				return
			}
			c := claim{pass: pass, f: f}
			switch stmt := stack[len(stack)-1].(type) {
			case *ast.ExprStmt:
				report(pass, notInTests, call, "the ticket of this Acquire is dropped: settle it, or ask by Ready, which claims nothing")
				return
			case *ast.AssignStmt:
				if len(stmt.Lhs) != 2 || len(stmt.Rhs) != 1 {
					return
				}
				id, ok := ast.Unparen(stmt.Lhs[0]).(*ast.Ident)
				if !ok {
					return
				}
				if id.Name == "_" {
					report(pass, notInTests, call, "the ticket of this Acquire is dropped: settle it, or ask by Ready, which claims nothing")
					return
				}
				c.stmt, c.ticket, c.err = stmt, varOf(pass.TypesInfo, id), varOf(pass.TypesInfo, stmt.Lhs[1])
			default:
				return
			}
			if c.ticket == nil || !f.holds(c.ticket) || c.elsewhere() {
				return
			}
			if g == nil {
				cfgs := pass.ResultOf[ctrlflow.Analyzer].(*ctrlflow.CFGs)
				if decl, ok := f.node.(*ast.FuncDecl); ok {
					g = cfgs.FuncDecl(decl)
				} else {
					g = cfgs.FuncLit(f.node.(*ast.FuncLit))
				}
			}
			if end := c.lost(g); end != nil {
				report(pass, notInTests, c.stmt, "the ticket %s is not settled on every path: the one that ends in line %d loses it",
					c.ticket.Name(), pass.Fset.Position(end.Pos()).Line)
			}
		})
	})
	return nil, nil
}

// claim is an Acquire whose ticket and error are in variables.
type claim struct {
	pass   *analysis.Pass
	f      function
	stmt   *ast.AssignStmt
	ticket *types.Var
	err    *types.Var // nil: none
}

// elsewhere reports whether the ticket can be settled where the walk does not look: by a
// function that took hold of its variable before, or by who gets it as a named result.
func (c claim) elsewhere() bool {
	if c.f.typ.Results != nil && c.f.typ.Results.Pos() <= c.ticket.Pos() && c.ticket.Pos() < c.f.typ.Results.End() {
		return true
	}
	found := false
	ast.Inspect(c.f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			found = found || n.Pos() < c.stmt.Pos() && mentions(c.pass.TypesInfo, n, c.ticket)
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && n.Pos() < c.stmt.Pos() && varOf(c.pass.TypesInfo, n.X) == c.ticket
		case *ast.DeferStmt:
			found = found || n.Pos() < c.stmt.Pos() && mentions(c.pass.TypesInfo, n, c.ticket)
		}
		return !found
	})
	return found
}

// knowledge is what a path knows of the claim's error.
type knowledge int

const (
	unread  knowledge = iota // nothing: there may be no ticket
	none                     // there is a ticket, or the variable holds another error by now
	refused                  // there is no ticket
)

// lost returns the end of a path on which the ticket is not used, or nil. Where the path uses the
// error in a way that is not understood, the walk gives it up: there may be no ticket.
func (c claim) lost(g *cfg.CFG) (end ast.Node) {
	type state struct {
		block *cfg.Block
		knows knowledge
	}
	seen := make(map[state]bool)
	var walk func(b *cfg.Block, from int, knows knowledge) ast.Node
	walk = func(b *cfg.Block, from int, knows knowledge) ast.Node {
		for i := from; i < len(b.Nodes); i++ {
			n := b.Nodes[i]
			if n == c.stmt {
				return n // around a loop
			}
			if mentions(c.pass.TypesInfo, n, c.ticket) {
				return nil
			}
			if _, returns := n.(*ast.ReturnStmt); returns && (knows == none || !c.reads(n)) {
				return n
			}
			if cond, ok := n.(ast.Expr); ok && i == len(b.Nodes)-1 && len(b.Succs) == 2 {
				return c.branch(b, cond, knows, func(next *cfg.Block, k knowledge) ast.Node {
					if s := (state{next, k}); !seen[s] {
						seen[s] = true
						return walk(next, 0, k)
					}
					return nil
				})
			}
			if knows != unread {
				continue
			}
			if c.reads(n) {
				return nil
			}
			if c.overwrites(n) {
				knows = none
			}
		}
		for _, next := range b.Succs {
			if s := (state{next, knows}); !seen[s] {
				seen[s] = true
				if end := walk(next, 0, knows); end != nil {
					return end
				}
			}
		}
		return nil
	}
	for _, b := range g.Blocks {
		for i, n := range b.Nodes {
			if n == c.stmt {
				knows := unread
				if c.err == nil {
					knows = none
				}
				return walk(b, i+1, knows)
			}
		}
	}
	return nil
}

// branch follows both ways out of a condition, as far as there can be a ticket.
func (c claim) branch(b *cfg.Block, cond ast.Expr, knows knowledge, follow func(*cfg.Block, knowledge) ast.Node) ast.Node {
	for i, truth := range []bool{true, false} {
		k := knows
		if k == unread && c.reads(cond) {
			var understood bool
			if k, understood = c.implied(cond, truth); !understood {
				return nil
			}
		}
		if k == refused {
			continue
		}
		if end := follow(b.Succs[i], k); end != nil {
			return end
		}
	}
	return nil
}

// implied is what a condition's truth says about the error.
func (c claim) implied(cond ast.Expr, truth bool) (k knowledge, understood bool) {
	switch e := ast.Unparen(cond).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return c.implied(e.X, !truth)
		}
	case *ast.CallExpr:
		if c.asksForRefusal(e) {
			if truth {
				return refused, true
			}
			return unread, true
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.NEQ, token.EQL:
			if varOf(c.pass.TypesInfo, e.X) == c.err && isNil(c.pass.TypesInfo, e.Y) || varOf(c.pass.TypesInfo, e.Y) == c.err && isNil(c.pass.TypesInfo, e.X) {
				if truth == (e.Op == token.NEQ) {
					return refused, true
				}
				return none, true
			}
		case token.LAND, token.LOR:
			x, ok := c.implied(e.X, truth)
			y, ok2 := c.implied(e.Y, truth)
			if !ok || !ok2 {
				return unread, false
			}
			if truth == (e.Op == token.LAND) {
				return max(x, y), true
			}
			if x == y {
				return x, true
			}
			return unread, true
		}
	}
	return unread, !mentions(c.pass.TypesInfo, cond, c.err)
}

// asksForRefusal reports whether a call is IsRejected or errors.Is of the error.
func (c claim) asksForRefusal(call *ast.CallExpr) bool {
	if len(call.Args) == 0 || varOf(c.pass.TypesInfo, call.Args[0]) != c.err {
		return false
	}
	switch called(c.pass.TypesInfo, call) {
	case "IsRejected", "Rejected":
		return true
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Is" {
		return false
	}
	f, ok := c.pass.TypesInfo.Uses[sel.Sel].(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "errors"
}

func isNil(info *types.Info, e ast.Expr) bool { return info.Types[e].IsNil() }

// reads reports whether a node uses the error's value.
func (c claim) reads(n ast.Node) bool {
	if c.err == nil {
		return false
	}
	if s, ok := n.(*ast.AssignStmt); ok && s.Tok == token.ASSIGN || ok && s.Tok == token.DEFINE {
		for _, right := range s.Rhs {
			if mentions(c.pass.TypesInfo, right, c.err) {
				return true
			}
		}
		for _, left := range s.Lhs {
			if varOf(c.pass.TypesInfo, left) != c.err && mentions(c.pass.TypesInfo, left, c.err) {
				return true
			}
		}
		return false
	}
	if ret, ok := n.(*ast.ReturnStmt); ok && len(ret.Results) == 0 {
		results := c.f.typ.Results // of which the error may be one
		return results != nil && results.Pos() <= c.err.Pos() && c.err.Pos() < results.End()
	}
	return mentions(c.pass.TypesInfo, n, c.err)
}

// overwrites reports whether a node assigns another value to the error.
func (c claim) overwrites(n ast.Node) bool {
	s, ok := n.(*ast.AssignStmt)
	if !ok || s == c.stmt {
		return false
	}
	for _, left := range s.Lhs {
		if v := varOf(c.pass.TypesInfo, left); v != nil && v == c.err {
			return true
		}
	}
	return false
}
