package drill

import (
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/latency"
)

// rules are the breaker's rules as far as the verdicts need them, with the
// documented defaults filled in.
type rules struct {
	streak      float64 // failures in a row that open
	cooldownMin time.Duration
	cooldownMax time.Duration
	jitter      float64
	quiet       time.Duration
	stripes     int
}

func rulesOf(c atomicbreaker.Config) rules {
	r := rules{streak: 20, cooldownMin: 500 * time.Millisecond, jitter: 0.25, quiet: time.Second}
	r.stripes = min(256, 1<<bits.Len(uint(4*runtime.GOMAXPROCS(0)-1)))
	if c.Stripes > 0 {
		r.stripes = c.Stripes
	}
	if c.ConsecutiveFailures > 0 {
		r.streak = float64(c.ConsecutiveFailures)
	}
	if c.Cooldown.Min > 0 {
		r.cooldownMin = c.Cooldown.Min
	}
	r.cooldownMax = max(5*time.Second, r.cooldownMin)
	if c.Cooldown.Max > 0 {
		r.cooldownMax = c.Cooldown.Max
	}
	if c.Recovery.Quiet > 0 {
		r.quiet = c.Recovery.Quiet
	}
	return r
}

// cooldown is the longest one that can be running when an outage of that age
// ends: an eighth of its age within bounds, and the jitter.
func (r rules) cooldown(age time.Duration) time.Duration {
	cool := min(max(age/8, r.cooldownMin), r.cooldownMax)
	return time.Duration(float64(cool) * (1 + r.jitter))
}

// recovery is the longest time from the mend until the breaker has closed.
func (r rules) recovery(p *plan) time.Duration {
	// A cooldown may just have begun. After it the window grows, which takes
	// a few round trips, and quiet ticks must pass: one in whose time somebody
	// was refused, one more should a burst fill the window while it is still
	// small, and the one that closes.
	const growth = 500 * time.Millisecond
	d := r.cooldown(p.Outage) + growth + 3*r.quiet
	switch p.Fault {
	case hang, slow:
		// A probe may have been sent just before the mend: it fails a timeout
		// later and costs another cooldown.
		d += p.Timeout + r.cooldown(p.Outage+p.Timeout)
	case overload:
		d += p.Timeout + r.cooldown(p.Outage+p.Timeout)
	}
	return d
}

// opening is the most failures that it takes to open: the streak, which is
// late by at most two for every stripe but one.
func (r rules) opening(p *plan) float64 {
	n := r.streak + float64(2*(r.stripes-1))
	if p.Fault == overload {
		// While the wait in the queue passes the timeout, calls fail and
		// succeed by turns, and each success begins the streak anew.
		n += 0.1 * p.Rate * p.Timeout.Seconds()
	}
	return n
}

// failing is the most calls that may fail from the fault on.
func (r rules) failing(p *plan) float64 {
	// Those that open, and those that were under way by then.
	n := r.opening(p) + withLuck(p.Rate*(p.inFlightFor().Seconds()))
	// One probe for each cooldown, the shortest possible ones.
	episodes := math.Ceil(p.Outage.Seconds()/(r.cooldownMin.Seconds()*(1-r.jitter))) + 1
	switch p.Fault {
	case hang, slow:
		// After a second of silence a second probe joins the first.
		episodes *= 2
	case overload:
		// Five net failures cut the window, and it is cut for as long as the
		// calls before the cut go on failing.
		n += 0.3 * p.Rate * p.Timeout.Seconds()
		episodes *= 5
	}
	return math.Ceil(n + episodes)
}

// inFlightFor is how long a call can be under way when the breaker opens.
func (p *plan) inFlightFor() time.Duration {
	switch p.Fault {
	case hang, slow, overload:
		return p.Timeout
	}
	return 25 * time.Millisecond // a dial, a busy machine
}

// withLuck is what a Poisson draw of this mean stays below but once in many
// thousand.
func withLuck(mean float64) float64 { return mean + 4*math.Sqrt(mean) }

// facts gathers the figures once all calls have ended.
func (x *exercise) facts() facts {
	x.story.mu.Lock()
	defer x.story.mu.Unlock()
	ns := x.watch.NSPerTick()
	latency, refusal := x.tally.latency, x.tally.refusal
	return facts{
		Plan: *x.plan, Total: x.tally.counts(), Breaker: x.breaker.Snapshot(), Seconds: x.story.seconds, Events: x.story.events,
		LatencyMS: quantiles(latency, 1e-6),
		RefusalNS: quantiles(refusal, ns), firstAnswer: x.tally.firstAnswer, lastRefusal: x.tally.lastRefusal,
	}
}

func quantiles(l *latency.Record, unit float64) map[string]float64 {
	at := func(q float64) float64 { return float64(l.Spans.ValueAtQuantile(q)) * unit }
	return map[string]float64{"p50": at(50), "p90": at(90), "p99": at(99), "p999": at(99.9), "max": float64(l.Longest) * unit}
}

// turn is the first transition from an instant on that fits, or nil.
func (x *exercise) turn(from time.Duration, fits func(atomicbreaker.Transition) bool) *event {
	for i, e := range x.story.events {
		if e.transition != nil && e.At >= from && fits(*e.transition) {
			return &x.story.events[i]
		}
	}
	return nil
}

func opens(t atomicbreaker.Transition) bool {
	return t.From == atomicbreaker.StateClosed && t.To == atomicbreaker.StateOpen
}
func closes(t atomicbreaker.Transition) bool { return t.To == atomicbreaker.StateClosed }

// summary says in three lines what the timeline showed.
func (x *exercise) summary(c *frame.Console, rule rules, f facts) {
	c.Printf("\n%s calls: %s answered, %s failed, %s refused without a try\n", frame.Thousands(int64(f.Total.Sent)), frame.Thousands(int64(f.Total.OK)),
		frame.Thousands(int64(f.Total.Failed)), frame.Thousands(int64(f.Total.Refused)))
	if closed := x.turn(x.mended, closes); x.server != nil && closed != nil {
		c.Printf("after the mend: %s, %s, %s\n", x.afterMend("first answer", "no answer", f.firstAnswer),
			x.afterMend("last refusal", "no refusal", f.lastRefusal), x.afterMend("closed", "not closed", closed.At))
	}
	if d := x.stalledFor(rule.quiet); d > 0 {
		c.Printf("the machine was too busy to answer at once: %v are added to the time in which to recover\n", d)
	}
	c.Printf("an answer took, from the intended start of its call: p50 %s, p99 %s, max %s\n",
		frame.Nanos(f.LatencyMS["p50"]*1e6), frame.Nanos(f.LatencyMS["p99"]*1e6), frame.Nanos(f.LatencyMS["max"]*1e6))
	if f.Total.Refused > 0 {
		c.Printf("a refusal took, through the HTTP transport: p50 %s, p99 %s\n", frame.Nanos(f.RefusalNS["p50"]), frame.Nanos(f.RefusalNS["p99"]))
	}
}

// afterMend writes an instant since the start as one since the mend.
func (x *exercise) afterMend(what, otherwise string, at time.Duration) string {
	if at < x.mended {
		return otherwise
	}
	return fmt.Sprintf("%s at %.2f s", what, (at - x.mended).Seconds())
}

// judge adds the checks. The order is the order of events.
func (x *exercise) judge(r *frame.Report, rule rules, f facts) {
	if x.server != nil {
		x.judgeOutage(r, rule, f)
	} else {
		r.Info("drill/openings", float64(f.Breaker.Opened), "times")
		r.Info("drill/refused_at_end", float64(f.Total.Refused-x.nearEnd.Refused), "calls")
	}
	r.AtMost("drill/conservation", x.unbalanced(f.Breaker), "calls", 0)
	if f.Total.Refused > 0 {
		r.Info("drill/refusal_p99", f.RefusalNS["p99"], "ns")
	}
	r.Info("drill/started_late_ms", x.tally.latest.Seconds()*1000, "ms")
}

func (x *exercise) judgeOutage(r *frame.Report, rule rules, f facts) {
	needed := float64(f.Total.Failed) // if it never opened: all of them
	opened := x.turn(x.broken, opens)
	if opened != nil {
		needed = float64(opened.transition.Counts.Failures)
		r.AtMost("drill/opened", needed, "calls", rule.opening(x.plan))
		r.Info("drill/opened_s", (opened.At - x.broken).Seconds(), "s")
	} else {
		r.Fail("drill/opened", needed, "calls", rule.opening(x.plan))
	}
	r.AtMost("drill/failed_bound", float64(f.Total.Failed), "calls", rule.failing(x.plan))

	limit := (rule.recovery(x.plan) + x.stalledFor(rule.quiet)).Seconds()
	if closed := x.turn(x.mended, closes); closed != nil {
		r.AtMost("drill/recovered_s", (closed.At - x.mended).Seconds(), "s", limit)
	} else {
		r.Fail("drill/recovered_s", x.plan.After.Seconds(), "s", limit)
	}
	if f.firstAnswer > 0 {
		r.Info("drill/first_answer_s", (f.firstAnswer - x.mended).Seconds(), "s")
	}
	r.AtMost("drill/refused_at_end", float64(f.Total.Refused-x.nearEnd.Refused), "calls", 0)
	r.AtMost("drill/false_openings", x.falseOpenings(), "times", 0)
}

// stalledFor is the time since the mend, in whole quiet times, in which the
// machine stalled before the breaker closed. What has piled up in a stall comes
// as one burst, and a breaker that sees it fill the window is right to go on
// watching.
func (x *exercise) stalledFor(quiet time.Duration) time.Duration {
	until := x.plan.total()
	if closed := x.turn(x.mended, closes); closed != nil {
		until = closed.At
	}
	slots := map[time.Duration]bool{}
	for _, at := range x.tally.stalls {
		if at < until {
			slots[(at-x.mended)/quiet] = true
		}
	}
	return time.Duration(len(slots)) * quiet
}

// falseOpenings counts trips of a closed breaker outside of the outage and
// what follows it.
func (x *exercise) falseOpenings() float64 {
	n := 0.0
	var closed bool // since the mend
	for _, e := range x.story.events {
		switch {
		case e.transition == nil:
		case opens(*e.transition) && (e.At < x.broken || closed):
			n++
		case closes(*e.transition) && e.At >= x.mended:
			closed = true
		}
	}
	return n
}

// unbalanced compares the callers' books with the breaker's: every call that
// reached the network was settled once, every refusal was counted under its
// kind, and no outcome was counted for another. Outcomes of calls that were
// admitted before a change of state and ended after it are late, whichever
// they were.
func (x *exercise) unbalanced(s atomicbreaker.Snapshot) float64 {
	good, bad := float64(x.wire.good.Load()), float64(x.wire.bad.Load())
	settled := float64(s.Succeeded + s.Failed + s.Ignored + s.Cancelled + s.Late)
	open, halfOpen := float64(x.tally.byKind[refusedOpen]), float64(x.tally.byKind[refusedHalfOpen])
	return math.Abs(good+bad-settled) + math.Abs(open-float64(s.RefusedOpen)) + math.Abs(halfOpen-float64(s.RefusedHalfOpen)) +
		max(0, float64(s.Succeeded)-good) + max(0, float64(s.Failed)-bad) + float64(s.Ignored+s.Cancelled+s.RefusedForced)
}
