package summary

import (
	"os"
	"path/filepath"
	"testing"
)

func read(t *testing.T, text string) *Set {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSet()
	if err := s.Read(path); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestResultsAreGroupedByNameAndProcessors(t *testing.T) {
	s := read(t, `goos: linux
cpu: Some CPU
BenchmarkCall/row=a/impl=b-2/g=1-2 	 100	 10.0 ns/op	 16 B/op	 1 allocs/op
BenchmarkCall/row=a/impl=b-2/g=1-2 	 100	 14.0 ns/op	 16 B/op	 1 allocs/op
BenchmarkCall/row=a/impl=b-2/g=1-2 	 100	 11.0 ns/op	 16 B/op	 1 allocs/op
BenchmarkCall/row=a/impl=b-2/g=1 	 100	 20.0 ns/op	 16 B/op	 1 allocs/op
BenchmarkTails/impl=b 	 1	 1500 p99.9-ns
`)
	two, ok := s.sample("Call/row=a/impl=b-2/g=1", "2", "sec/op")
	if !ok {
		t.Fatalf("no sample among %v", s.order)
	}
	if got := two.text("sec/op"); got != "11.0ns ±27%" {
		t.Errorf("two processors: got %q", got)
	}
	one, _ := s.sample("Call/row=a/impl=b-2/g=1", "1", "sec/op")
	if got := one.text("sec/op"); got != "20.0ns ± ?" {
		t.Errorf("one processor: got %q", got)
	}
	if tail, ok := s.sample("Tails/impl=b", "1", "p99.9-sec"); !ok || scaled(tail.Median(), "p99.9-sec") != "1.50us" {
		t.Errorf("tail: got %v among %v", tail, s.order)
	}
	if got := s.Config("cpu"); got != "Some CPU" {
		t.Errorf("cpu: got %q", got)
	}
}
