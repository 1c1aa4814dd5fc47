package migrating

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lastKnown is what the examples return instead of the dependency's answer.
const lastKnown = 42

var errDown = errors.New("the stock service is down")

// stock is the dependency of the examples: it is down.
func stock(context.Context, string) (int, error) { return 0, errDown }

// drive makes calls until one is answered with lastKnown, and tells so.
func drive(call func(ctx context.Context, sku string) (int, error)) {
	failed := 0
	for range 1000 {
		if n, err := call(context.Background(), "4711"); err == nil {
			fmt.Println("failed at first, then answered with", n)
			return
		}
		failed++
	}
	fmt.Println("failed", failed, "times and never refused")
}

// The code that the guide shows is the code of the examples, line by line.
func TestGuideShowsTheExamples(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, file := range append(files, "../../../contrib/gobreaker/example_test.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources.WriteString(unindented(string(text)))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) < 10 {
		t.Errorf("only %d blocks of Go found in the guide", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(sources.String(), unindented(block[1])) {
			t.Errorf("no example has this code of the guide:\n%s", block[1])
		}
	}
}

var space = regexp.MustCompile(`[ \t]+`)

// unindented takes the indentation and the alignment out of code.
func unindented(code string) string {
	var lines strings.Builder
	for line := range strings.Lines(code) {
		lines.WriteString(strings.TrimSpace(space.ReplaceAllString(line, " ")) + "\n")
	}
	return lines.String()
}
