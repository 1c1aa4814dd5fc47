package summary

import (
	"strings"
	"testing"
)

// fields returns the fields of the first line that begins with text.
func fields(t *testing.T, out, text string) string {
	t.Helper()
	for line := range strings.Lines(out) {
		if joined := strings.Join(strings.Fields(line), " "); strings.HasPrefix(joined, text) {
			return joined
		}
	}
	t.Fatalf("no line begins with %q in\n%s", text, out)
	return ""
}

func TestGrowthIsALineOfSizes(t *testing.T) {
	s := read(t, `
BenchmarkBuckets/buckets=1/path=closed/failures=0/load=1 	 100	 20 ns/op
BenchmarkBuckets/buckets=1/path=closed/failures=10/load=1 	 100	 22 ns/op
BenchmarkBuckets/buckets=1/path=closed/failures=0/load=1-2 	 100	 10 ns/op
BenchmarkBuckets/buckets=128/path=closed/failures=0/load=1 	 100	 30 ns/op
BenchmarkBuckets/buckets=128/path=closed/failures=0/load=1-2 	 100	 10 ns/op
BenchmarkFailures/path=closed/failures=0/load=1 	 100	 20 ns/op
BenchmarkFailures/path=closed/failures=50/load=1 	 100	 40 ns/op
BenchmarkLayout/layout=padded/path=closed/load=1-2 	 100	 5 ns/op
BenchmarkLayout/layout=packed/path=closed/load=1-2 	 100	 40 ns/op
`)
	var out strings.Builder
	for _, section := range []func() error{
		func() error { return s.WriteGrowth(&out) }, func() error { return s.WriteLayout(&out) },
	} {
		if err := section(); err != nil {
			t.Fatal(err)
		}
	}
	for begins, want := range map[string]string{
		"closed, 1P x1 20.0ns ± ? 30": "closed, 1P x1 20.0ns ± ? 30.0ns ± ? 1.50",
		"closed, 10 % failing, 1P":    "closed, 10 % failing, 1P x1 22.0ns ± ? - -",
		"closed, 2P x1 10":            "closed, 2P x1 10.0ns ± ? 10.0ns ± ? 1.00",
		"closed, 1P x1 20.0ns ± ? 40": "closed, 1P x1 20.0ns ± ? 40.0ns ± ? 2.00",
		"closed, 2P x1 5":             "closed, 2P x1 5.00ns ± ? 40.0ns ± ? 8.00 within noise",
		"Flat: a call":                "Flat: a call writes one cell of the present bucket. A failure sums all buckets of its own stripe, but only when, by the",
	} {
		if got := fields(t, out.String(), begins); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if strings.Contains(out.String(), "stripes that") {
		t.Error("a table of what was not measured")
	}
}

func TestSimulatedSaysThatItIs(t *testing.T) {
	s := read(t, `
BenchmarkSimulated/path=refused/impl=counter/line=64/processors=2 1 0.5 transfers/call 1 queue/round
BenchmarkSimulated/path=refused/impl=atomic/line=64/processors=2 1 0 transfers/call 0 queue/round
BenchmarkSimulated/path=refused/impl=atomic/line=128/processors=2 1 0 transfers/call 0 queue/round
BenchmarkSimulated/path=refused/impl=atomic/line=64/processors=128 1 0.6 transfers/call 8 queue/round
BenchmarkSimulated/path=refused/impl=atomic/line=64/processors=128 1 0.6 transfers/call 9 queue/round
BenchmarkSimulated/path=refused/impl=atomic/line=64/processors=128 1 0.7 transfers/call 12 queue/round
`)
	var out strings.Builder
	if err := s.WriteSimulated(&out); err != nil {
		t.Fatal(err)
	}
	for begins, want := range map[string]string{
		"path and breaker":                "path and breaker 2 128",
		"refused: atomic 0":               "refused: atomic 0.00 0.60 (0.70)",
		"refused: atomic, lines in pairs": "refused: atomic, lines in pairs 0.00 -",
		"refused: counter":                "refused: counter 0.50 -",
	} {
		if got := fields(t, out.String(), begins); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if n := strings.Count(out.String(), "Simulated, not timed"); n != 2 {
		t.Errorf("%d tables say that they are simulated, want 2", n)
	}
	if !strings.Contains(out.String(), "9.00 (12.0)") {
		t.Errorf("nothing about the hottest line in\n%s", out.String())
	}
}
