package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const results = `goos: linux
goarch: amd64
cpu: Some CPU
BenchmarkFloor/floor=reject/g=1-2 	 1	 4.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkFloor/floor=do/g=1-2 	 1	 4.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/row=refused-open/impl=ours/api=acquire/g=1-2 	 1	 6.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/row=refused-open/impl=ours/api=do/g=1-2 	 1	 8.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/row=refused-open/impl=eapache/api=run/g=1-2 	 1	 2.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/row=refused-open/impl=failsafe/api=permit/g=1-2 	 1	 90 ns/op	 0 B/op	 0 allocs/op
BenchmarkCall/row=refused-open/impl=go-zero/api=do/g=1-2 	 1	 900 ns/op	 0.01 admitted-%	 400 B/op	 7 allocs/op
BenchmarkSomething/impl=x 	 1	 90 ns/op
BenchmarkStress/probe=50µs/for=8s/impl=gobreaker/api=execute-2 	 1	 1700 probes	 0 early	 0 overlapping	 1 worst-under-way	 4000000 shortest-gap-ns
`

func report(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bench.txt")
	if err := os.WriteFile(path, []byte(results), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := run(append(args, path), &out)
	return out.String(), err
}

// line returns the fields of the first line that contains text.
func line(t *testing.T, report, text string) string {
	t.Helper()
	for l := range strings.Lines(report) {
		if strings.Contains(l, text) {
			return strings.Join(strings.Fields(l), " ")
		}
	}
	t.Fatalf("no line with %q in\n%s", text, report)
	return ""
}

func TestReportSaysWhatWasMeasuredAndWhereOthersAreBetter(t *testing.T) {
	out, err := report(t, "-command", "make bench", "-commit", "abc")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ find, line string }{
		{"command:", "command: make bench"},
		{"commit:", "commit: abc"},
		{"machine:", "machine: Some CPU,"},
		{"  failsafe permit", "failsafe permit 90.0ns ± ? 0 0 22.5 15.0"}, // floor and ours of its own form
		{"  eapache run  ", "eapache run 2.00ns ± ? 0 0 0.50 0.25"},
		{"refused-open: eapache run", "refused-open: eapache run 2P x1 2.00ns ± ? 8.00ns ± ? 4.00 within noise"},
		{"  mercari do", "mercari do not measured"},
		{"go-zero do admitted", "go-zero do admitted 0.01 to 0.01 % of the calls: it refuses by chance"},
		{"impl=x", "impl=x 90.0ns ± ?"},
		{"4.00ms", "gobreaker execute 1700 0 0 1 4.00ms"},
		{"  oxy handler", ""},
	} {
		if got := line(t, out, want.find); !strings.HasPrefix(got, want.line) {
			t.Errorf("got %q, want %q", got, want.line)
		}
	}
	if strings.Contains(out, "refused-open: failsafe") {
		t.Error("a slower rival is among the losses")
	}
}

func TestReportRefusesToReportNothing(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-nonsense"}, "see report -h"},
		{[]string{"/does/not/exist"}, "reading results"},
		{[]string{os.DevNull}, "no benchmark results"},
	} {
		err := run(c.args, new(strings.Builder))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.args, err, c.want)
		}
	}
}
