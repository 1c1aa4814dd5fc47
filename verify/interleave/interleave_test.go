//go:build !interleave

package interleave

import (
	"context"
	"flag"
	"strconv"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/verify/internal/mutation"
	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

// run explores scenarios, by a pattern, in an instrumented build with the edits
// made.
func run(t *testing.T, scenarios string, edits ...overlay.Edit) overlay.Result {
	t.Helper()
	return build(t, edits, "-run", "TestEverySchedule/"+scenarios)
}

// build runs tests of the instrumented build with the edits made.
func build(t *testing.T, edits []overlay.Edit, args ...string) overlay.Result {
	t.Helper()
	b, err := overlay.New(edits...)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Instrument(); err != nil {
		t.Fatal(err)
	}
	r, err := b.Test(context.Background(), "verify", nil, append([]string{"-v", "-failfast", "-count=1", "./interleave"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestInterleavings explores the real code.
func TestInterleavings(t *testing.T) {
	r := run(t, ".*")
	for line := range strings.Lines(r.Output) {
		if _, explored, ok := strings.Cut(line, "explored "); ok {
			t.Log("explored", strings.TrimSpace(explored))
		} else if !r.Passed {
			t.Log(strings.TrimSpace(line))
		}
	}
	if !r.Passed {
		t.Fatal("the instrumented build failed")
	}
}

var (
	draws = flag.Int("draws", 20_000, "schedules to draw")
	from  = flag.Int("from", 0, "the first seed")
)

// TestDrawnSchedules draws programs of three and four recorders beside a clock,
// and a schedule of each, from seeds.
func TestDrawnSchedules(t *testing.T) {
	r := build(t, nil, "-run", "TestDrawnSchedules", "-timeout", "1h", "-draws", strconv.Itoa(*draws), "-from", strconv.Itoa(*from))
	for line := range strings.Lines(r.Output) {
		if _, explored, ok := strings.Cut(line, "explored "); ok {
			t.Log("explored", strings.TrimSpace(explored))
		} else if !r.Passed {
			t.Log(strings.TrimSpace(line))
		}
	}
	if !r.Passed {
		t.Fatal("the instrumented build failed")
	}
}

// TestBrokenBreakersAreCaught sees that the exploration finds a schedule in
// which a broken breaker breaks its word.
func TestBrokenBreakersAreCaught(t *testing.T) {
	for name, scenarios := range map[string]string{
		"the loser of the half-open race is admitted":      "cooldown_against_two_callers",
		"two settlings of a ticket may both win":           "settle_against_settle",
		"the word is read before the cell":                 "reset_against_an_old",
		"a count is added whatever the cell shows":         "reset_against_an_old",
		"a note that comes while one tells is forgotten":   "trip_against_the_clock",
		"a loser's cooldown undoes a server's Retry-After": "Retry-After",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := mutation.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, scenarios, m.Edits...)
			if r.Passed || !r.Built {
				t.Fatalf("not caught:\n%s", r.Output)
			}
			for line := range strings.Lines(r.Output) {
				if strings.Contains(line, "schedule [") {
					t.Log("caught:", strings.TrimSpace(line[max(0, strings.LastIndex(line, "]: ")+2):]))
					return
				}
			}
			t.Fatalf("failed in another way:\n%s", r.Output)
		})
	}
}
