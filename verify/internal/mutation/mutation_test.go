package mutation

import (
	"fmt"
	"testing"

	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

// TestEveryEditApplies keeps the list up to date with the source.
func TestEveryEditApplies(t *testing.T) {
	names := map[string]bool{}
	guarantees := map[string]int{}
	for _, m := range List {
		if names[m.Name] {
			t.Errorf("two mutations are named %q", m.Name)
		}
		names[m.Name] = true
		guarantees[m.Guarantee]++
		if _, err := overlay.New(m.Edits...); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	for g := 1; g <= 13; g++ {
		if guarantees[fmt.Sprintf("G%d", g)] == 0 {
			t.Errorf("no mutation breaks G%d", g)
		}
	}
}
