// Package mutation lists ways to break the breaker, at least one for each of
// its guarantees, as small changes of the production code. A check that does
// not fail for any of them proves nothing.
package mutation

import (
	"fmt"

	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

// Mutation is one way to break the code.
type Mutation struct {
	Guarantee string // G1 to G13, the recovery rule, or the lease
	Name      string // what is wrong in it
	Edits     []overlay.Edit
}

func m(guarantee, name, file, old, new string) Mutation {
	return Mutation{guarantee, name, []overlay.Edit{{File: file, Old: old, New: new}}}
}

// Named returns a mutation of the list.
func Named(name string) (Mutation, error) {
	for _, m := range List {
		if m.Name == name {
			return m, nil
		}
	}
	return Mutation{}, fmt.Errorf("mutation: none is named %q", name)
}
