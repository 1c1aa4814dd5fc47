package main

import (
	"bytes"
	"testing"
)

func TestFiguresForPeople(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 20: "20", 1234567: "1,234,567", -1234: "-1,234", 0.0647: "0.0647", 2.2249: "2.22", 99.96: "100", 123.4: "123", 999.7: "1000", 1234.5: "1,235",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) is %q, want %q", v, got, want)
		}
	}
	for ns, want := range map[float64]string{
		0: "0.0 ns", 3.24: "3.2 ns", 15.6: "16 ns", 999: "999 ns", 999.7: "1.0 µs", 1500: "1.5 µs", 113_000: "113 µs", 2.5e6: "2.5 ms", 1.5e9: "1.50 s",
	} {
		if got := nanos(ns); got != want {
			t.Errorf("nanos(%v) is %q, want %q", ns, got, want)
		}
	}
}

func TestBarShowsEveryKind(t *testing.T) {
	for _, c := range []struct {
		counts counts
		want   string
	}{
		{counts{}, ""},
		{counts{OK: 300}, "██████████████████████████████"},
		{counts{OK: 100, Failed: 1, Refused: 100}, "██████████x··········"},
		{counts{OK: 30_000}, "████████████████████████████████████████████████████████████"},
	} {
		if got := bar(c.counts, 300); got != c.want {
			t.Errorf("bar of %+v is %q, want %q", c.counts, got, c.want)
		}
	}
}

// TestProgressLineLeavesTheReportAlone: the line is taken away before anything
// else is written, and never written where nobody watches.
func TestProgressLineLeavesTheReportAlone(t *testing.T) {
	var screen bytes.Buffer
	c := &console{out: &screen, progress: &screen}
	c.status("half done")
	c.status("done")
	c.printf("result\n")
	c.clear()
	if got, want := screen.String(), "half done\r\x1b[Kdone\r\x1b[Kresult\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	var out, file bytes.Buffer
	c = newConsole(&out, &file)
	c.status("half done")
	c.clear()
	if file.Len() > 0 {
		t.Errorf("wrote %q where there is no terminal", file.String())
	}
}
