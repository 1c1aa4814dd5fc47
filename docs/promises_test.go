package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPromisesAreTheGuarantees: what users are promised is what ARCHITECTURE.md
// guarantees, kept by the same tests and proofs, and each test is where the link leads.
func TestPromisesAreTheGuarantees(t *testing.T) {
	type guarantee struct{ tests, proofs string }
	kept := make(map[string]guarantee)
	testName := regexp.MustCompile(`\bTest\w+`)
	row := regexp.MustCompile(`(?m)^\| (G\d+) \|.*\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$`)
	for _, m := range row.FindAllStringSubmatch(read(t, path.Join(root, "ARCHITECTURE.md")), -1) {
		kept[m[1]] = guarantee{strings.Join(testName.FindAllString(m[2], -1), " "), m[4]}
	}
	require.GreaterOrEqual(t, len(kept), 13)

	named := regexp.MustCompile(`\[(Test\w+)\]\(([^)]+)\)`)
	promised := make(map[string]guarantee)
	row = regexp.MustCompile(`(?m)^\| (G\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$`)
	for _, m := range row.FindAllStringSubmatch(read(t, "promises.md"), -1) {
		var tests []string
		for _, n := range named.FindAllStringSubmatch(m[2], -1) {
			tests = append(tests, n[1])
			require.Contains(t, read(t, n[2]), "func "+n[1]+"(", "%s is not in %s", n[1], n[2])
		}
		promised[m[1]] = guarantee{strings.Join(tests, " "), m[3]}
	}
	require.Equal(t, kept, promised)
}
