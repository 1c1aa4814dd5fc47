package breakerprom

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryAlertHasARunbook, a test, and a link to its paragraph; and no
// paragraph is of an alert that is gone.
func TestEveryAlertHasARunbook(t *testing.T) {
	find := func(file, pattern string) []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	alerts := find("rules.yml", `(?m)- alert: (\w+)`)
	if len(alerts) < 10 {
		t.Fatalf("only %v", alerts)
	}
	if runbook := find("../../docs/alerts.md", `(?m)^## (CircuitBreaker\w+)$`); !slices.Equal(alerts, runbook) {
		t.Errorf("the alerts are %v, the paragraphs %v", alerts, runbook)
	}
	if tested := find("testdata/rules_test.yml", `alertname: (\w+)`); !slices.Equal(alerts, tested) {
		t.Errorf("the alerts are %v, tested are %v", alerts, tested)
	}
	text, err := os.ReadFile("testdata/rules_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		if links := find("rules.yml", `runbook: docs/alerts.md#(`+strings.ToLower(a)+`)\n`); len(links) != 1 {
			t.Errorf("%s has no link to its paragraph", a)
		}
		cases := regexp.MustCompile(`alertname: `+a+`\n(\s+exp_alerts)?`).FindAllStringSubmatch(string(text), -1)
		fires := slices.ContainsFunc(cases, func(m []string) bool { return m[1] != "" })
		silent := slices.ContainsFunc(cases, func(m []string) bool { return m[1] == "" })
		if !fires || !silent {
			t.Errorf("%s is tested to fire: %v; not to fire: %v", a, fires, silent)
		}
	}
}
