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

var (
	lastSchedules = flag.Uint64("last", 50_000, "schedules of recorders over the last calls that are drawn from seeds")
	draws         = flag.Uint64("draws", 50_000, "schedules of recorders at a bucket's turn that are drawn from seeds")
	from          = flag.Uint64("from", 0, "the first of these seeds")
)

// run runs the tests of a pattern in an instrumented build with the edits made.
func run(t *testing.T, tests string, edits ...overlay.Edit) overlay.Result {
	t.Helper()
	b, err := overlay.New(edits...)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Instrument(); err != nil {
		t.Fatal(err)
	}
	r, err := b.Test(context.Background(), "verify", nil, "-v", "-failfast", "-count=1", "-timeout", "1h", "./interleave", "-run", tests,
		"-last", strconv.FormatUint(*lastSchedules, 10), "-draws", strconv.FormatUint(*draws, 10), "-from", strconv.FormatUint(*from, 10))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestInterleavings explores the real code.
func TestInterleavings(t *testing.T) { explore(t, "TestEverySchedule|TestLastCallsInEverySchedule") }

// TestLastCallsAtRest draws schedules from seeds.
func TestLastCallsAtRest(t *testing.T) { explore(t, "TestLastCallsAtRest") }

// TestDrawnSchedules draws programs of three and four recorders beside a clock,
// and a schedule of each, from seeds.
func TestDrawnSchedules(t *testing.T) { explore(t, "TestDrawnSchedules") }

func explore(t *testing.T, tests string) {
	t.Helper()
	r := run(t, tests)
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
	for name, tests := range map[string]string{
		"the loser of the half-open race is admitted":                      "TestEverySchedule/cooldown_against_two_callers",
		"two settlings of a ticket may both win":                           "TestEverySchedule/settle_against_settle",
		"the word is read before the cell":                                 "TestEverySchedule/reset_against_an_old",
		"a count is added whatever the cell shows":                         "TestEverySchedule/reset_against_an_old",
		"a note that comes while one tells is forgotten":                   "TestEverySchedule/(trip|reset|force)_against",
		"a loser's cooldown undoes a server's Retry-After":                 "TestEverySchedule/Retry-After",
		"a failure is judged by the last calls of later":                   "TestLastCallsAtRest",
		"what leaves ForcedClosed while it is counted is judged by nobody": "TestEverySchedule/leaving_ForcedClosed",
		"what ForcedClosed let pass is judged when that is over":           "TestEverySchedule/leaving_ForcedClosed",
		"an outcome is appended without comparing":                         "TestLastCallsAtRest",
		"after a lost race the cell is not looked at anew":                 "TestDrawnSchedules",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := mutation.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, tests, m.Edits...)
			if r.Passed || !r.Built {
				t.Fatalf("not caught:\n%s", r.Output)
			}
			for line := range strings.Lines(r.Output) {
				if strings.Contains(line, "schedule [") || strings.Contains(line, ": seed ") {
					t.Log("caught:", strings.TrimSpace(line[max(0, strings.LastIndex(line, "]: ")+2):]))
					return
				}
			}
			t.Fatalf("failed in another way:\n%s", r.Output)
		})
	}
}
