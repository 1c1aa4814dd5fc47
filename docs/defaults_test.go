package docs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated documents again")

// settings walks the fields of a configuration, those of its parts included.
func settings(prefix string, v reflect.Value, visit func(name string, v reflect.Value)) {
	for i := range v.NumField() {
		name, field := prefix+v.Type().Field(i).Name, v.Field(i)
		if field.Kind() == reflect.Struct {
			settings(name+".", field, visit)
		} else {
			visit(name, field)
		}
	}
}

// span writes a duration as the documents do.
func span(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"h", time.Hour}, {"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d%unit.size == 0 {
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return d.String()
}

// value writes a default as the table of tuning.md does.
func value(name string, v reflect.Value) string {
	if said := map[string]string{"Deadline": "unset", "Patience": "learned"}[name]; said != "" && v.IsZero() {
		return said // what the breaker learns takes its place
	}
	switch d := v.Interface().(type) {
	case time.Duration:
		if d == atomicbreaker.Off {
			return "Off"
		}
		return span(d)
	case string:
		return map[string]string{"": "empty"}[d]
	}
	switch {
	case name == "Clock":
		return "system"
	case name == "Rand":
		return "math/rand/v2"
	case name == "Stripes":
		return "by processors"
	case v.Kind() == reflect.Func && v.IsNil():
		return "none"
	case v.CanFloat() && v.Float() == atomicbreaker.Off, v.CanInt() && v.Int() == atomicbreaker.Off:
		return "Off"
	}
	return fmt.Sprint(v.Interface())
}

var settingRow = regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z.]*)` \\| ([^|]+) \\|([^|]*)\\| [^|]+ \\|$")

// TestEveryDefaultIsInTheTable holds the table of tuning.md against WithDefaults.
func TestEveryDefaultIsInTheTable(t *testing.T) {
	want := make(map[string]string)
	settings("", reflect.ValueOf(atomicbreaker.Config{}.WithDefaults()), func(name string, v reflect.Value) {
		want[name] = value(name, v)
	})
	got := make(map[string]string)
	for _, m := range settingRow.FindAllStringSubmatch(read(t, "tuning.md"), -1) {
		got[m[1]] = strings.TrimSpace(m[2])
	}
	require.Equal(t, want, got)
}

// edge sets a field to a number, or a duration, that the table names.
func edge(t *testing.T, v reflect.Value, text string, beyond int64) {
	t.Helper()
	number, unit, _ := strings.Cut(text, " ")
	if v.CanFloat() {
		x, err := strconv.ParseFloat(number, 64)
		require.NoError(t, err)
		v.SetFloat(x + float64(beyond)/100)
		return
	}
	n, err := strconv.ParseInt(number, 10, 64)
	require.NoError(t, err)
	if unit != "" {
		d, err := time.ParseDuration(number + unit)
		require.NoError(t, err)
		n = int64(d)
	}
	v.SetInt(n + beyond)
}

// TestEveryRangeIsTheOneThatIsChecked: Validate takes the two ends of a range, as far as
// they are in it, and finds fault with what lies beyond.
func TestEveryRangeIsTheOneThatIsChecked(t *testing.T) {
	bounds := regexp.MustCompile(`^(0, or )?(above )?([0-9.]+(?: [a-zµ]+)?) (?:to|and) (below )?([0-9.]+(?: [a-zµ]+)?)(, or Off)?$`)
	checked := 0
	for _, m := range settingRow.FindAllStringSubmatch(read(t, "tuning.md"), -1) {
		name, b := m[1], bounds.FindStringSubmatch(strings.TrimSpace(m[3]))
		if b == nil {
			continue
		}
		checked++
		faulty := func(set func(v reflect.Value)) bool {
			var c atomicbreaker.Config
			settings("", reflect.ValueOf(&c).Elem(), func(n string, v reflect.Value) {
				if n == name {
					set(v)
				}
			})
			err := c.Validate()
			return err != nil && regexp.MustCompile(`(?m)Config\.`+regexp.QuoteMeta(name)+` is .*, want (\d|above|0, or)`).MatchString(err.Error())
		}
		at := func(text string, beyond int64) bool {
			return faulty(func(v reflect.Value) { edge(t, v, text, beyond) })
		}
		if b[2] == "" {
			require.False(t, at(b[3], 0), "%s: %s is in the range", name, b[3])
		}
		require.Equal(t, b[4] != "", at(b[5], 0), "%s: %s", name, b[5])
		require.True(t, at(b[5], 1), "%s: more than %s is out of the range", name, b[5])
		require.True(t, at("0", -2), "%s: -2 is out of the range", name)
		require.Equal(t, b[6] == "", at("-1", 0), "%s: Off", name)
	}
	require.Greater(t, checked, 15)
}

// documented are the configurations of the other packages, by package folder.
var documented = []struct {
	dir   string
	types []string
}{
	{"atomicbreaker", []string{"GroupConfig"}},
	{"contrib/breakerhttp", []string{"Transport", "Handler", "PoolConfig", "Member", "Check", "DNS"}},
	{"contrib/breakergrpc", []string{"Guard", "PolicyConfig"}},
	{"contrib/breakerconnect", []string{"Guard"}},
	{"contrib/breakercaddy", []string{"Settings", "Transport", "Policy", "CircuitBreaker"}},
	{"contrib/breakerlease", []string{"Options", "FleetOptions"}},
	{"contrib/breakerredis", []string{"Options"}},
	{"contrib/breakerprom", []string{"Sums"}},
	{"contrib/breakerpage", []string{"Options"}},
	{"contrib/breakerslog", []string{"Options"}},
}

var (
	defaultIs = regexp.MustCompile(`\bDefaults?: ((?:\.\S|[^.])+?)\.(?:\s|$)`)
	typeLink  = regexp.MustCompile(`\[([\w.]+)\]`)
)

// fieldDefaults returns a line of the table for each field whose comment names a default.
func fieldDefaults(t *testing.T, dir, name string) (lines []string) {
	t.Helper()
	entries, err := os.ReadDir(path.Join(root, dir))
	require.NoError(t, err)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(root, dir, entry.Name()), nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			require.True(t, ok)
			for _, f := range fields.Fields.List {
				m := defaultIs.FindStringSubmatch(strings.Join(strings.Fields(f.Doc.Text()), " ") + " ")
				if m == nil {
					continue
				}
				var names []string
				for _, n := range f.Names {
					names = append(names, "`"+n.Name+"`")
				}
				lines = append(lines, fmt.Sprintf("| %s | %s |", strings.Join(names, ", "), typeLink.ReplaceAllString(m[1], "`$1`")))
			}
			return false
		})
	}
	return lines
}

// TestDefaultsOfTheOtherPackages holds defaults.md against the comments of the fields.
func TestDefaultsOfTheOtherPackages(t *testing.T) {
	var text strings.Builder
	text.WriteString("# Defaults of the other packages\n\nThe settings of the breaker itself are in [tuning](tuning.md#every-setting). Each field's own " +
		"documentation has its\nmeaning and range. Fields that have no default are left out. This page is made from the comments in the code:\n" +
		"`go test ./docs -run DefaultsOfTheOtherPackages -update`.\n")
	for _, d := range documented {
		for _, name := range d.types {
			lines := fieldDefaults(t, d.dir, name)
			if len(lines) == 0 {
				continue
			}
			fmt.Fprintf(&text, "\n## %s.%s\n\n| field of [%[2]s](../%[3]s) | default |\n|---|---|\n%[4]s\n", path.Base(d.dir), name, d.dir, strings.Join(lines, "\n"))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("defaults.md", []byte(text.String()), 0o666))
	}
	require.Equal(t, text.String(), read(t, "defaults.md"), "go test ./docs -run DefaultsOfTheOtherPackages -update")
}
