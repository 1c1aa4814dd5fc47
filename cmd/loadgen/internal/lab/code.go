package lab

import (
	"fmt"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// part is some settings of one struct of a Config that are not the default.
type part struct {
	name   string // of the struct's field; empty: the Config's own
	fields []setting
}

// parts are the settings that are not the default, by their struct.
func parts(c *atomicbreaker.Config) []part {
	var out []part
	for _, s := range settingsOf(c) {
		if s.text() == "" {
			continue
		}
		name, field, nested := strings.Cut(s.name, ".")
		if !nested {
			name, field = "", s.name
		}
		s.name = field
		if n := len(out); n == 0 || out[n-1].name != name {
			out = append(out, part{name: name})
		}
		last := &out[len(out)-1]
		last.fields = append(last.fields, s)
	}
	return out
}

// Go is the Go code that makes a breaker with these settings.
func Go(c atomicbreaker.Config) string {
	var b strings.Builder
	b.WriteString("b := atomicbreaker.MustNew(atomicbreaker.Config{\n\tName: \"inventory\",\n")
	for _, p := range parts(&c) {
		if p.name == "" {
			for _, s := range p.fields {
				fmt.Fprintf(&b, "\t%s: %s,\n", s.name, s.inGo())
			}
			continue
		}
		var list []string
		for _, s := range p.fields {
			list = append(list, s.name+": "+s.inGo())
		}
		fmt.Fprintf(&b, "\t%s: atomicbreaker.%s{%s},\n", p.name, p.name, strings.Join(list, ", "))
	}
	b.WriteString("})\n")
	return aligned(b.String())
}

// aligned puts the values of the lines "key: value," of a literal one below the
// other, as gofmt does.
func aligned(code string) string {
	lines, widest := strings.Split(code, "\n"), 0
	for _, l := range lines {
		if key, _, ok := strings.Cut(l, ": "); ok && strings.HasPrefix(l, "\t") {
			widest = max(widest, len(key))
		}
	}
	for i, l := range lines {
		if key, value, ok := strings.Cut(l, ": "); ok && strings.HasPrefix(l, "\t") {
			lines[i] = key + ":" + strings.Repeat(" ", 1+widest-len(key)) + value
		}
	}
	return strings.Join(lines, "\n")
}

// inGo is the value as a Go expression.
func (s *setting) inGo() string {
	if s.text() == "off" {
		return "atomicbreaker.Off"
	}
	if d, ok := s.at.(*time.Duration); ok {
		for _, u := range []struct {
			name string
			unit time.Duration
		}{{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second}, {"Millisecond", time.Millisecond}, {"Microsecond", time.Microsecond}} {
			if *d%u.unit == 0 {
				return fmt.Sprintf("%d * time.%s", *d/u.unit, u.name)
			}
		}
		return fmt.Sprintf("%d * time.Nanosecond", int64(*d))
	}
	return s.text()
}

// YAML is the settings with the names of the fields in lower camel case and
// durations as Go writes them. A rule that is off is -1, as in Go.
func YAML(c atomicbreaker.Config) string {
	var b strings.Builder
	b.WriteString("name: inventory\n")
	for _, p := range parts(&c) {
		indent := ""
		if p.name != "" {
			fmt.Fprintf(&b, "%s:\n", lowerFirst(p.name))
			indent = "  "
		}
		for _, s := range p.fields {
			text := s.text()
			if text == "off" {
				text = "-1"
			}
			fmt.Fprintf(&b, "%s%s: %s\n", indent, lowerFirst(s.name), text)
		}
	}
	return b.String()
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
