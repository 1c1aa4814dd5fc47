// Package metricstest_test holds the page of metrics against what the packages for
// Prometheus and OpenTelemetry export. It is here because this module has both.
package metricstest_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/contrib/breakerprom"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
)

const page = "../../../../docs/metrics.md"

// TestEveryMetricIsInTheTable: a row for each metric that the collector describes,
// with its labels, and none besides.
func TestEveryMetricIsInTheTable(t *testing.T) {
	descs := make(chan *prometheus.Desc, 1000)
	breakerprom.New(new(breakerwatch.Watch)).Describe(descs)
	close(descs)
	said := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	var want []string
	for d := range descs {
		m := said.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("no name and labels in %s", d)
		}
		want = append(want, m[1]+" "+m[2])
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([^`]+)`")
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(circuitbreaker_\\w+)` \\| \\w+ \\| ([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		var labels []string
		for _, l := range code.FindAllStringSubmatch(m[2], -1) {
			labels = append(labels, l[1])
		}
		got = append(got, m[1]+" "+strings.Join(labels, ","))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("docs/metrics.md has\n%s\nthe collector has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
