// Package docs_test holds the documents of the repository against the code:
// links, defaults, words, and what they say is kept by which test.
package docs_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = ".."

// files returns the files under the root that end in suffix, without those that others
// have written or that tests only feed to a tool.
func files(t *testing.T, suffix string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "build" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return filepath.SkipDir
		case strings.HasSuffix(file, suffix):
			found = append(found, file)
		}
		return nil
	}))
	require.NotEmpty(t, found)
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

var (
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```$")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	notInSlugs = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the fragments by which the headings of a document can be reached on GitHub.
func anchors(text string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		slug := notInSlugs.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		all[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return all
}

// broken returns what is wrong with a link in a file, or "".
func broken(t *testing.T, file, target string) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "https":
		return ""
	case u.Scheme != "" || u.Host != "":
		return "is neither https nor in the repository"
	}
	to := file
	if u.Path != "" {
		to = filepath.Join(filepath.Dir(file), filepath.FromSlash(u.Path))
	}
	info, err := os.Stat(to)
	switch {
	case err != nil:
		return err.Error()
	case u.Fragment == "":
		return ""
	case info.IsDir() || filepath.Ext(to) != ".md":
		return "has a fragment and leads to no document"
	case !anchors(read(t, to))[u.Fragment]:
		return "leads to no heading of " + to
	}
	return ""
}

func TestLinksLeadSomewhere(t *testing.T) {
	links := 0
	for _, file := range files(t, ".md") {
		text := read(t, file)
		for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			links++
			if fault := broken(t, file, m[1]); fault != "" {
				t.Errorf("%s: the link %s: %s", file, m[1], fault)
			}
		}
	}
	require.Greater(t, links, 100)
	require.NotEmpty(t, broken(t, "README.md", "nowhere.md"))
	require.NotEmpty(t, broken(t, "README.md", "#nowhere"))
	require.NotEmpty(t, broken(t, "README.md", "http://example.com"))
}

// TestIndexHasEveryPage: a page that the index does not name is not found.
func TestIndexHasEveryPage(t *testing.T) {
	index := read(t, "README.md")
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	for _, page := range pages {
		if page != "README.md" {
			require.Contains(t, index, "]("+page+")")
		}
	}
}

// TestPictureIsWhatTheREADMESays: the figures of the README's outage are those in its picture.
func TestPictureIsWhatTheREADMESays(t *testing.T) {
	picture := read(t, "pictures/surge.svg")
	rows := regexp.MustCompile(`(?m)^\| [^|]+ \| (\d+ s|not in the run) \| ([\d,]+) \|$`).FindAllStringSubmatch(read(t, root+"/README.md"), -1)
	require.Len(t, rows, 4)
	for _, row := range rows {
		said := "Back to normal after " + row[1]
		if row[1] == "not in the run" {
			said = "Not back to normal in the run"
		}
		require.Contains(t, picture, said+"; "+row[2]+" calls failed")
	}
}
