package breakerprom

import (
	"bytes"
	"os/exec"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// promtool runs Prometheus' own checker.
func promtool(t *testing.T, stdin []byte, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("NOT TESTED: promtool is not installed (Debian: apt-get install prometheus)")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

// checkMetrics has promtool read and judge a scrape.
func checkMetrics(t *testing.T, g prometheus.Gatherer) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	promtool(t, text.Bytes(), "check", "metrics")
}

func TestPromtoolAcceptsTheMetrics(t *testing.T) {
	var s *scraped
	synctest.Test(t, func(t *testing.T) {
		s = newScraped(t)
		story(t, s)
	})
	checkMetrics(t, s.registry)
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	promtool(t, nil, "check", "rules", "rules.yml")
	promtool(t, nil, "test", "rules", "testdata/rules_test.yml")
}
