package golangci_test

import (
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/contrib/breakervet"
	"github.com/atomicbreaker/breaker/contrib/breakervet/golangci"
	"github.com/golangci/plugin-module-register/register"
)

func TestPlugin(t *testing.T) {
	for _, c := range []struct {
		settings any
		want     int
		fault    string
	}{
		{nil, len(breakervet.Analyzers), ""},
		{map[string]any{"disable": []any{"percall", "readyclaim"}}, len(breakervet.Analyzers) - 2, ""},
		{map[string]any{"disable": []any{"per-call"}}, 0, `disable names "per-call"`},
		{map[string]any{"enable": []any{"percall"}}, 0, "enable"},
	} {
		make, err := register.GetPlugin("breakervet") // as golangci-lint does
		if err != nil {
			t.Fatal(err)
		}
		p, err := make(c.settings)
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%v: %v, want %q", c.settings, err, c.fault)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		analyzers, err := p.BuildAnalyzers()
		if err != nil || len(analyzers) != c.want || p.GetLoadMode() != register.LoadModeTypesInfo {
			t.Errorf("%v: %d analyzers, %v, mode %s, want %d", c.settings, len(analyzers), err, p.GetLoadMode(), c.want)
		}
	}
	_ = golangci.New
}
