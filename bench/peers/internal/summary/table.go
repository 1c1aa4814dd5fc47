package summary

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A table is text in columns: the first to the left, the others to the right.
type table struct {
	title string
	head  []string
	rows  []row
	notes []string
}

// A row with a remark shows it instead of cells.
type row struct {
	name   string
	cells  []string
	remark string
}

func (t *table) add(name string, cells ...string) {
	t.rows = append(t.rows, row{name: name, cells: cells})
}
func (t *table) say(name, remark string) { t.rows = append(t.rows, row{name: name, remark: remark}) }
func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *table) write(w io.Writer) error {
	var b strings.Builder
	if t.title != "" {
		fmt.Fprintf(&b, "%s\n\n", t.title)
	}
	widths := make([]int, len(t.head))
	measure := func(i int, s string) { widths[i] = max(widths[i], utf8.RuneCountInString(s)) }
	for i, s := range t.head {
		measure(i, s)
	}
	for _, r := range t.rows {
		measure(0, r.name)
		for i, s := range r.cells {
			measure(i+1, s)
		}
	}
	line := func(name string, cells []string, remark string) {
		text := "  " + name + blanks(widths[0]-utf8.RuneCountInString(name))
		for i, s := range cells {
			text += "  " + blanks(widths[i+1]-utf8.RuneCountInString(s)) + s
		}
		if remark != "" {
			text += "  " + remark
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	line(t.head[0], t.head[1:], "")
	for _, r := range t.rows {
		line(r.name, r.cells, r.remark)
	}
	for _, n := range t.notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }
