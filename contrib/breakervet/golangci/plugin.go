// Package golangci makes breakervet's analyzers a plugin of golangci-lint, in its module
// plugin system; see the README beside the module.
package golangci

import (
	"fmt"
	"slices"

	"github.com/atomicbreaker/breaker/contrib/breakervet"
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"
)

func init() { register.Plugin("breakervet", New) }

// Settings are those of the linter in .golangci.yml.
type Settings struct {
	Disable []string `json:"disable"` // names of analyzers that are not run
}

// New makes the plugin. Settings it does not know are an error.
func New(settings any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[Settings](settings)
	if err != nil {
		return nil, fmt.Errorf("breakervet: %w", err)
	}
	var p plugin
	for _, a := range breakervet.Analyzers {
		if !slices.Contains(s.Disable, a.Name) {
			p.analyzers = append(p.analyzers, a)
		}
	}
	for _, name := range s.Disable {
		if !slices.ContainsFunc(breakervet.Analyzers, func(a *analysis.Analyzer) bool { return a.Name == name }) {
			return nil, fmt.Errorf("breakervet: disable names %q, want names of its analyzers, such as %s", name, breakervet.Unsettled.Name)
		}
	}
	return p, nil
}

type plugin struct{ analyzers []*analysis.Analyzer }

func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return p.analyzers, nil }

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
