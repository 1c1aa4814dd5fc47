package docs_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// compared are the libraries in the order of the table, by module, and the name and the
// way in that benchstat.txt has for each.
var compared = []struct{ module, title, row string }{
	{"", "this one", "ours acquire"},
	{"github.com/sony/gobreaker/v2", "gobreaker", "gobreaker execute"},
	{"github.com/failsafe-go/failsafe-go", "failsafe-go", "failsafe permit"},
	{"github.com/cep21/circuit/v4", "cep21/circuit", "cep21 run"},
	{"github.com/mercari/go-circuitbreaker", "mercari", "mercari ready"},
	{"github.com/afex/hystrix-go", "hystrix-go", "hystrix-go do"},
	{"github.com/rubyist/circuitbreaker", "rubyist", "rubyist ready"},
	{"github.com/eapache/go-resiliency", "eapache", "eapache run"},
	{"github.com/zeromicro/go-zero", "go-zero", "go-zero allow"},
	{"github.com/go-kratos/aegis", "aegis", "aegis allow"},
	{"github.com/alibaba/sentinel-golang", "sentinel", "sentinel breaker-slots"},
	{"github.com/vulcand/oxy/v2", "oxy", "oxy handler"},
	{"github.com/1mb-dev/autobreaker", "autobreaker", "autobreaker execute"},
	{"github.com/bytedance/gopkg", "bytedance", "bytedance breaker"},
}

// figure returns the first figure of a row in one of the tables of benchstat.txt: bytes,
// or a time in nanoseconds.
func figure(stats, table, row string) string {
	_, after, _ := strings.Cut(stats, "\n"+table)
	for line := range strings.Lines(after) {
		switch rest, found := strings.CutPrefix(line, "  "+row+" "); {
		case found && !strings.HasPrefix(strings.TrimSpace(rest), "n/a"):
			m := regexp.MustCompile(`^([\d.]+)(us)?`).FindStringSubmatch(strings.TrimSpace(rest))
			if m[2] == "" {
				return m[1]
			}
			us, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return err.Error()
			}
			return strconv.FormatFloat(1000*us, 'f', 0, 64)
		case line[0] >= 'A' && line[0] <= 'z':
			return "" // the next table
		}
	}
	return ""
}

// TestComparisonHasEveryRival: each library of the benchmarks is compared, at its
// version there, with the figures of benchstat.txt.
func TestComparisonHasEveryRival(t *testing.T) {
	stats := read(t, path.Join(root, "benchstat.txt"))
	page := read(t, "comparison.md")
	begin, end := "-update -->\n", "<!-- end -->"
	table := "| | refused | closed, success | bytes |\n|---|---|---|---|\n"
	for _, c := range compared {
		bytes := figure(stats, "Memory of 1 breakers, idle\n", c.row)
		if bytes == "" { // the same breaker by another way in
			bytes = figure(stats, "Memory of 1 breakers, idle\n", strings.Fields(c.row)[0]+map[string]string{
				"mercari": " do", "rubyist": " call", "go-zero": " do", "bytedance": " panel"}[strings.Fields(c.row)[0]])
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", c.title, figure(stats, "refused-open, ns per call", c.row), figure(stats, "closed-success, ns per call", c.row), bytes)
	}
	if *update {
		before, rest, _ := strings.Cut(page, begin)
		_, after, _ := strings.Cut(rest, end)
		page = before + begin + table + end + after
		require.NoError(t, os.WriteFile("comparison.md", []byte(page), 0o666))
	}
	require.Contains(t, page, table, "go test ./docs -run Comparison -update")

	rivals := regexp.MustCompile(`(?m)^  (github\.com/\S+) +(v\S+)$`).FindAllStringSubmatch(stats, -1)
	require.Len(t, rivals, len(compared)-1)
	for _, r := range rivals {
		name := regexp.MustCompile(`^github\.com/|/v\d+$`).ReplaceAllString(r[1], "")
		version := strings.TrimSuffix(r[2], "+incompatible")
		if strings.HasPrefix(version, "v0.0.0-") {
			version = "(" + version[7:11] + ")"
		}
		spoken := name[strings.LastIndex(name, "/")+1:]
		require.Regexp(t, `\*\*\S*`+regexp.QuoteMeta(spoken)+` `+regexp.QuoteMeta(version), page, r[1])
	}
}
