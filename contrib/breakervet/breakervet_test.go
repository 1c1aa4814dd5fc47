package breakervet_test

import (
	"testing"

	"github.com/atomicbreaker/breaker/contrib/breakervet"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestAnalyzers runs each over what it must find and over what it must not.
func TestAnalyzers(t *testing.T) {
	if err := analysis.Validate(breakervet.Analyzers); err != nil {
		t.Fatal(err)
	}
	packages := map[string][]string{"readyclaim": {"readyclaim", "readyguarded"}}
	for _, a := range breakervet.Analyzers {
		t.Run(a.Name, func(t *testing.T) {
			patterns := packages[a.Name]
			if patterns == nil {
				patterns = []string{a.Name}
			}
			analysistest.Run(t, analysistest.TestData(), a, patterns...)
		})
	}
}
