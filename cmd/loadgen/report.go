package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// check is one figure that was measured, and the verdict on it. Its name is
// stable. Limit is the most that Value may be, unless Bound says otherwise;
// without one the check is there for information and passes.
type check struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit"`
	Limit *float64 `json:"limit,omitempty"`
	Bound string   `json:"bound,omitempty"` // "at least" or "exactly"; empty is at most
	Pass  bool     `json:"pass"`
}

// report collects what the jobs of one run found.
type report struct {
	console *console
	started time.Time
	file    reportFile

	// afterwards runs when the verdict has been told, if a job has set it.
	afterwards func(context.Context)

	// reproducible reports are the same whenever and wherever they are made:
	// nothing in them tells of time or machine. Of their checks, which are many,
	// only those that failed are printed.
	reproducible bool
}

// reportFile is the JSON form.
type reportFile struct {
	Command  string         `json:"command"`
	Started  string         `json:"started,omitempty"` // RFC 3339
	TookS    float64        `json:"took_s,omitempty"`
	Pass     bool           `json:"pass"`
	Machine  *machine       `json:"machine,omitempty"`
	Checks   []check        `json:"checks"`
	Failfast *failfastFacts `json:"failfast,omitempty"`
	Drill    *drillFacts    `json:"drill,omitempty"`
	Sim      *simFacts      `json:"sim,omitempty"`
	Advice   *adviceFacts   `json:"advice,omitempty"`
}

type machine struct {
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	GoMaxProcs int    `json:"gomaxprocs"`
	Timer      string `json:"timer"`
}

func newReport(c *console, args []string) *report {
	now := time.Now()
	return &report{console: c, started: now, file: reportFile{
		Command: strings.Join(args, " "),
		Started: now.UTC().Format(time.RFC3339),
		Machine: &machine{
			Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuid.CPU.BrandName,
			Cores: runtime.NumCPU(), GoMaxProcs: runtime.GOMAXPROCS(0), Timer: newStopwatch().name,
		},
		Checks: []check{},
	}}
}

// atMost adds a check that passes if value is not above limit.
func (r *report) atMost(name string, value float64, unit string, limit float64) {
	r.file.Checks = append(r.file.Checks, check{Name: name, Value: value, Unit: unit, Limit: &limit, Pass: value <= limit})
}

// reproduce makes the report one that is the same whenever and wherever it is made.
func (r *report) reproduce() {
	r.reproducible = true
	r.file.Started, r.file.Machine = "", nil
}

// add adds a check that was judged elsewhere.
func (r *report) add(c check) { r.file.Checks = append(r.file.Checks, c) }

// fail adds a check that fails whatever its value: what it measures did not
// happen.
func (r *report) fail(name string, value float64, unit string, limit float64) {
	r.file.Checks = append(r.file.Checks, check{Name: name, Value: value, Unit: unit, Limit: &limit})
}

// info adds a check that only informs.
func (r *report) info(name string, value float64, unit string) {
	r.file.Checks = append(r.file.Checks, check{Name: name, Value: value, Unit: unit, Pass: true})
}

func (r *report) passed() bool {
	for _, c := range r.file.Checks {
		if !c.Pass {
			return false
		}
	}
	return true
}

// printVerdict prints the checks as a table and the sum of them in a line.
func (r *report) printVerdict() {
	if len(r.file.Checks) == 0 {
		return
	}
	failed, judged, width := 0, 0, 0
	for _, c := range r.file.Checks {
		width = max(width, len(c.Name))
	}
	r.console.printf("\n")
	for _, c := range r.file.Checks {
		word, limit := "", ""
		if c.Limit != nil {
			judged++
			word, limit = "pass", cmp.Or(c.Bound, "at most")+" "+number(*c.Limit)
		}
		if !c.Pass {
			failed++
			word = "FAIL"
		} else if r.reproducible {
			continue
		}
		line := fmt.Sprintf("%4s  %-*s  %12s %-8s  %s", word, width, c.Name, number(c.Value), c.Unit, limit)
		r.console.printf("%s\n", strings.TrimRight(line, " "))
	}
	took := fmt.Sprintf(", in %v", time.Since(r.started).Round(100*time.Millisecond))
	if r.reproducible {
		took = ""
	}
	if failed > 0 {
		r.console.printf("\n%d of %d verdicts FAILED%s\n", failed, judged, took)
		return
	}
	r.console.printf("\n%d of %d verdicts passed%s\n", judged, judged, took)
}

// writeJSON writes the report to a file, to stdout for "-", or not at all for
// the empty name.
func (r *report) writeJSON(name string, stdout io.Writer) error {
	if name == "" {
		return nil
	}
	if !r.reproducible {
		r.file.TookS = time.Since(r.started).Seconds()
	}
	r.file.Pass = r.passed()
	text, err := json.MarshalIndent(r.file, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if name == "-" {
		_, err = stdout.Write(text)
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// number writes a figure with the digits that mean something.
func number(v float64) string {
	switch {
	case v == float64(int64(v)):
		return thousands(int64(v))
	case v >= 1000 || v <= -1000:
		return thousands(int64(v + 0.5))
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// thousands groups digits: 1234567 is 1,234,567.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// nanos writes a duration given in nanoseconds with three digits.
func nanos(ns float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}} {
		if v := ns / u.size; v < 999.5 {
			return strconv.FormatFloat(v, 'f', max(0, 2-len(strconv.Itoa(int(v)))), 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(ns/1e9, 'f', 2, 64) + " s"
}
