package frame_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
)

// fakeJob adds checks and returns.
type fakeJob func(*frame.Report) error

func (f fakeJob) Validate() error                              { return nil }
func (f fakeJob) Run(_ context.Context, r *frame.Report) error { return f(r) }

func fake(name string, f func(*frame.Report) error) frame.Command {
	return frame.Command{Name: name, Declare: func(*flag.FlagSet) frame.Job { return fakeJob(f) }}
}

func TestExitStatusTellsTheVerdict(t *testing.T) {
	good := fake("good", func(r *frame.Report) error { r.AtMost("good/x", 1, "s", 1); return nil })
	bad := fake("bad", func(r *frame.Report) error { r.AtMost("bad/x", 2, "s", 1); return nil })
	broken := fake("broken", func(*frame.Report) error { return errors.New("no port is free") })
	all := []frame.Command{good, bad, broken}
	for args, want := range map[string]int{"good": 0, "bad": 1, "broken": 1, "": 1} {
		if code, _, stderr := frametest.Run(all, strings.Fields(args)...); code != want {
			t.Errorf("loadgen %s: exit %d, want %d; stderr %q", args, code, want, stderr)
		}
	}
	code, stdout, _ := frametest.Run([]frame.Command{good, bad})
	if code != 1 || !strings.Contains(stdout, "good/x") || !strings.Contains(stdout, "bad/x") || !strings.Contains(stdout, "1 of 2 verdicts FAILED") {
		t.Errorf("loadgen alone: exit %d, output\n%s", code, stdout)
	}
	if code, stdout, _ := frametest.Run([]frame.Command{good, good}); code != 0 || !strings.Contains(stdout, "2 of 2 verdicts passed") {
		t.Errorf("exit %d, output\n%s", code, stdout)
	}
}

func TestJSONHasTheAgreedShape(t *testing.T) {
	mixed := []frame.Command{fake("mixed", func(r *frame.Report) error {
		r.AtMost("mixed/limited", 2, "ns", 1)
		r.Info("mixed/informal", 3.5, "times")
		r.Facts("mixed", map[string]int{"n": 7})
		return nil
	})}
	code, stdout, stderr := frametest.Run(mixed, "mixed", "-json", "-")
	if code != 1 || !strings.Contains(stderr, "mixed/limited") {
		t.Errorf("exit %d; the table for people is not on stderr: %q", code, stderr)
	}
	var got struct {
		Command string
		Pass    bool
		Machine map[string]any
		Checks  []map[string]any
		Mixed   map[string]int
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s", err, stdout)
	}
	if got.Mixed["n"] != 7 {
		t.Errorf("facts are %v", got.Mixed)
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
	good := []frame.Command{fake("good", func(r *frame.Report) error { r.AtMost("good/x", 1, "s", 1); return nil })}
	name := filepath.Join(t.TempDir(), "out.json")
	if code, stdout, _ := frametest.Run(good, "-json", name); code != 0 || !strings.Contains(stdout, "good/x") {
		t.Errorf("exit %d, stdout %q", code, stdout)
	}
	text, err := os.ReadFile(name)
	if err != nil || !json.Valid(text) {
		t.Errorf("file holds %q, error %v", text, err)
	}
	code, _, stderr := frametest.Run(good, "-json", filepath.Join(name, "nowhere"))
	if code != 1 || !strings.Contains(stderr, "cannot write -json") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}
