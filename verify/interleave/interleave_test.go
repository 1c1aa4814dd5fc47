//go:build !interleave

package interleave

import (
	"context"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

func run(t *testing.T, edits ...overlay.Edit) overlay.Result {
	t.Helper()
	b, err := overlay.New(edits...)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Instrument(); err != nil {
		t.Fatal(err)
	}
	r, err := b.Test(context.Background(), "verify", nil, "-v", "-count=1", "./interleave")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestInterleavings explores the real code, and sees that a broken one fails.
func TestInterleavings(t *testing.T) {
	r := run(t)
	for line := range strings.Lines(r.Output) {
		if strings.Contains(line, "explored:") || strings.Contains(line, "--- FAIL") || !r.Passed {
			t.Log(strings.TrimSpace(line))
		}
	}
	if !r.Passed {
		t.Fatal("the instrumented build failed")
	}
}
