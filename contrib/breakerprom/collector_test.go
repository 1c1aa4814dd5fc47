package breakerprom

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

const cooldown = 10 * time.Second

// config is of a breaker that trips on its first failure and closes on its
// first success.
func config(name string) atomicbreaker.Config {
	return atomicbreaker.Config{
		Name:                name,
		ConsecutiveFailures: 1,
		Cooldown:            atomicbreaker.Cooldown{Min: cooldown, Max: cooldown, Jitter: atomicbreaker.Off},
		Recovery:            atomicbreaker.Recovery{Probes: 1},
	}
}

// scraped is a Watch that a pedantic registry collects.
type scraped struct {
	*testing.T
	breakerwatch.Watch
	registry *prometheus.Registry
}

func newScraped(t *testing.T) *scraped {
	s := &scraped{T: t, registry: prometheus.NewPedanticRegistry()}
	s.registry.MustRegister(New(&s.Watch))
	return s
}

func (s *scraped) made(c atomicbreaker.Config) *atomicbreaker.Breaker {
	s.Helper()
	b := atomicbreaker.MustNew(s.Config(c))
	if err := s.Add(b); err != nil {
		s.Fatal(err)
	}
	return b
}

// values returns all series as a scrape would write them.
func (s *scraped) values() map[string]float64 {
	s.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.Fatal("the scrape failed: ", err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			key := f.GetName()
			if labels != nil {
				key += "{" + strings.Join(labels, ",") + "}"
			}
			values[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func call(t *testing.T, b *atomicbreaker.Breaker, took time.Duration, o atomicbreaker.Outcome) {
	t.Helper()
	ticket, err := b.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(took)
	ticket.Report(o)
}

func turnedAway(t *testing.T, b *atomicbreaker.Breaker) {
	t.Helper()
	if _, err := b.Acquire(); err == nil {
		t.Fatal("admitted")
	}
}

// story goes through everything that has a series of its own, in 100 s.
func story(t *testing.T, s *scraped) *atomicbreaker.Breaker {
	c := config("stock eu")
	c.SlowCallDuration = 50 * time.Millisecond
	c.OnTransition = func(e atomicbreaker.Transition) {
		if e.Reason == atomicbreaker.ReasonRecovered {
			panic("listener")
		}
	}
	b := s.made(c)
	until := func(at time.Duration) { time.Sleep(time.Until(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(at))) }
	call(t, b, 0, atomicbreaker.Success)
	call(t, b, 0, atomicbreaker.Success)
	call(t, b, time.Second, atomicbreaker.Success) // slow
	call(t, b, 0, atomicbreaker.Ignored)
	ticket, _ := b.Acquire()
	ticket.Cancel()
	late, _ := b.Acquire()
	until(10 * time.Second)
	call(t, b, 0, atomicbreaker.Failure) // opens
	late.Report(atomicbreaker.Success)
	turnedAway(t, b)
	turnedAway(t, b)
	until(21 * time.Second)
	probe, _ := b.Acquire()
	turnedAway(t, b)
	time.Sleep(20 * time.Millisecond)
	probe.Report(atomicbreaker.Failure) // reopens at 21.02 s
	until(32 * time.Second)
	call(t, b, 60*time.Millisecond, atomicbreaker.Success) // slow: reopens at 32.06 s
	until(43 * time.Second)
	call(t, b, 0, atomicbreaker.Ignored)
	if _, err := b.Acquire(); err != nil { // never settled: given up after 30 s
		t.Fatal(err)
	}
	until(90 * time.Second)
	call(t, b, 3*time.Millisecond, atomicbreaker.Success) // closes
	until(95 * time.Second)
	b.SetMode(atomicbreaker.Shadow)
	b.Trip()
	call(t, b, 0, atomicbreaker.Success) // would have been refused
	until(100 * time.Second)
	b.SetMode(atomicbreaker.ForcedOpen)
	turnedAway(t, b)
	return b
}

func TestEverySeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		story(t, s)
		want, err := os.ReadFile("testdata/story.txt")
		if err != nil {
			t.Fatal(err)
		}
		if err := testutil.GatherAndCompare(s.registry, strings.NewReader(string(want))); err != nil {
			t.Error(err)
		}
	})
}

func TestLint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		b := story(t, s)
		for range 3 {
			problems, err := testutil.GatherAndLint(s.registry)
			if err != nil || len(problems) > 0 {
				t.Errorf("%v: %v, %v", b.State(), problems, err)
			}
			b.SetMode(atomicbreaker.Auto) // half-open
			b.Reset()
		}
	})
}

// TestFieldOneStateAtATime: exactly one state is 1 at any scrape, and it is
// the breaker's.
//
// Field: S120, dapr/dapr#10113 (2026-06-17).
func TestFieldOneStateAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		b := s.made(config("b"))
		check := func() {
			t.Helper()
			values, sum := s.values(), 0.0
			for _, state := range []string{"closed", "open", "half_open"} {
				sum += values[`circuitbreaker_state{name="b",state="`+state+`"}`]
			}
			if sum != 1 || values[`circuitbreaker_state{name="b",state="`+word(b.State())+`"}`] != 1 {
				t.Errorf("%v: %v", b.State(), values)
			}
		}
		check()
		call(t, b, 0, atomicbreaker.Failure)
		check()
		time.Sleep(cooldown + time.Second)
		if b.State() != atomicbreaker.StateHalfOpen {
			t.Fatal(b.State())
		}
		check()
		call(t, b, 0, atomicbreaker.Success)
		check()
		b.SetMode(atomicbreaker.ForcedOpen)
		check()
	})
}

// TestFieldReplacedBreakerIsTheOneScraped: a breaker that takes another's place
// in a Group takes it in the metrics too, and leaves them with the Group.
//
// Field: S123, resilience4j/resilience4j#1514 and PR#1515 (2021-08-10),
// #1116.
func TestFieldReplacedBreakerIsTheOneScraped(t *testing.T) {
	s := newScraped(t)
	registry, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{Config: s.Config(config(""))})
	if err != nil {
		t.Fatal(err)
	}
	s.AddAll(breakerwatch.Values(registry.All()))
	open := func() float64 { return s.values()[`circuitbreaker_state{name="a",state="open"}`] }
	first := registry.Get("a")
	first.Trip()
	if open() != 1 {
		t.Error("not open")
	}
	if !registry.Remove("a") || registry.Get("a") == first {
		t.Fatal("the first breaker is still there")
	}
	if open() != 0 {
		t.Error("the first breaker is shown")
	}
	registry.Get("a").Trip()
	first.Reset()
	if open() != 1 {
		t.Error("the second one is not shown")
	}
	registry.Remove("a")
	for series := range s.values() {
		if strings.Contains(series, `name="a"`) {
			t.Errorf("%s outlives its breaker", series)
		}
	}
}

// TestFieldRegisteringTwice ends in an error value, or shows nothing twice.
//
// Field: S124, hashicorp/go-metrics#78 (2018-05-25); hyperledger-firefly/firefly#389
// (2022-01-06); prometheus/client_golang#674.
func TestFieldRegisteringTwice(t *testing.T) {
	s := newScraped(t)
	b := s.made(config("b"))
	var already prometheus.AlreadyRegisteredError
	if err := s.registry.Register(New(&s.Watch)); !errors.As(err, &already) {
		t.Errorf("registering a second collector gave %v", err)
	}
	twin := atomicbreaker.MustNew(config("b"))
	if err := s.Add(twin); err == nil {
		t.Error("a second breaker of one name was added")
	}
	s.AddAll(func(yield func(*atomicbreaker.Breaker) bool) { _ = yield(b) && yield(twin) })
	values := s.values() // fails if a series is there twice
	if values["circuitbreaker_breakers"] != 1 || values["circuitbreaker_name_clashes"] != 1 {
		t.Error(values)
	}

	registry := prometheus.NewPedanticRegistry()
	pool := func(name string) prometheus.Registerer {
		return prometheus.WrapRegistererWith(prometheus.Labels{"a_pool": name}, registry)
	}
	one, two := New(&s.Watch), New(&s.Watch)
	pool("one").MustRegister(one)
	pool("two").MustRegister(two)
	if n := testutil.CollectAndCount(registry, "circuitbreaker_state"); n != 6 {
		t.Errorf("%d series of state from two pools, want 6", n)
	}
	if !pool("two").Unregister(two) {
		t.Error("cannot be unregistered")
	}
	pool("two").MustRegister(two)
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}

// TestFieldShortOpeningsAreCounted: what happens between two scrapes shows.
//
// Field: S128, resilience4j/resilience4j#163 and #164 (2017-09-29).
func TestFieldShortOpeningsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		c := config("b")
		c.Cooldown = atomicbreaker.Cooldown{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond, Jitter: atomicbreaker.Off}
		b := s.made(c)
		before := s.values()
		for range 20 {
			call(t, b, 0, atomicbreaker.Failure)
			turnedAway(t, b)
			time.Sleep(101 * time.Millisecond)
			call(t, b, 0, atomicbreaker.Success)
		}
		after := s.values()
		for series, want := range map[string]float64{
			`circuitbreaker_opened_total{name="b"}`:                                                      20,
			`circuitbreaker_open_seconds_total{name="b"}`:                                                2,
			`circuitbreaker_refusals_total{name="b",reason="open"}`:                                      20,
			`circuitbreaker_state{name="b",state="open"}`:                                                0,
			`circuitbreaker_calls_total{name="b",outcome="failure"}`:                                     20,
			`circuitbreaker_transitions_total{from="closed",name="b",reason="streak",to="open"}`:         20,
			`circuitbreaker_transitions_total{from="open",name="b",reason="cooldown",to="half_open"}`:    20,
			`circuitbreaker_transitions_total{from="half_open",name="b",reason="recovered",to="closed"}`: 20,
		} {
			if got := after[series] - before[series]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s rose by %v, want %v", series, got, want)
			}
		}
	})
}

// TestFieldRefusalsByCause counts them.
//
// Field: S130, exaring/hoglet commit aeea64a (2024-01-24); resilience4j/resilience4j#942.
func TestFieldRefusalsByCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		b := s.made(config("b"))
		call(t, b, 0, atomicbreaker.Failure)
		for range 100 {
			turnedAway(t, b)
		}
		time.Sleep(cooldown + time.Second)
		if _, err := b.Acquire(); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			turnedAway(t, b)
		}
		b.SetMode(atomicbreaker.ForcedOpen)
		for range 5 {
			turnedAway(t, b)
		}
		values := s.values()
		for reason, want := range map[string]float64{"open": 100, "half_open": 10, "forced": 5} {
			if got := values[`circuitbreaker_refusals_total{name="b",reason="`+reason+`"}`]; got != want {
				t.Errorf("%s: %v refusals, want %v", reason, got, want)
			}
		}
	})
}

// TestFieldSharesWithoutData are zero, or absent, and never no number.
//
// Field: S131, ccadllc/cedi-circuitbreakers#5 (2017-01-04); cep21/circuit#152
// (NaN index).
func TestFieldSharesWithoutData(t *testing.T) {
	s := newScraped(t)
	b := s.made(config("b"))
	check := func() {
		t.Helper()
		for series, v := range s.values() {
			if math.IsNaN(v) || math.IsInf(v, 0) || strings.Contains(series, "ratio") && v != 0 {
				t.Errorf("%s is %v", series, v)
			}
		}
	}
	check()
	call(t, b, 0, atomicbreaker.Ignored)
	check()
	b.Trip()
	check()
	b.Reset()
	check()
}

// TestNamesOfStrangersAreEscaped: a name is data, whatever it holds.
func TestNamesOfStrangersAreEscaped(t *testing.T) {
	s := newScraped(t)
	s.made(config(`"} 1 \ {x="<script>`))
	s.made(config(""))
	if n := testutil.CollectAndCount(s.registry, "circuitbreaker_state"); n != 6 {
		t.Errorf("%d series", n)
	}
	checkMetrics(t, s.registry)
}

// TestSeriesAreBounded counts what a calm breaker costs a monitor, and one that
// has seen everything.
func TestSeriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScraped(t)
		whole := len(s.values())
		b := s.made(config("calm"))
		call(t, b, 0, atomicbreaker.Success)
		if calm := len(s.values()) - whole; calm > 30 {
			t.Errorf("a calm breaker has %d series, want at most 30", calm)
		}
		s = newScraped(t)
		story(t, s)
		if most := len(s.values()) - whole; most > 58 { // a histogram counts as one here, and is 17
			t.Errorf("a breaker that has seen everything has %d series, want at most 58", most)
		}
	})
}

func TestScrapesMakeLittleGarbage(t *testing.T) {
	s := newScraped(t)
	for i := range 100 {
		s.made(config(fmt.Sprint("b", i)))
	}
	c := New(&s.Watch)
	drain := func() {
		ch := make(chan prometheus.Metric, 10_000)
		c.Collect(ch)
	}
	drain()
	if n := testing.AllocsPerRun(10, drain); n > 100*3+20 {
		t.Errorf("%v allocations for 100 breakers, want at most 3 each", n)
	}
}

func TestREADMEDocumentsEveryMetric(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descs {
		if name := nameOf(d); !strings.Contains(string(text), "`"+strings.TrimPrefix(name, prefix)+"`") {
			t.Errorf("README.md does not document %s", name)
		}
	}
}

func nameOf(d *prometheus.Desc) string { return strings.Split(d.String(), `"`)[1] }

func TestMisuseIsLoud(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "nil Watch") {
			t.Errorf("New(nil) gave %v", r)
		}
	}()
	New(nil)
}
