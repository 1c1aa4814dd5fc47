package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

func onProcessors(n int, o Options) *Report {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	return RunSuite(o)
}

// traceOf is everything that happened in a run, as a digest.
func traceOf(sc *Scenario, c Contender, number uint64) string {
	sum := sha256.New()
	play(sc, c, number, Time{}, func(l traceLine) {
		fmt.Fprintln(sum, int64(l.at), l.call, l.attempt, l.guard, l.what)
	})
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func TestSameSeedSameTrace(t *testing.T) {
	oneGoroutine(t)
	for _, id := range []string{"04/C", "10-surge/U", "15/3", "14-pareto-01b/U"} {
		sc := rowsOf(t, id)[0].Variants[0]
		for _, c := range []Contender{Window(), Classic()} {
			first := traceOf(sc, c, 7)
			if again := traceOf(sc, c, 7); again != first {
				t.Errorf("%s, %s: two runs of one seed differ", id, c.Name)
			}
			if other := traceOf(sc, c, 8); other == first {
				t.Errorf("%s, %s: two seeds give one trace", id, c.Name)
			}
		}
	}
}

// The traces of no breaker, on any machine: a different digest on one of them
// means that arithmetic differs there, a different one on all that the
// simulator has changed.
func TestTraceIsTheSameOnAnyMachine(t *testing.T) {
	oneGoroutine(t)
	for id, want := range map[string]string{
		"05/U":            "3348a3e4bc507274",
		"14-pareto-01b/U": "89df77e9518f28cc",
		"08/U":            "3173dc4f32f294e7",
	} {
		if got := traceOf(rowsOf(t, id)[0].Variants[0], None(), 1); got != want {
			t.Errorf("%s: the trace is %s, was %s", id, got, want)
		}
	}
}

// Every policy sees the same arrivals.
func TestArrivalsDoNotDependOnThePolicy(t *testing.T) {
	oneGoroutine(t)
	for _, id := range []string{"01b/U", "04/3", "10-surge/U"} {
		sc := rowsOf(t, id)[0].Variants[0]
		var want []int
		for _, c := range []Contender{None(), Window(), Classic(), Oracle()} {
			var born []int
			for _, s := range Run(sc, c, 3, Time{}).Seconds {
				born = append(born, s.Born)
			}
			if want == nil {
				want = born
			}
			if !slices.Equal(born, want) {
				t.Errorf("%s: %s sees other arrivals than the first", id, c.Name)
			}
		}
	}
}

// small is a scenario to take apart: a constant service time, no retry.
func small(rate float64, d Dependency) *Scenario {
	return &Scenario{
		Name: "small", Mode: "test", Dependency: d,
		Traffic:  Traffic{Rate: []Rate{{0, rate}}, Regular: true, Retry: Retry{Attempts: 1}, Timeout: sec},
		Incident: Span{10 * sec, 20 * sec}, Length: 30 * sec,
	}
}

func total(sc *Scenario) Second { return Run(sc, None(), 1, Time{}).All() }

func TestArrivalRates(t *testing.T) {
	sc := small(100, Dependency{Workers: 1000, Latency: Constant(ms)})
	sc.Traffic.Regular = false
	sc.Traffic.Rate = []Rate{{0, 100}, {10 * sec, 800}, {15 * sec, 0}, {20 * sec, 100}}
	r := Run(sc, None(), 1, Time{})
	for _, want := range []struct {
		span Span
		born float64
	}{{Span{0, 10 * sec}, 1000}, {Span{10 * sec, 15 * sec}, 4000}, {Span{15 * sec, 20 * sec}, 0}, {Span{20 * sec, 30 * sec}, 1000}} {
		got := float64(r.Total(want.span).Born)
		if math.Abs(got-want.born) > 4*math.Sqrt(want.born) {
			t.Errorf("%v: %g born, want about %g", want.span, got, want.born)
		}
	}
	sc.Traffic.Regular = true
	sc.Traffic.Rate = []Rate{{0, 10}}
	for i, s := range Run(sc, None(), 1, Time{}).Seconds[1:] {
		if s.Born != 10 {
			t.Errorf("second %d: %d born of regular traffic, want 10", i+1, s.Born)
		}
	}
}

func TestServerGoesOnWorkingForClientsThatHaveLeft(t *testing.T) {
	// One call in 2 s, which takes 1.5 s, and a client that waits for one: the
	// server is busy three quarters of the time, for nobody.
	sc := small(0.5, Dependency{Workers: 1, Latency: Constant(1500 * ms)})
	if s := total(sc); s.Good != 0 || s.Failed < 13 {
		t.Errorf("%d good, %d failed; want all to time out", s.Good, s.Failed)
	}
	// At two a second, each finds the worker busy with one that has left.
	sc = small(2, Dependency{Workers: 1, Queue: 100, Latency: Constant(600 * ms)})
	if s := total(sc); s.Good > 4 {
		t.Errorf("%d good behind a queue of calls whose clients have left", s.Good)
	}
}

func TestFullQueueFailsACallAtOnce(t *testing.T) {
	sc := small(100, Dependency{Workers: 2, Queue: 3, Latency: Constant(100 * ms)})
	s := total(sc)
	if s.Good < 590 || s.Good > 600 { // 20 a second for 30 s
		t.Errorf("%d good, want what two workers do", s.Good)
	}
	if s.Failed+s.Good < s.Sent-10 {
		t.Errorf("%d sent, but only %d answered", s.Sent, s.Failed+s.Good)
	}
}

func TestHealth(t *testing.T) {
	for name, c := range map[string]struct {
		phase Phase
		want  func(Second) bool
	}{
		"dead":            {Phase{Health: Dead}, func(s Second) bool { return s.Failed >= s.Sent && s.Good == 0 }},
		"hanging":         {Phase{Health: Hanging}, func(s Second) bool { return s.Good == 0 && s.Failed >= 9*10-1 && s.Failed <= 9*10+1 }},
		"all errors":      {Phase{Errors: 1}, func(s Second) bool { return s.Good == 0 && s.Failed > 90 }},
		"some errors":     {Phase{Errors: 0.5}, func(s Second) bool { return s.Good > 20 && s.Failed > 20 }},
		"one worker":      {Phase{Workers: 1}, func(s Second) bool { return s.Good > 45 && s.Good < 55 }},
		"first ones gone": {Phase{HangFirst: 5}, func(s Second) bool { return s.Failed == 5 }},
		"cold":            {Phase{Slowdown: 10, Warmup: 1 << 20}, func(s Second) bool { return s.Good < 15 }},
		"warm":            {Phase{Slowdown: 10, Warmup: 1}, func(s Second) bool { return s.Good > 95 }},
	} {
		sc := small(10, Dependency{Workers: 3, Queue: 0, Latency: Constant(190 * ms),
			Phases: []Phase{{From: 10 * sec, Health: c.phase.Health, Errors: c.phase.Errors, Workers: c.phase.Workers,
				HangFirst: c.phase.HangFirst, Slowdown: c.phase.Slowdown, Warmup: c.phase.Warmup}, {From: 20 * sec}}})
		if s := Run(sc, None(), 1, Time{}).Total(sc.Incident); !c.want(s) {
			t.Errorf("%s: %+v", name, s)
		}
		if s := Run(sc, None(), 1, Time{}).Total(Span{22 * sec, 30 * sec}); s.Failed > 0 || s.Good < 79 {
			t.Errorf("%s: %+v after it has come back", name, s)
		}
	}
}

func TestQuotaIsPerSecond(t *testing.T) {
	sc := small(100, Dependency{Workers: 50, Quota: 40, Latency: Constant(ms)})
	for i, s := range Run(sc, None(), 1, Time{}).Seconds[1:29] {
		if s.Good != 40 || s.Failed != 60 {
			t.Errorf("second %d: %d good, %d failed; want 40 and 60", i+1, s.Good, s.Failed)
		}
	}
}

// A probe is a policy that refuses, and counts what is asked of it.
type probe struct {
	ready                    bool
	asked, acquired, settled int
}

func (p *probe) Ready() bool { p.asked++; return p.ready }
func (p *probe) Acquire() (Ticket, bool) {
	p.acquired++
	return p.acquired, p.ready
}
func (p *probe) Settle(Ticket, atomicbreaker.Outcome) { p.settled++ }

func (p *probe) contender() Contender {
	return Contender{Name: "probe", New: func(Site) Policy { return p }}
}

func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		retry Retry
		tries int // of one call in 10 s
	}{
		"none":      {Retry{Attempts: 1, Delay: Span{sec, sec}}, 1},
		"three":     {Retry{Attempts: 3, Delay: Span{sec, sec}}, 3},
		"unbounded": {Retry{Delay: Span{sec, sec}}, 10},
		"doubling":  {Retry{Delay: Span{sec, sec}, Factor: 2, Longest: 30 * sec}, 4}, // at 0, 1, 3, 7
		"bounded":   {Retry{Delay: Span{sec, sec}, Factor: 2, Longest: 2 * sec}, 6},  // at 0, 1, 3, 5, 7, 9
	} {
		sc := small(0.1, Dependency{Workers: 1, Latency: Constant(ms)})
		sc.Traffic.Retry = c.retry
		sc.Length = 20 * sec // the one call is born at 10 s
		if r := Run(sc, (&probe{}).contender(), 1, Time{}); r.All().Tries != c.tries {
			t.Errorf("%s: %d tries in 10 s, want %d", name, r.All().Tries, c.tries)
		}
	}
}

func TestCallersThatAskReadyTakeNoForAnAnswer(t *testing.T) {
	for _, ready := range []bool{false, true} {
		sc := small(10, Dependency{Workers: 10, Latency: Constant(ms)})
		sc.Traffic.AskReady = true
		p := &probe{ready: ready}
		s := Run(sc, p.contender(), 1, Time{}).All()
		if p.asked != s.Tries {
			t.Errorf("Ready was asked %d times in %d tries", p.asked, s.Tries)
		}
		if ready && p.acquired != p.asked || !ready && p.acquired > 0 {
			t.Errorf("ready %v: Acquire was asked %d times", ready, p.acquired)
		}
	}
}

func TestEveryTicketIsSettledOnce(t *testing.T) {
	oneGoroutine(t)
	for _, id := range []string{"02/U", "04/U", "15/3", "03/C"} {
		p := &probe{ready: true}
		s := Run(rowsOf(t, id)[0].Variants[0], p.contender(), 1, Time{}).All()
		if p.acquired != s.Sent || p.settled != s.Good+s.Failed+s.Cancelled {
			t.Errorf("%s: %d acquired, %d settled; the books say %+v", id, p.acquired, p.settled, s)
		}
		if open := p.acquired - p.settled; open < 0 || open > 3000 {
			t.Errorf("%s: %d tickets are open at the end", id, open)
		}
	}
}

// The breaker's own books agree with the simulator's (law of conservation).
func TestBooksAgreeWithTheBreakers(t *testing.T) {
	oneGoroutine(t)
	var made []*breaker
	c := Window()
	inner := c.New
	c.New = func(s Site) Policy {
		p := inner(s)
		made = append(made, p.(*breaker))
		return p
	}
	s := Run(rowsOf(t, "10-surge/U")[0].Variants[0], c, 1, Time{}).All()
	var settled, refused, cancelled uint64
	for _, b := range made {
		shot := b.Snapshot()
		settled += shot.Succeeded + shot.Failed + shot.Ignored + shot.Cancelled + shot.Late
		refused += shot.Refused()
		cancelled += shot.Cancelled
	}
	if len(made) != 50 || settled != uint64(s.Good+s.Failed+s.Cancelled) || refused != uint64(s.Refused) {
		t.Errorf("%d breakers settled %d and refused %d; the books say %+v", len(made), settled, refused, s)
	}
}

func TestClosedLoop(t *testing.T) {
	sc := rowsOf(t, "03/C")[0].Variants[0]
	r := Run(sc, Oracle(), 1, Time{})
	// 60 callers, each of which thinks half a second and waits for 50 ms.
	if g := r.Goodput(Span{2 * sec, 10 * sec}); g < 104 || g > 114 {
		t.Errorf("goodput of 60 callers is %g, want about 109", g)
	}
	if g := r.Goodput(Span{25 * sec, 60 * sec}); g < 104 || g > 114 {
		t.Errorf("goodput is %g when the guests have left, want about 109", g)
	}
	if b := r.Total(Span{11 * sec, 20 * sec}).Born; b < 4000 {
		t.Errorf("%d calls in 9 s with 600 callers", b)
	}
}

func TestT95(t *testing.T) {
	flat := func(n int) []Second {
		s := make([]Second, n)
		for i := range s {
			s[i] = Second{Born: 100, Good: 100}
		}
		return s
	}
	result := func(s []Second) *Result {
		return &Result{Seconds: s, Incident: Span{10 * sec, 20 * sec}, Patience: 1500 * ms}
	}
	if got := result(flat(40)).T95(); got != 0 {
		t.Errorf("undisturbed: %d, want 0", got)
	}
	s := flat(40)
	s[22].Good = 60 // 460 of 500
	if got := result(s).T95(); got != 3 {
		t.Errorf("a bad second: %d, want 3", got)
	}
	s = flat(40)
	for i := range s[:30] {
		s[i].Behind = 151
	}
	if got := result(s).T95(); got != 6 { // the five seconds may end where the backlog has
		t.Errorf("a backlog up to second 30: %d, want 6", got)
	}
	for i := range s {
		s[i].Behind = 151
	}
	if got := result(s).T95(); got != Never {
		t.Errorf("a backlog for ever: %d, want never", got)
	}
	s = flat(40)
	for i := range s {
		s[i].Good, s[i].Cancelled = 50, 50
	}
	if got := result(s).T95(); got != 0 {
		t.Errorf("half of all cancelled: %d, want 0", got)
	}
}

func TestScenariosWithoutWhatTheyNeedAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Scenario){
		"no length":  func(s *Scenario) { s.Length = 0 },
		"no workers": func(s *Scenario) { s.Dependency.Workers = 0 },
		"no traffic": func(s *Scenario) { s.Traffic.Rate = nil },
	} {
		sc := small(1, Dependency{Workers: 1, Latency: Constant(ms)})
		spoil(sc)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Run(sc, None(), 1, Time{})
		}()
	}
}

func TestAgendaHandsOutInOrder(t *testing.T) {
	oneGoroutine(t)
	var a agenda
	d := seed(1).draw(forShuffle, 0, 0)
	var last event
	left := 0
	for step := range 200000 {
		if left == 0 || d.chance(0.51) && step < 100000 {
			ahead := d.between(0, 5*sec)
			if d.chance(0.5) {
				ahead = d.between(0, 2*ms)
			} else if d.chance(0.1) {
				ahead = d.between(0, time.Hour)
			}
			a.add(event{at: (last.at + ahead).Truncate(50 * time.Microsecond)})
			left++
			continue
		}
		e, ok := a.next()
		if !ok {
			t.Fatalf("step %d: nothing left of %d", step, left)
		}
		left--
		if e.at < last.at || e.at == last.at && e.order < last.order {
			t.Fatalf("step %d: %v, %d after %v, %d", step, e.at, e.order, last.at, last.order)
		}
		last = e
	}
	for range left {
		a.next()
	}
	if _, ok := a.next(); ok {
		t.Error("more came out than went in")
	}
}

func TestLogarithmAndExponential(t *testing.T) {
	for x := 1e-16; x < 1e16; x *= 1.37 {
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 4e-16*max(1, math.Abs(want)) {
			t.Errorf("ln %g is %g, want %g", x, got, want)
		}
	}
	for x := -30.0; x < 30; x += 0.037 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-14*want {
			t.Errorf("exp %g is %g, want %g", x, got, want)
		}
	}
}

func TestDistributionsHaveTheirMeans(t *testing.T) {
	oneGoroutine(t)
	for _, l := range []Latency{Shifted(25*ms, 25*ms), Constant(50 * ms), Bimodal(0.3, ms, Constant(71*ms)), Pareto(3, 50*ms)} {
		sum := 0.0
		const n = 200000
		for i := range uint64(n) {
			d := seed(1).draw(forService, i, 0)
			sum += l.draw(&d).Seconds()
		}
		if got, want := sum/n, l.Mean().Seconds(); math.Abs(got-want) > 0.01*want {
			t.Errorf("%v: mean %g s, want %g", l, got, want)
		}
	}
}
