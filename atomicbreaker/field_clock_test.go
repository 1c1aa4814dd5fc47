package atomicbreaker_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// A skewed clock reads a Manual one with an error that a test may change: what
// a clock does that follows the wall. Its timers do not, as no runtime's do.
type skewed struct {
	clock.Manual
	error atomic.Int64
}

func (s *skewed) Now() time.Duration { return s.Manual.Now() + time.Duration(s.error.Load()) }

// reads makes the clock read an instant, in seconds.
func (s *skewed) reads(at float64) { s.error.Store(int64(seconds(at) - s.Manual.Now())) }

func examineSkewed(t testing.TB, c ab.Config) (*patient, *skewed) {
	t.Helper()
	s := new(skewed)
	c.Clock = s
	return examineOn(t, &s.Manual, c), s
}

// A cooldown is right to the nanosecond, and one too short to be kept is
// refused rather than rounded to nothing.
//
// Field: S094, rubyist/circuitbreaker#41 (commit c061d40, 2016-11-16).
func TestFieldCooldownIsExact(t *testing.T) {
	for _, cooldown := range []time.Duration{500 * time.Millisecond, time.Millisecond, 1500 * time.Microsecond} {
		c := streakConfig()
		c.Cooldown.Min, c.Cooldown.Max = cooldown, cooldown
		c.Recovery.ProbeTimeout = time.Millisecond
		p := examine(t, c)
		p.at(0.5)
		p.trip()
		for _, part := range []float64{0.2, 0.998, 1} {
			p.atInstant(500*time.Millisecond + time.Duration(part*float64(cooldown)) - 1)
			p.refused(ab.ErrOpen)
		}
		p.atInstant(500*time.Millisecond + cooldown)
		p.acquire()
	}
	c := streakConfig()
	c.Cooldown.Min = 1
	wantFaults(t, c, "Cooldown.Min is 1ns", "1ms to 24h0m0s")
}

// A clock that steps back counts as one on which no time has passed: calls in
// the window stay in it, and calls in the past count in it too.
//
// Field: S095, cep21/circuit#150 (2026-02-19: backward-time guard, negative index);
// sony/gobreaker#95.
func TestFieldStepBackLosesNoCalls(t *testing.T) {
	p, clock := examineSkewed(t, countingConfig(10*time.Second, 10))
	step := func(at float64) {
		clock.reads(at)
		p.clock.Advance(0)
	}
	calls := uint64(0)
	for _, at := range []float64{92, 100, 95, 0, -10, 100, 101} {
		step(at)
		p.call(ab.Failure)
		calls++
		p.rolling(calls, calls)
		p.clock.Advance(time.Second) // lets the timer of the bucket's end run
		p.Snapshot()
	}
	step(101)
	p.rolling(calls, calls)
}

// A probe on a clock that steps back took no time.
//
// Field: S095, cep21/circuit#150 (2026-02-19: backward-time guard, negative index);
// sony/gobreaker#95.
func TestFieldStepBackMakesNoLatency(t *testing.T) {
	for _, o := range []ab.Outcome{ab.Success, ab.Ignored} {
		p, clock := examineSkewed(t, streakConfig())
		p.trip()
		p.at(5)
		probe := p.acquire()
		clock.reads(1)
		probe.Report(o)
		if got, want := p.Snapshot().LastProbe, (ab.LastProbe{Settled: true, Outcome: o}); got != want {
			t.Errorf("the last probe is %+v, want %+v", got, want)
		}
	}
}

// However a clock wanders, nothing panics, the books balance, no cooldown ends
// before it is over by the clock's own reading, and a clock that runs again
// brings the breaker back.
//
// Field: S095, cep21/circuit#150 (2026-02-19: backward-time guard, negative index);
// sony/gobreaker#95.
func TestFieldWanderingClockDoesNoHarm(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	steps := 1_000_000
	if reduced() {
		steps = 100_000
	}
	c := rateConfig()
	c.SlowCallDuration = 300 * time.Millisecond
	var opened time.Duration
	c.OnTransition = func(tr ab.Transition) {
		if tr.To == ab.StateHalfOpen && tr.At-opened < 5*time.Second {
			t.Fatalf("a cooldown of 5 s, begun at %v, ended at %v", opened, tr.At)
		}
		opened = tr.At
	}
	p, clock := examineSkewed(t, c)
	var out []*ab.Ticket
	given, refused := 0, 0
	for range steps {
		switch rnd.IntN(8) {
		case 0:
			clock.error.Add(int64(rnd.NormFloat64() * float64(2*time.Second)))
		case 1, 2:
			p.clock.Advance(time.Duration(rnd.ExpFloat64() * float64(200*time.Millisecond)))
		case 3:
			if s := p.Snapshot(); s.Rolling.Failures > s.Rolling.Calls || s.RetryAfter < 0 || s.TimeOpen < 0 {
				t.Fatalf("snapshot %+v", s)
			}
		case 4, 5:
			ticket, err := p.Acquire()
			if err != nil {
				refused++
				continue
			}
			given++
			out = append(out, &ticket)
		default:
			if len(out) > 0 {
				i := rnd.IntN(len(out))
				out[i].Report(ab.Outcome(rnd.IntN(3)))
				out[i] = out[len(out)-1]
				out = out[:len(out)-1]
			}
		}
	}
	for _, ticket := range out {
		ticket.Cancel()
	}
	if got := settledOf(p.Breaker).sum(); got != uint64(given) || p.Snapshot().Refused() != uint64(refused) {
		t.Errorf("%d settled and %d refused, want %d and %d", got, p.Snapshot().Refused(), given, refused)
	}
	chained(t, p.events())
	if len(p.events()) < 100 {
		t.Errorf("%d changes of state, want enough to have tried something", len(p.events()))
	}
	clock.error.Store(0)
	p.Trip()
	p.clock.Advance(365 * 24 * time.Hour)
	if ticket, err := p.Acquire(); err != nil || !ticket.Report(ab.Success) || p.State() != ab.StateClosed {
		t.Errorf("after a year on a clock that runs: %v, %v", err, p.State())
	}
}

// Everything that tells a time tells that of the breaker's clock, on which two
// seconds may pass in no time at all.
//
// Field: S096, resilience4j/resilience4j#734; cep21/circuit#159 (2026-08-18);
// cep21/circuit#150.
func TestFieldEverythingFollowsTheClock(t *testing.T) {
	c := streakConfig()
	c.SlowCallDuration = time.Second
	p := examine(t, c)
	slow := p.acquire()
	p.at(2)
	slow.Report(ab.Success)
	if s := p.Snapshot(); s.Rolling.Slow != 1 || s.Slow != 1 || s.At != 2*time.Second {
		t.Errorf("after a call of 2 s: %+v", s)
	}
	p.at(3)
	p.trip()
	p.at(4)
	if s := p.Snapshot(); s.Since != 3*time.Second || s.TimeOpen != time.Second || s.RetryAfter != 4*time.Second {
		t.Errorf("a second after opening at 3 s: %+v", s)
	}
	if got := p.events()[0].At; got != 3*time.Second {
		t.Errorf("the event says %v, want 3 s", got)
	}
	p.at(8)
	probe := p.acquire()
	p.at(8.5)
	probe.Report(ab.Success)
	if s := p.Snapshot(); s.LastProbe != (ab.LastProbe{Settled: true, Latency: 500 * time.Millisecond}) || s.TimeOpen != 5*time.Second {
		t.Errorf("after a probe of 500 ms and 5 s open: %+v", s)
	}
	p.at(20)
	p.rolling(0, 0)
}

// Nothing but package clock reads the time, sets a timer or sleeps, and no
// instant loses its monotonic reading.
//
// Field: S092, exaring/hoglet#25 (2026-06-26); fabfuel/circuitbreaker#31 (2022-01-12);
// Shopify/semian commit 1268464 (2022-11-12).
//
// Field: S096, resilience4j/resilience4j#734; cep21/circuit#159 (2026-08-18);
// cep21/circuit#150.
func TestFieldOnlyTheClockReadsTheTime(t *testing.T) {
	reading := "Now Since Until Sleep After AfterFunc NewTimer NewTicker Tick"
	stripping := "Unix UnixNano UnixMicro UnixMilli Round Truncate UTC Local"
	for dir, forbidden := range map[string]string{
		".":        reading,
		"../ring":  reading,
		"../clock": "Sleep After NewTicker Tick",
	} {
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			if filepath.Base(path) == "advice.go" {
				return nil // rounds durations for a reader; knows no instant
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				pkg, ok := call.X.(*ast.Ident)
				fromTime := ok && pkg.Name == "time"
				if pkg != nil && pkg.Name == "s" && call.Sel.Name == "Local" {
					return true // a field of Snapshot
				}
				if fromTime && strings.Contains(" "+forbidden+" ", " "+call.Sel.Name+" ") ||
					!fromTime && strings.Contains(" "+stripping+" ", " "+call.Sel.Name+" ") {
					t.Errorf("%v: %s", set.Position(n.Pos()), fmt.Sprint(call.Sel.Name))
				}
				return true
			})
			return nil
		})
		if err != nil || files == 0 {
			t.Fatalf("%s: %d files read, %v", dir, files, err)
		}
	}
}

// The number of a bucket is exact after weeks and years, on 32-bit machines
// too: what is counted on one side of a power of two is there on the other.
//
// Field: S090, alibaba/sentinel-golang#422 (2021-07-28); cep21/circuit#159 (2026-08-18).
func TestFieldBucketNumbersPassPowersOfTwo(t *testing.T) {
	const ms = time.Millisecond
	for _, edge := range []time.Duration{
		1<<31 - 1, 1 << 31, 1 << 32, // nanoseconds
		1 << 31 * time.Microsecond, 1 << 32 * time.Microsecond,
		25 * 24 * time.Hour, 1 << 31 * ms, 1 << 32 * ms, 1 << 33 * ms,
		1 << 31 * time.Second, 1 << 32 * time.Second,
	} {
		p := examine(t, countingConfig(10*ms, 10))
		edge = edge / ms * ms
		p.atInstant(edge - 2*ms)
		p.call(ab.Failure)
		p.atInstant(edge - 1)
		p.call(ab.Failure)
		p.rolling(2, 2)
		p.atInstant(edge)
		p.call(ab.Success)
		p.rolling(3, 2)
		p.atInstant(edge + 8*ms - 1)
		p.rolling(3, 2)
		p.atInstant(edge + 8*ms)
		p.rolling(2, 1)
		p.atInstant(edge + 9*ms)
		p.rolling(1, 0)
		p.atInstant(edge + 10*ms)
		p.rolling(0, 0)
	}
}
