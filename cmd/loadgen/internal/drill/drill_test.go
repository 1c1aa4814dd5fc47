package drill

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/latency"
)

// quick is a breaker that recovers in a second, and a drill to match.
func quick(f fault) *job {
	return &job{
		fault: string(f),
		plan: plan{
			Rate: 300, Healthy: 300 * time.Millisecond, Outage: 600 * time.Millisecond, After: 1600 * time.Millisecond,
			Timeout: time.Second, Seed: 1, // long: a busy machine must not look like a second outage
		},
		config: atomicbreaker.Config{
			ConsecutiveFailures: 10,
			Cooldown:            atomicbreaker.Cooldown{Min: 100 * time.Millisecond, Max: 200 * time.Millisecond},
			Recovery:            atomicbreaker.Recovery{Quiet: 100 * time.Millisecond},
		},
	}
}

// TestDrillForReal tries again when the machine was too busy to keep time.
func TestDrillForReal(t *testing.T) {
	if testing.Short() {
		t.Skip("takes three seconds")
	}
	for _, f := range []fault{dead, errors5xx} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			for range 3 {
				r, out := drillOnce(t, quick(f))
				tellsTheStory(t, f, r, out)
				if r.Passed() {
					return
				}
				if late := frametest.Find(t, r, "drill/started_late_ms").Value; late < 50 {
					t.Fatalf("a verdict failed: %+v\n%s", r.Checks, out)
				}
			}
			t.Skip("the machine is too busy to tell")
		})
	}
}

func drillOnce(t *testing.T, j *job) (*frame.Report, string) {
	t.Helper()
	if err := j.Validate(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := frame.NewReport(frame.NewConsole(&out, &out), nil)
	if err := j.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r, out.String()
}

// tellsTheStory looks for what must be told whatever the verdict.
func tellsTheStory(t *testing.T, f fault, r *frame.Report, story string) {
	t.Helper()
	facts := r.Fact("drill").(facts)
	if facts.Total.Sent < 500 || facts.Total.Refused == 0 || facts.Total.inFlight() != 0 {
		t.Errorf("totals %+v", facts.Total)
	}
	var sum counts
	for _, s := range facts.Seconds {
		sum = counts{sum.Sent + s.Sent, sum.OK + s.OK, sum.Failed + s.Failed, sum.Refused + s.Refused}
	}
	if sum != facts.Total || len(facts.Seconds) < 3 {
		t.Errorf("%d seconds add up to %+v, want 3 and %+v", len(facts.Seconds), sum, facts.Total)
	}
	for _, want := range []string{faults[f], "the breaker opens", "the server is mended", "half-open", "the breaker closes"} {
		at := strings.Index(story, want)
		if at < 0 {
			t.Fatalf("the story lacks %q, or tells it too early:\n%s", want, story)
		}
		story = story[at:]
	}
}

// TestDrillNoticesABreakerThatStaysOpen: verdicts must be able to fail.
func TestDrillNoticesABreakerThatStaysOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	j := quick(errors5xx)
	j.Validate()
	j.plan.After = 300 * time.Millisecond
	j.config.Cooldown = atomicbreaker.Cooldown{Min: time.Hour}
	r := frametest.Quiet()
	if err := j.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for name, pass := range map[string]bool{
		"drill/opened": true, "drill/conservation": true, "drill/recovered_s": false, "drill/refused_at_end": false,
	} {
		if c := frametest.Find(t, r, name); c.Pass != pass {
			t.Errorf("%+v, want pass %v", c, pass)
		}
	}
}

func TestDrillOfAnothersServerBreaksNothing(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	j := &job{plan: plan{
		Rate: 200, Healthy: 100 * time.Millisecond, Outage: 100 * time.Millisecond, After: 100 * time.Millisecond,
		Timeout: time.Second, Seed: 1, Target: server.URL,
	}}
	if err := j.Validate(); err != nil {
		t.Fatal(err)
	}
	r := frametest.Quiet()
	if err := j.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := []string{"drill/openings", "drill/refused_at_end", "drill/conservation", "drill/started_late_ms"}
	if got := frametest.Names(r); !reflect.DeepEqual(got, want) || !r.Passed() {
		t.Errorf("checks %v, want %v", got, want)
	}
	facts := r.Fact("drill").(facts)
	if facts.Total.OK != facts.Total.Sent || int64(facts.Total.Sent) != asked.Load()-1 { // one to see whether it is there
		t.Errorf("totals %+v, server was asked %d times", facts.Total, asked.Load())
	}
}

func TestDrillWithoutAServerSaysSo(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	code, _, stderr := frametest.Run([]frame.Command{Command}, "drill", "-target", server.URL)
	if code != 1 || !strings.Contains(stderr, "no server answers at "+server.URL) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

// answerAt is a transport that answers at once.
type answerAt struct{ calls atomic.Int64 }

func (a *answerAt) RoundTrip(req *http.Request) (*http.Response, error) {
	a.calls.Add(1)
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	load := &traffic{transport: new(answerAt), url: "http://127.0.0.1/", timeout: time.Minute, watch: latency.NewStopwatch(), tally: newTally()}
	load.tally.sent(0)
	load.call(t.Context(), time.Now().Add(-time.Second), 250*time.Millisecond) // 750 ms behind its time
	if got := time.Duration(load.tally.latency.Longest); got < 750*time.Millisecond || got > 2*time.Second {
		t.Errorf("latency %v, want 750 ms and a little", got)
	}
}

func TestArrivalsFollowTheSeedAndTheRate(t *testing.T) {
	sent := func(seed uint64) int {
		load := &traffic{transport: new(answerAt), url: "http://127.0.0.1/", rate: 2000, timeout: time.Second, seed: seed, watch: latency.NewStopwatch(), tally: newTally()}
		load.run(t.Context(), time.Now(), 100*time.Millisecond)
		if c := load.tally.counts(); c.OK != c.Sent {
			t.Errorf("tally %+v", c)
		}
		return load.tally.counts().Sent
	}
	one, again, two := sent(1), sent(1), sent(2)
	if one != again || one == two {
		t.Errorf("seeds 1, 1, 2 sent %d, %d, %d calls", one, again, two)
	}
	if one < 120 || one > 280 {
		t.Errorf("%d calls in 100 ms at 2000 a second", one)
	}
}

func TestDefaultsOfEveryFaultAreAccepted(t *testing.T) {
	for f := range faults {
		j := Command.Declare(flag.NewFlagSet("", flag.ContinueOnError)).(*job)
		j.fault = string(f)
		if err := j.Validate(); err != nil {
			t.Errorf("-fault %s: %v", f, err)
		}
	}
}
