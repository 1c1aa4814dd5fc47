// Package frametest helps the tests of the commands.
package frametest

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
)

// Run runs one of the commands as a shell would.
func Run(commands []frame.Command, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = frame.Run(context.Background(), commands, args, &out, &errs)
	return code, out.String(), errs.String()
}

// Quiet returns a report whose console nobody reads.
func Quiet() *frame.Report {
	return frame.NewReport(frame.NewConsole(new(bytes.Buffer), new(bytes.Buffer)), nil)
}

// Names are the names of a report's checks, in order.
func Names(r *frame.Report) []string {
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
	}
	return names
}

// Find returns a check by its name.
func Find(t *testing.T, r *frame.Report, name string) frame.Check {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c frame.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %s among %v", name, Names(r))
	}
	return r.Checks[i]
}

// Documented fails the test for every check of the report that the README of
// loadgen does not name.
func Documented(t *testing.T, r *frame.Report) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Checks) == 0 {
		t.Error("there are no checks")
	}
	for _, name := range Names(r) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("README.md does not document %s", name)
		}
	}
}

// Lines is a console's output that can be read while it is written.
type Lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// Await waits until the output matches and returns the first group.
func (l *Lines) Await(t *testing.T, pattern string) string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if m := expression.FindStringSubmatch(l.String()); m != nil {
			return m[1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s in\n%s", pattern, l)
		}
	}
}
