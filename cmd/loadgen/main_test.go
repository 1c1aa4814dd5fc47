package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// loadgen runs the command as a shell would.
func loadgen(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestBadUsageIsOneLineAndExit2(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string // in the line
	}{
		{"frobnicate", []string{`"frobnicate"`, "failfast", "drill"}},
		{"-bogus", []string{"-bogus", "loadgen -h"}},
		{"drill extra", []string{`"extra"`, "loadgen drill -h"}},
		{"drill -rate fast", []string{"fast", "-rate"}},
		{"drill -rate 0 -timeout 1ms -fault flood", []string{"-rate is 0, want 1 to 5000", "-timeout is 1ms, want 10ms to 1m0s", `-fault is "flood", want one of 5xx, dead, hang, overload, slow`}},
		{"drill -rate NaN", []string{"-rate is NaN"}},
		{"drill -rate 5000 -timeout 10s", []string{"50000 calls under way, want at most 10000"}},
		{"drill -healthy 0s -outage 11m -after -1s", []string{"-healthy is 0s", "-outage is 11m0s", "-after is -1s"}},
		{"drill -capacity 50", []string{"-capacity needs -fault overload"}},
		{"drill -fault overload -rate 100 -capacity 100", []string{"-capacity is 100, want 1 to below the -rate of 100"}},
		{"drill -outage 100ms -rate 20", []string{"-outage is 100ms, too short", "want at least 2.1s"}},
		{"drill -fault hang -outage 1s", []string{"-outage is 1s, too short"}},
		{"drill -after 1s", []string{"-after is 1s, too short to see the breaker recover"}},
		{"drill -target localhost:80", []string{"-target", "want a URL such as"}},
		{"drill -target http://127.0.0.1/ -capacity 5", []string{"-capacity cannot be set for a -target"}},
		{"sim -seeds 0 -scenario 99 -against nobody", []string{"-seeds is 0, want 1 to 99", `-scenario "99" is unknown`, `-against "nobody" is unknown`, "loadgen sim -list"}},
		{"sim -seeds 7", []string{"-seeds is 7", "-seed"}},
		{"advise -rate -1 -timeout 25h -queue -2 -probes 5000", []string{"-rate is -1, want 0 to 1e9", "-timeout is 25h0m0s", "-queue is -2", "Recovery.Probes is 5000"}},
		{"drill -prom 9100", []string{`"9100" for flag -prom: want :PORT or HOST:PORT`}},
		{"drill -page=:x", []string{"-page: want a port of 0 to 65535"}},
		{"drill -prom :70000", []string{"want a port of 0 to 65535"}},
		{"drill -page -prom 127.0.0.1:8099", []string{"-page and -prom are both 127.0.0.1:8099, want two ports"}},
		{"drill -stay 1m", []string{"-stay needs -page or -prom"}},
		{"drill -prom :0 -stay -1s", []string{"-stay is -1s, want 0s to 24h"}},
		{"failfast -goroutines -1 -duration 1ms", []string{"-goroutines is -1, want 1 to 10000", "-duration is 1ms, want 500ms to 10m"}},
	} {
		code, stdout, stderr := loadgen(strings.Fields(c.args)...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want 2, nothing, one line", c.args, code, stdout, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %q does not say %q", c.args, stderr, want)
			}
		}
	}
}

func TestDefaultsOfEveryFaultAreAccepted(t *testing.T) {
	for f := range faults {
		j := drillCommand.declare(flag.NewFlagSet("", flag.ContinueOnError)).(*drill)
		j.fault = string(f)
		if err := j.validate(); err != nil {
			t.Errorf("-fault %s: %v", f, err)
		}
	}
	if err := all().declare(flag.NewFlagSet("", flag.ContinueOnError)).validate(); err != nil {
		t.Errorf("loadgen alone: %v", err)
	}
}

func TestHelpTeachesAndExits0(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-h", []string{"failfast", "drill", "sim", "advise", "exit status", "-json FILE"}},
		{"sim -h", []string{"-scenario", "-against", "-html FILE", "-seeds N", "oracle", "never"}},
		{"advise -h", []string{"-capacity N", "-rate N", "-timeout", "The question to ask"}},
		{"help", []string{"failfast", "drill"}},
		{"failfast -h", []string{"-goroutines N", "-duration", "-json FILE", "held up"}},
		{"drill -help", []string{"-rate N", "-fault", "-target URL", "-seed", "verdicts", "(default 4s)"}},
	} {
		code, stdout, stderr := loadgen(strings.Fields(c.args)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s does not mention %q", c.args, want)
			}
		}
	}
}

// fakeJob adds checks and returns.
type fakeJob func(*report) error

func (f fakeJob) validate() error                        { return nil }
func (f fakeJob) run(_ context.Context, r *report) error { return f(r) }

// withCommands runs f while these are the only commands.
func withCommands(t *testing.T, cs ...command) {
	t.Helper()
	before := commands
	commands = cs
	t.Cleanup(func() { commands = before })
}

func fake(name string, f func(*report) error) command {
	return command{name: name, declare: func(*flag.FlagSet) job { return fakeJob(f) }}
}

func TestExitStatusTellsTheVerdict(t *testing.T) {
	good := fake("good", func(r *report) error { r.atMost("good/x", 1, "s", 1); return nil })
	bad := fake("bad", func(r *report) error { r.atMost("bad/x", 2, "s", 1); return nil })
	broken := fake("broken", func(*report) error { return errors.New("no port is free") })
	withCommands(t, good, bad, broken)
	for args, want := range map[string]int{"good": 0, "bad": 1, "broken": 1, "": 1} {
		if code, _, stderr := loadgen(strings.Fields(args)...); code != want {
			t.Errorf("loadgen %s: exit %d, want %d; stderr %q", args, code, want, stderr)
		}
	}
	withCommands(t, good, bad)
	code, stdout, _ := loadgen()
	if code != 1 || !strings.Contains(stdout, "good/x") || !strings.Contains(stdout, "bad/x") || !strings.Contains(stdout, "1 of 2 verdicts FAILED") {
		t.Errorf("loadgen alone: exit %d, output\n%s", code, stdout)
	}
	withCommands(t, good, good)
	if code, stdout, _ := loadgen(); code != 0 || !strings.Contains(stdout, "2 of 2 verdicts passed") {
		t.Errorf("exit %d, output\n%s", code, stdout)
	}
}

func TestInterruptedRunGivesNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"failfast", "drill"} {
		var out, errs bytes.Buffer
		if code := run(ctx, []string{name}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%s: exit %d, stderr %q", name, code, errs.String())
		}
	}
}

func TestJSONHasTheAgreedShape(t *testing.T) {
	withCommands(t, fake("mixed", func(r *report) error {
		r.atMost("mixed/limited", 2, "ns", 1)
		r.info("mixed/informal", 3.5, "times")
		return nil
	}))
	code, stdout, stderr := loadgen("mixed", "-json", "-")
	if code != 1 || !strings.Contains(stderr, "mixed/limited") {
		t.Errorf("exit %d; the table for people is not on stderr: %q", code, stderr)
	}
	var got struct {
		Command string
		Pass    bool
		Machine map[string]any
		Checks  []map[string]any
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s", err, stdout)
	}
	if got.Command != "loadgen mixed -json -" || got.Pass {
		t.Errorf("command %q, pass %v", got.Command, got.Pass)
	}
	for _, key := range []string{"go", "os", "arch", "cpu", "cores", "gomaxprocs", "timer"} {
		if got.Machine[key] == nil {
			t.Errorf("machine lacks %q: %v", key, got.Machine)
		}
	}
	limited := map[string]any{"name": "mixed/limited", "value": 2.0, "unit": "ns", "limit": 1.0, "pass": false}
	informal := map[string]any{"name": "mixed/informal", "value": 3.5, "unit": "times", "pass": true}
	for i, want := range []map[string]any{limited, informal} {
		if len(got.Checks) != 2 || len(got.Checks[i]) != len(want) {
			t.Fatalf("checks %v", got.Checks)
		}
		for key, value := range want {
			if got.Checks[i][key] != value {
				t.Errorf("check %d: %s is %v, want %v", i, key, got.Checks[i][key], value)
			}
		}
	}
}

func TestJSONGoesToAFile(t *testing.T) {
	withCommands(t, fake("good", func(r *report) error { r.atMost("good/x", 1, "s", 1); return nil }))
	name := filepath.Join(t.TempDir(), "out.json")
	if code, stdout, _ := loadgen("-json", name); code != 0 || !strings.Contains(stdout, "good/x") {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
	text, err := os.ReadFile(name)
	if err != nil || !json.Valid(text) {
		t.Errorf("file holds %q, error %v", text, err)
	}
	code, _, stderr := loadgen("-json", filepath.Join(name, "nowhere"))
	if code != 1 || !strings.Contains(stderr, "cannot write -json") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

// checkNames are the names of a report's checks, in order.
func checkNames(r *report) []string {
	var names []string
	for _, c := range r.file.Checks {
		names = append(names, c.Name)
	}
	return names
}

func find(t *testing.T, r *report, name string) check {
	t.Helper()
	i := slices.IndexFunc(r.file.Checks, func(c check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %s among %v", name, checkNames(r))
	}
	return r.file.Checks[i]
}

func quietReport() *report { return newReport(newConsole(new(bytes.Buffer), new(bytes.Buffer)), nil) }

func TestREADMEDocumentsEveryCheck(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	r := quietReport()
	failfastFacts{Rows: []failfastRow{{Name: "nothing"}, {Name: "atomic"}, {Name: "mutex"}, {Name: "rwmutex"}}}.judge(r)
	x := outageStory()
	x.judge(r, rulesOf(x.config), x.asFacts())
	for _, name := range checkNames(r) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("README.md does not document %s", name)
		}
	}
}
