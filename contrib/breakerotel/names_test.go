package breakerotel

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// translated are the names and label keys of all series, as an exporter to
// Prometheus writes them: dots become underscores, what only rises ends in _total.
func (s *shown) translated() map[string]bool {
	s.Helper()
	all := map[string]bool{}
	for _, m := range s.collect() {
		name := strings.ReplaceAll(m.Name, ".", "_")
		if m.Unit != "" {
			s.Errorf("%s has the unit %s, which an exporter appends", m.Name, m.Unit)
		}
		add := func(suffix string, keys []string) {
			slices.Sort(keys)
			all[fmt.Sprint(name, suffix, keys)] = true
		}
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				add(map[bool]string{true: "_total"}[data.IsMonotonic], keysOf(p.Attributes.ToSlice()))
			}
		case metricdata.Sum[float64]:
			for _, p := range data.DataPoints {
				add(map[bool]string{true: "_total"}[data.IsMonotonic], keysOf(p.Attributes.ToSlice()))
			}
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				add("", keysOf(p.Attributes.ToSlice()))
			}
		case metricdata.Histogram[float64]:
			for _, suffix := range []string{"_sum", "_count"} {
				add(suffix, []string{"name"}) // and the outcome, which breakerprom does not tell apart
			}
			add("_bucket", []string{"name", "le"})
		}
	}
	return all
}

func keysOf[T any](attributes []T) (keys []string) {
	for _, kv := range attributes {
		keys = append(keys, regexp.MustCompile(`\{?([\w.]+)`).FindStringSubmatch(fmt.Sprint(kv))[1])
	}
	return keys
}

// TestPrometheusNamesAreThoseOfBreakerprom: whatever it shows of a breaker that
// has seen everything comes out under the same name with the same labels.
func TestPrometheusNamesAreThoseOfBreakerprom(t *testing.T) {
	text, err := os.ReadFile("../breakerprom/testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(circuitbreaker_\w+)(\{.*\})? `).FindAllStringSubmatch(string(text), -1) {
		keys := []string{}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			keys = append(keys, label[1])
		}
		slices.Sort(keys)
		want[fmt.Sprint(m[1], keys)] = true
	}
	synctest.Test(t, func(t *testing.T) {
		s := &shown{TB: t, reader: sdk.NewManualReader()}
		s.provider = sdk.NewMeterProvider(sdk.WithReader(s.reader))
		if _, err := RegisterWith(s.provider, &s.Watch, &Options{PrometheusNames: true}); err != nil {
			t.Fatal(err)
		}
		story(t, s)
		got := s.translated()
		if len(want) < 20 {
			t.Fatalf("only %v", want)
		}
		for series := range want {
			if !got[series] {
				t.Errorf("there is no %s in %v", series, slices.Sorted(maps.Keys(got)))
			}
		}
		for series := range got {
			if !want[series] {
				t.Errorf("breakerprom has no %s", series)
			}
		}
	})
}
