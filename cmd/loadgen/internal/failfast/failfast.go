// Package failfast measures how long an open breaker takes to refuse, beside
// the same breaker behind a mutex.
package failfast

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/latency"
)

// Command is what loadgen lists.
var Command = frame.Command{
	Name:    "failfast",
	Summary: "how long an open breaker takes to refuse, beside the same breaker behind a mutex",
	About: `
loadgen failfast [flags]

Many goroutines call Acquire on an open breaker as fast as they can. Every
call is timed by itself; calls per second come from rounds of their own that
time nothing. Three breakers with the same semantics take turns: atomic, the
lock-free one, and the same behind a sync.Mutex and behind a sync.RWMutex.

"nothing" is the same loop without a breaker. Its median is what the timer
costs; it is taken off the other rows. Calls that took 10 µs or longer were
held up: the processor was taken away in their midst. They are counted beside
the table and left out of it, except for the two that lock, whose callers wait
for each other. The loop is closed: the next call starts when the last one
has ended, so it shows what a call costs, not how a queue builds up.

The verdict: the atomic breaker's p99 and p99.9 are under a microsecond, it
allocates nothing, and it has counted every refusal.`,
	Declare: func(fs *flag.FlagSet) frame.Job {
		j := new(job)
		fs.IntVar(&j.goroutines, "goroutines", 0, "`N` goroutines, 1 to 10000; 0 is 16 for each core in use")
		fs.DurationVar(&j.duration, "duration", 4*time.Second, "measure for so long in all, 500ms to 10m")
		return j
	},
}

type job struct {
	goroutines int
	duration   time.Duration
}

// facts are the figures behind the checks.
type facts struct {
	Goroutines     int        `json:"goroutines"`
	TimerNS        float64    `json:"timer_ns"` // taken off every row but "nothing"
	HeldUpFromNS   int64      `json:"held_up_from_ns"`
	Rows           []rowFacts `json:"rows"`
	AllocsPerCall  float64    `json:"allocs_per_call"`
	UncountedCalls float64    `json:"uncounted_calls"`
}

type rowFacts struct {
	Name      string  `json:"name"`
	Calls     int64   `json:"calls"` // that were timed
	P50       float64 `json:"p50_ns"`
	P90       float64 `json:"p90_ns"`
	P99       float64 `json:"p99_ns"`
	P999      float64 `json:"p999_ns"`
	Max       float64 `json:"max_ns"`
	HeldUp    int64   `json:"held_up"`
	Longest   float64 `json:"longest_ns"` // held up or not
	PerSecond float64 `json:"calls_per_second"`
	CoreTime  float64 `json:"core_time_ns"` // of a call: cores / calls per second
}

func (j *job) Validate() error {
	var faults []error
	if j.goroutines < 0 || j.goroutines > 10000 {
		faults = append(faults, fmt.Errorf("-goroutines is %d, want 1 to 10000, or 0 for 16 per core", j.goroutines))
	}
	if j.duration < 500*time.Millisecond || j.duration > 10*time.Minute {
		faults = append(faults, fmt.Errorf("-duration is %v, want 500ms to 10m", j.duration))
	}
	return errors.Join(faults...)
}

func (j *job) Run(ctx context.Context, r *frame.Report) error {
	variants, err := newVariants()
	if err != nil {
		return err
	}
	m := &measurement{
		hammer:   hammer{goroutines: j.goroutines, watch: latency.NewStopwatch()},
		variants: append([]variant{nothing()}, variants...),
	}
	if m.hammer.goroutines == 0 {
		m.hammer.goroutines = 16 * runtime.GOMAXPROCS(0)
	}
	r.Console.Printf("failfast: %d goroutines on %d cores call Acquire on an open breaker\n\n", m.hammer.goroutines, runtime.GOMAXPROCS(0))
	if err := m.measure(ctx, j.duration, r.Console); err != nil {
		return err
	}
	facts := m.facts()
	r.Facts("failfast", facts)
	facts.print(r.Console, m.hammer.watch.Name)
	facts.judge(r)
	return nil
}

// measurement takes turns among the variants, so that a disturbance of the
// machine falls on all of them.
type measurement struct {
	hammer   hammer
	variants []variant
	spans    []*latency.Record // by variant
	rates    [][]float64       // by variant and round
	made     []int64           // calls, timed or not, by variant
}

const rounds = 6

func (m *measurement) measure(ctx context.Context, d time.Duration, c *frame.Console) error {
	n := len(m.variants)
	m.spans, m.rates, m.made = make([]*latency.Record, n), make([][]float64, n), make([]int64, n)
	cutoff := int64(float64(heldUp) / m.hammer.watch.NSPerTick())
	slice := d / time.Duration(rounds*n*2)
	for round := range rounds {
		for i, v := range m.variants {
			c.Status("failfast: %s, round %d of %d", v.name, round+1, rounds)
			limit := cutoff
			if v.locks {
				limit = 0
			}
			spans, err := m.hammer.timed(ctx, v, slice, limit)
			if err != nil {
				return err
			}
			if m.spans[i] == nil {
				m.spans[i] = latency.NewRecord(limit)
			}
			m.spans[i].Merge(spans)
			calls, rate, err := m.hammer.throughput(ctx, v, slice)
			if err != nil {
				return err
			}
			m.rates[i] = append(m.rates[i], rate)
			m.made[i] += spans.Calls() + calls
		}
	}
	c.Clear()
	return nil
}

func (m *measurement) facts() facts {
	ns := m.hammer.watch.NSPerTick()
	timer := m.spans[0].Spans.ValueAtQuantile(50)
	facts := facts{Goroutines: m.hammer.goroutines, TimerNS: float64(timer) * ns, HeldUpFromNS: int64(heldUp)}
	for i, v := range m.variants {
		off := timer
		if i == 0 {
			off = 0
		}
		spans := m.spans[i].Spans
		at := func(ticks int64) float64 { return float64(max(ticks-off, 0)) * ns }
		slices.Sort(m.rates[i])
		rate := m.rates[i][len(m.rates[i])/2]
		facts.Rows = append(facts.Rows, rowFacts{
			Name: v.name, Calls: m.spans[i].Calls(),
			P50: at(spans.ValueAtQuantile(50)), P90: at(spans.ValueAtQuantile(90)),
			P99: at(spans.ValueAtQuantile(99)), P999: at(spans.ValueAtQuantile(99.9)),
			Max: at(spans.Max()), HeldUp: m.spans[i].Held, Longest: at(m.spans[i].Longest),
			PerSecond: rate, CoreTime: float64(min(m.hammer.goroutines, runtime.GOMAXPROCS(0))) / max(rate, 1) * 1e9,
		})
	}
	atomic := m.variants[1]
	facts.UncountedCalls = math.Abs(float64(m.made[1]) - float64(atomic.refused()))
	facts.AllocsPerCall = testing.AllocsPerRun(1000, func() { atomic.refuse() })
	return facts
}

func (f facts) print(c *frame.Console, timer string) {
	const line = "%-10s%10s%10s%10s%10s%10s%12s%15s%12s\n"
	c.Printf(line, "", "p50", "p90", "p99", "p99.9", "max", "held up", "calls/s", "core time")
	for i, row := range f.Rows {
		at := func(ns float64) string {
			if i > 0 && ns < f.TimerNS {
				return "<" + frame.Nanos(f.TimerNS)
			}
			return frame.Nanos(ns)
		}
		c.Printf(line, row.Name, at(row.P50), at(row.P90), at(row.P99), at(row.P999), at(row.Max), frame.Thousands(row.HeldUp),
			frame.Thousands(int64(row.PerSecond)), frame.Nanos(row.CoreTime))
	}
	bare, atomic := f.Rows[0], f.Rows[1]
	c.Printf(`
timer      %s; the p50 of "nothing" is its own cost and taken off the other rows
held up    %v or longer: %s of %s calls of atomic, %s of %s of nothing; preempted, left out of both rows
core time  of a call, from the calls per second of all cores, without the timer; more on a busy machine
The loop is closed: a call starts when the one before it has ended.
`, timer, heldUp, frame.Thousands(atomic.HeldUp), frame.Thousands(atomic.Calls), frame.Thousands(bare.HeldUp), frame.Thousands(bare.Calls))
}

// tooManyHeldUp is the share of excluded calls, in millionths, from which on a
// p99.9 of the others says nothing.
const tooManyHeldUp = 1000

func (f facts) judge(r *frame.Report) {
	rows := map[string]rowFacts{}
	for _, row := range f.Rows {
		rows[row.Name] = row
	}
	atomic, mutex, rwmutex := rows["atomic"], rows["mutex"], rows["rwmutex"]
	r.AtMost("failfast/atomic/p99", atomic.P99, "ns", 1000)
	r.AtMost("failfast/atomic/p999", atomic.P999, "ns", 1000)
	r.AtMost("failfast/atomic/allocs", f.AllocsPerCall, "allocs", 0)
	r.AtMost("failfast/atomic/uncounted", f.UncountedCalls, "calls", 0)
	r.AtMost("failfast/atomic/held_up", 1e6*float64(atomic.HeldUp)/float64(max(atomic.Calls, 1)), "ppm", tooManyHeldUp)
	r.Info("failfast/atomic/throughput", atomic.PerSecond, "calls/s")
	r.Info("failfast/mutex/p99", mutex.P99, "ns")
	r.Info("failfast/rwmutex/p99", rwmutex.P99, "ns")
	r.Info("failfast/speedup_vs_mutex", atomic.PerSecond/max(mutex.PerSecond, 1), "times")
	r.Info("failfast/speedup_vs_rwmutex", atomic.PerSecond/max(rwmutex.PerSecond, 1), "times")
}
