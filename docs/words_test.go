package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notRead are documents and packages whose words are not ours to choose, or that users
// do not read.
var notRead = regexp.MustCompile(`^(verify/SCENARIOS\.md$|.*_test\.go$|(bench|cmd|examples|verify)/.*\.go$|.*/internal/)`)

// avoided returns the words of the table in CONTRIBUTING.md, as a pattern.
func avoided(t *testing.T) *regexp.Regexp {
	t.Helper()
	_, table, found := strings.Cut(read(t, path.Join(root, "CONTRIBUTING.md")), "| avoid | write |\n|---|---|\n")
	require.True(t, found)
	var words []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		require.Len(t, cells, 4, line)
		for word := range strings.SplitSeq(cells[1], ",") {
			words = append(words, strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(word)), " ", `\s+`))
		}
	}
	require.Greater(t, len(words), 20)
	return regexp.MustCompile(`(?i)\b(` + strings.Join(words, "|") + `)\b|(?-i:(?:^|[.:]\s+|\n\n|- )Who)\s[^.?]*\.\s`)
}

var (
	codeSpan = regexp.MustCompile("`[^`\n]*`|\\B\\*[^*\n]+\\*\\B") // and the names of mutants
	indented = regexp.MustCompile(`(?m)^(    |\t).*$`)
)

// prose is a text without its code.
func prose(text string) string {
	for _, code := range []*regexp.Regexp{codeBlock, indented, codeSpan} {
		text = code.ReplaceAllString(text, "")
	}
	return text
}

// publicComments returns the comments that documentation sites show of a file.
func publicComments(t *testing.T, file string) string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	var text strings.Builder
	add := func(groups ...*ast.CommentGroup) {
		for _, g := range groups {
			text.WriteString(g.Text() + "\n")
		}
	}
	add(parsed.Doc)
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				add(d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if !spec.Name.IsExported() {
						continue
					}
					add(d.Doc, spec.Doc)
					ast.Inspect(spec, func(n ast.Node) bool {
						if f, ok := n.(*ast.Field); ok && (len(f.Names) == 0 || f.Names[0].IsExported()) {
							add(f.Doc, f.Comment)
						}
						return true
					})
				case *ast.ValueSpec:
					if spec.Names[0].IsExported() {
						add(d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return text.String()
}

// TestWords finds words in what users read that CONTRIBUTING.md advises against.
func TestWords(t *testing.T) {
	avoid := avoided(t)
	require.True(t, avoid.MatchString("changed in vain"))
	require.True(t, avoid.MatchString("Who is refused waits. "))
	require.False(t, avoid.MatchString("Who is refused? "))
	check := func(file, text string) {
		for _, found := range avoid.FindAllStringIndex(text, -1) {
			from, to := max(0, found[0]-50), min(len(text), found[1]+30)
			t.Errorf("%s: %q in \"...%s...\": see CONTRIBUTING.md", file, text[found[0]:found[1]], strings.Join(strings.Fields(text[from:to]), " "))
		}
	}
	texts := 0
	for _, file := range files(t, ".md") {
		name := strings.TrimPrefix(file, root+"/")
		if notRead.MatchString(name) {
			continue
		}
		text := read(t, file)
		if name == "CONTRIBUTING.md" {
			text, _, _ = strings.Cut(text, "| avoid | write |")
		}
		texts++
		check(name, prose(text))
	}
	for _, file := range files(t, ".go") {
		name := strings.TrimPrefix(file, root+"/")
		if notRead.MatchString(name) {
			continue
		}
		texts++
		check(name, prose(publicComments(t, file)))
	}
	require.Greater(t, texts, 100)
}
