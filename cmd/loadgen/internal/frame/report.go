package frame

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/latency"
	"github.com/klauspost/cpuid/v2"
)

// Check is one figure that was measured, and the verdict on it. Its name is
// stable. Limit is the most that Value may be, unless Bound says otherwise;
// without one the check is there for information and passes.
type Check struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit"`
	Limit *float64 `json:"limit,omitempty"`
	Bound string   `json:"bound,omitempty"` // "at least" or "exactly"; empty is at most
	Pass  bool     `json:"pass"`
}

// Report collects what the jobs of one run found. It is not safe for
// concurrent use; its Console is.
type Report struct {
	Console *Console
	Command string   // as it was called
	Started string   // RFC 3339; empty in a reproducible report
	Machine *Machine // nil in a reproducible report
	Checks  []Check

	// Afterwards runs when the verdict has been told, if a job has set it.
	Afterwards func(context.Context)

	began time.Time
	facts []fact

	// reproducible reports are the same whenever and wherever they are made:
	// nothing in them tells of time or machine. Of their checks, which are many,
	// only those that failed are printed.
	reproducible bool
}

// fact is what a command found out beside its checks.
type fact struct {
	name  string
	value any
}

// Machine is where a report was made.
type Machine struct {
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	GoMaxProcs int    `json:"gomaxprocs"`
	Timer      string `json:"timer"`
}

// NewReport begins a report of the command that these arguments are.
func NewReport(c *Console, args []string) *Report {
	now := time.Now()
	return &Report{
		Console: c, began: now,
		Command: strings.Join(args, " "),
		Started: now.UTC().Format(time.RFC3339),
		Machine: &Machine{
			Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuid.CPU.BrandName,
			Cores: runtime.NumCPU(), GoMaxProcs: runtime.GOMAXPROCS(0), Timer: latency.NewStopwatch().Name,
		},
		Checks: []Check{},
	}
}

// AtMost adds a check that passes if value is not above limit.
func (r *Report) AtMost(name string, value float64, unit string, limit float64) {
	r.Add(Check{Name: name, Value: value, Unit: unit, Limit: &limit, Pass: value <= limit})
}

// Fail adds a check that fails whatever its value: what it measures did not
// happen.
func (r *Report) Fail(name string, value float64, unit string, limit float64) {
	r.Add(Check{Name: name, Value: value, Unit: unit, Limit: &limit})
}

// Info adds a check that only informs.
func (r *Report) Info(name string, value float64, unit string) {
	r.Add(Check{Name: name, Value: value, Unit: unit, Pass: true})
}

// Add adds a check that was judged elsewhere.
func (r *Report) Add(c Check) { r.Checks = append(r.Checks, c) }

// Facts adds the figures behind a command's checks: any value that
// encoding/json can write. In the JSON form they stand under the name, after
// the checks. Each command has one name.
func (r *Report) Facts(name string, value any) { r.facts = append(r.facts, fact{name, value}) }

// Fact returns what Facts was given under the name, or nil.
func (r *Report) Fact(name string) any {
	for _, f := range r.facts {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// Reproduce makes the report one that is the same whenever and wherever it is made.
func (r *Report) Reproduce() {
	r.reproducible = true
	r.Started, r.Machine = "", nil
}

// Passed says whether no check has failed.
func (r *Report) Passed() bool {
	for _, c := range r.Checks {
		if !c.Pass {
			return false
		}
	}
	return true
}

// printVerdict prints the checks as a table and the sum of them in a line.
func (r *Report) printVerdict() {
	if len(r.Checks) == 0 {
		return
	}
	failed, judged, width := 0, 0, 0
	for _, c := range r.Checks {
		width = max(width, len(c.Name))
	}
	r.Console.Printf("\n")
	for _, c := range r.Checks {
		word, limit := "", ""
		if c.Limit != nil {
			judged++
			word, limit = "pass", cmp.Or(c.Bound, "at most")+" "+Number(*c.Limit)
		}
		if !c.Pass {
			failed++
			word = "FAIL"
		} else if r.reproducible {
			continue
		}
		line := fmt.Sprintf("%4s  %-*s  %12s %-8s  %s", word, width, c.Name, Number(c.Value), c.Unit, limit)
		r.Console.Printf("%s\n", strings.TrimRight(line, " "))
	}
	took := fmt.Sprintf(", in %v", time.Since(r.began).Round(100*time.Millisecond))
	if r.reproducible {
		took = ""
	}
	if failed > 0 {
		r.Console.Printf("\n%d of %d verdicts FAILED%s\n", failed, judged, took)
		return
	}
	r.Console.Printf("\n%d of %d verdicts passed%s\n", judged, judged, took)
}

// writeJSON writes the report to a file, to stdout for "-", or not at all for
// the empty name.
func (r *Report) writeJSON(name string, stdout io.Writer) error {
	if name == "" {
		return nil
	}
	text, err := r.json()
	if err != nil {
		return err
	}
	if name == "-" {
		_, err = stdout.Write(text)
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// json is the report with the facts behind what all reports have.
func (r *Report) json() ([]byte, error) {
	took := time.Since(r.began).Seconds()
	if r.reproducible {
		took = 0
	}
	text, err := json.Marshal(struct {
		Command string   `json:"command"`
		Started string   `json:"started,omitempty"`
		TookS   float64  `json:"took_s,omitempty"`
		Pass    bool     `json:"pass"`
		Machine *Machine `json:"machine,omitempty"`
		Checks  []Check  `json:"checks"`
	}{r.Command, r.Started, took, r.Passed(), r.Machine, r.Checks})
	if err != nil {
		return nil, err
	}
	for _, f := range r.facts {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("facts of %s: %w", f.name, err)
		}
		text = fmt.Appendf(bytes.TrimSuffix(text, []byte("}")), ",%q:%s}", f.name, value)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
