package dropin_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// distributed is what the original exports for breakers whose state is shared
// over a network, which ours has not.
var distributed = []string{
	"DistributedCircuitBreaker", "NewDistributedCircuitBreaker", "SharedDataStore", "SharedState",
	"ErrNoSharedState", "ErrNoSharedStore",
}

// Whatever the original exports, ours exports with the same type, and nothing
// besides; only the distributed breaker is missing.
func TestSurfaceIsThatOfTheOriginal(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks what the packages import from source")
	}
	from := importer.ForCompiler(token.NewFileSet(), "source", nil).(types.ImporterFrom)
	surface := func(path string) map[string]string {
		p, err := from.ImportFrom(path, ".", 0)
		if err != nil {
			t.Fatal(err)
		}
		return surfaceOf(p)
	}
	for original, standIn := range map[string]string{
		"github.com/sony/gobreaker/v2": "github.com/atomicbreaker/breaker/contrib/gobreaker",
		"github.com/sony/gobreaker":    "github.com/atomicbreaker/breaker/contrib/gobreaker/v1",
	} {
		sameSurface(t, surface(original), surface(standIn))
	}
}

func sameSurface(t *testing.T, theirs, ours map[string]string) {
	t.Helper()
	if len(theirs) < 30 {
		t.Errorf("only %d names found in the original", len(theirs))
	}
	for name, is := range theirs {
		first, _, _ := strings.Cut(name, ".")
		if slices.Contains(distributed, first) {
			continue
		}
		if ours[name] != is {
			t.Errorf("%s is %q in ours, want %q", name, ours[name], is)
		}
	}
	for name, is := range ours {
		if theirs[name] == "" {
			t.Errorf("%s, %q, is not in the original", name, is)
		}
	}
}

// surfaceOf describes the exported names of a package, their exported methods
// and fields, and the values of constants, without names of parameters.
func surfaceOf(p *types.Package) map[string]string {
	surface := map[string]string{}
	inside := func(q *types.Package) string {
		if q == p {
			return ""
		}
		return q.Path()
	}
	text := func(t types.Type) string { return types.TypeString(unnamed(t), inside) }
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			surface[name] = text(o.Type()) + " = " + o.Val().String()
		case *types.TypeName:
			surface[name] = "type"
			for method := range types.NewMethodSet(types.NewPointer(o.Type())).Methods() {
				if method.Obj().Exported() {
					surface[name+"."+method.Obj().Name()] = text(method.Type())
				}
			}
			if s, ok := o.Type().Underlying().(*types.Struct); ok {
				for f := range s.Fields() {
					if f.Exported() {
						surface[name+"."+f.Name()] = text(f.Type())
					}
				}
			}
		default:
			surface[name] = text(o.Type())
		}
	}
	return surface
}

// unnamed takes the names of parameters and results out of a function's type.
func unnamed(t types.Type) types.Type {
	s, ok := t.(*types.Signature)
	if !ok {
		return t
	}
	strip := func(tuple *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range tuple.Variables() {
			vars = append(vars, types.NewParam(token.NoPos, nil, "", unnamed(v.Type())))
		}
		return types.NewTuple(vars...)
	}
	return types.NewSignatureType(nil, nil, nil, strip(s.Params()), strip(s.Results()), s.Variadic())
}
