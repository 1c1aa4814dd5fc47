// Package summary turns benchmark results into the tables of a report.
package summary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"
	"golang.org/x/perf/benchunit"
)

// A Set holds benchmark results by name and unit.
type Set struct {
	parser  benchproc.ProjectionParser
	names   *benchproc.Projection
	samples map[sampleKey][]float64
	order   []sampleKey
	config  map[string]string // the file configuration, such as goos and cpu
	skipped []string          // lines that could not be read
}

type sampleKey struct {
	name string // the full name but the processors, such as Call/row=x/impl=y
	proc string // GOMAXPROCS, 1 where the name says none
	unit string // in base units, as sec/op
}

// NewSet returns an empty set.
func NewSet() *Set {
	s := &Set{samples: map[sampleKey][]float64{}, config: map[string]string{}}
	names, err := s.parser.Parse(".fullname,/gomaxprocs", nil)
	if err != nil {
		panic(err) // the expression is a constant
	}
	s.names = names
	return s
}

// Read adds the results of the named files, or of standard input when there is
// none or one is "-".
func (s *Set) Read(paths ...string) error {
	files := benchfmt.Files{Paths: paths, AllowStdin: true}
	for files.Scan() {
		switch r := files.Result().(type) {
		case *benchfmt.Result:
			s.Add(r)
		case *benchfmt.SyntaxError:
			s.skipped = append(s.skipped, r.Error())
		}
	}
	return files.Err()
}

// Add adds one result.
func (s *Set) Add(r *benchfmt.Result) {
	for _, c := range r.Config {
		if c.File {
			s.config[c.Key] = string(c.Value)
		}
	}
	key := s.names.Project(r)
	fields := s.names.Fields()
	name, proc := key.Get(fields[0]), key.Get(fields[1])
	if proc == "" {
		proc = "1"
	}
	for _, v := range r.Values {
		value, unit := benchunit.Tidy(v.Value, v.Unit) // the reader leaves zeros as they are
		k := sampleKey{name, proc, unit}
		if _, seen := s.samples[k]; !seen {
			s.order = append(s.order, k)
		}
		s.samples[k] = append(s.samples[k], value)
	}
}

// Empty reports whether there are no results.
func (s *Set) Empty() bool { return len(s.order) == 0 }

// Config returns a value of the results' file configuration, such as cpu.
func (s *Set) Config(key string) string { return s.config[key] }

// Skipped returns what could not be read as a benchmark result.
func (s *Set) Skipped() []string { return s.skipped }

// A Sample is the measurements of one benchmark in one unit.
type Sample struct {
	values []float64
}

func (s *Set) sample(name, proc, unit string) (Sample, bool) {
	v, ok := s.samples[sampleKey{name, proc, unit}]
	return Sample{v}, ok
}

// Median returns the middle of the sample.
func (m Sample) Median() float64 { return m.summary().Center }

func (m Sample) summary() benchmath.Summary {
	return benchmath.AssumeNothing.Summary(m.of(), 0.95)
}

func (m Sample) of() *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(m.values), &benchmath.DefaultThresholds)
}

// Spread returns how far the median may be off, in per cent: the 95 % confidence
// interval where there are values enough for one, else the farthest value. It is
// negative for a single value.
func (m Sample) Spread() float64 {
	s := m.summary()
	if s.Center == 0 {
		return 0
	}
	if len(m.values) == 1 {
		return -1
	}
	lo, hi := s.Lo, s.Hi
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		lo, hi = slices.Min(m.values), slices.Max(m.values)
	}
	return 100 * max(hi-s.Center, s.Center-lo) / s.Center
}

// Differs reports whether the two samples are unlikely (p < 0.05) to be of one
// distribution.
func (m Sample) Differs(other Sample) bool {
	c := benchmath.AssumeNothing.Compare(m.of(), other.of())
	return c.P < c.Alpha
}

// text shows the median and the spread of a sample in a unit of base units.
func (m Sample) text(unit string) string {
	s := scaled(m.Median(), unit)
	switch spread := m.Spread(); {
	case spread < 0:
		return s + " ± ?"
	default:
		return fmt.Sprintf("%s ±%2.0f%%", s, spread)
	}
}

// scaled shows a value of a base unit with three digits or more.
func scaled(v float64, unit string) string {
	switch {
	case strings.HasPrefix(unit, "sec") || strings.HasSuffix(unit, "-sec") || unit == "sec":
		return duration(v)
	case v == math.Trunc(v) && math.Abs(v) < 1e6:
		return fmt.Sprint(int64(v))
	case benchunit.ClassOf(unit) == benchunit.Binary:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

// duration shows seconds in ns, us, ms or s.
func duration(sec float64) string {
	if sec == 0 {
		return "0"
	}
	for _, u := range []struct {
		of   float64
		name string
	}{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}} {
		if v := sec / u.of; v < 999.5 {
			return digits(v) + u.name
		}
	}
	return digits(sec) + "s"
}

func digits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// parts splits a name such as Call/row=x/impl=y into its base and its keys.
func parts(name string) (base string, keys map[string]string) {
	b, ps := benchfmt.Name(name).Parts()
	keys = map[string]string{}
	for _, p := range ps {
		if k, v, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "="); ok {
			keys[k] = v
		}
	}
	return string(b), keys
}
