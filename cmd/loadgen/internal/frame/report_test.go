package frame

import (
	"bytes"
	"testing"
)

func TestFiguresForPeople(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 20: "20", 1234567: "1,234,567", -1234: "-1,234", 0.0647: "0.0647", 2.2249: "2.22", 99.96: "100", 123.4: "123", 999.7: "1000", 1234.5: "1,235",
	} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) is %q, want %q", v, got, want)
		}
	}
	for ns, want := range map[float64]string{
		0: "0.0 ns", 3.24: "3.2 ns", 15.6: "16 ns", 999: "999 ns", 999.7: "1.0 µs", 1500: "1.5 µs", 113_000: "113 µs", 2.5e6: "2.5 ms", 1.5e9: "1.50 s",
	} {
		if got := Nanos(ns); got != want {
			t.Errorf("Nanos(%v) is %q, want %q", ns, got, want)
		}
	}
}

// TestProgressLineLeavesTheReportAlone: the line is taken away before anything
// else is written, and never written where nobody watches.
func TestProgressLineLeavesTheReportAlone(t *testing.T) {
	var screen bytes.Buffer
	c := &Console{out: &screen, progress: &screen}
	c.Status("half done")
	c.Status("done")
	c.Printf("result\n")
	c.Clear()
	if got, want := screen.String(), "half done\r\x1b[Kdone\r\x1b[Kresult\n"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
	var out, file bytes.Buffer
	c = NewConsole(&out, &file)
	c.Status("half done")
	c.Clear()
	if file.Len() > 0 {
		t.Errorf("wrote %q where there is no terminal", file.String())
	}
}
