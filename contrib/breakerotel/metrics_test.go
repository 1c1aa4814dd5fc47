package breakerotel

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
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

// shown is a Watch whose metrics a reader collects when it is told to.
type shown struct {
	testing.TB
	breakerwatch.Watch
	provider     *sdk.MeterProvider
	reader       *sdk.ManualReader
	registration *Registration
}

func newShown(t testing.TB) *shown {
	t.Helper()
	s := &shown{TB: t, reader: sdk.NewManualReader()}
	s.provider = sdk.NewMeterProvider(sdk.WithReader(s.reader))
	var err error
	if s.registration, err = Register(s.provider, &s.Watch); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shown) made(c atomicbreaker.Config) *atomicbreaker.Breaker {
	s.Helper()
	b := atomicbreaker.MustNew(s.Config(c))
	if err := s.Add(b); err != nil {
		s.Fatal(err)
	}
	return b
}

func (s *shown) collect() []metricdata.Metrics {
	s.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &all); err != nil {
		s.Fatal("the collection failed: ", err)
	}
	if len(all.ScopeMetrics) == 0 {
		return nil
	}
	return all.ScopeMetrics[0].Metrics
}

// values returns every series as text and its value.
func (s *shown) values() map[string]float64 {
	s.Helper()
	values := map[string]float64{}
	put := func(name string, set attribute.Set, v float64) {
		var labels []string
		for _, kv := range set.ToSlice() {
			labels = append(labels, strings.TrimPrefix(string(kv.Key), prefix)+"="+kv.Value.String())
		}
		key := strings.TrimPrefix(name, prefix) + "{" + strings.Join(labels, ",") + "}"
		if _, twice := values[key]; twice {
			s.Errorf("%s is there twice", key)
		}
		values[key] = v
	}
	for _, m := range s.collect() {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				put(m.Name, p.Attributes, float64(p.Value))
			}
		case metricdata.Sum[float64]:
			for _, p := range data.DataPoints {
				put(m.Name, p.Attributes, p.Value)
			}
		case metricdata.Gauge[float64]:
			for _, p := range data.DataPoints {
				put(m.Name, p.Attributes, p.Value)
			}
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				put(m.Name+".count", p.Attributes, float64(p.Count))
				put(m.Name+".sum", p.Attributes, p.Sum)
			}
		default:
			s.Fatalf("%s has data of type %T", m.Name, m.Data)
		}
	}
	return values
}

func call(t testing.TB, b *atomicbreaker.Breaker, took time.Duration, o atomicbreaker.Outcome) {
	t.Helper()
	ticket, err := b.Acquire()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(took)
	ticket.Report(o)
}

func turnedAway(t testing.TB, b *atomicbreaker.Breaker) {
	t.Helper()
	if _, err := b.Acquire(); err == nil {
		t.Fatal("admitted")
	}
}

// story goes through everything that has a series of its own.
func story(t testing.TB, s *shown) *atomicbreaker.Breaker {
	c := config("stock eu")
	c.SlowCallDuration = 50 * time.Millisecond
	c.OnTransition = func(e atomicbreaker.Transition) {
		if e.Reason == atomicbreaker.ReasonRecovered {
			panic("listener")
		}
	}
	b := s.made(c)
	call(t, b, 0, atomicbreaker.Success)
	call(t, b, time.Second, atomicbreaker.Success) // slow
	call(t, b, 0, atomicbreaker.Ignored)
	ticket, _ := b.Acquire()
	ticket.Cancel()
	late, _ := b.Acquire()
	s.collect()
	call(t, b, 0, atomicbreaker.Failure) // opens at 1 s
	late.Report(atomicbreaker.Success)
	turnedAway(t, b)
	time.Sleep(cooldown + time.Second)
	probe, _ := b.Acquire() // at 12 s
	turnedAway(t, b)
	time.Sleep(20 * time.Millisecond)
	probe.Report(atomicbreaker.Failure)
	time.Sleep(cooldown + time.Second)
	call(t, b, 60*time.Millisecond, atomicbreaker.Success) // slow: reopens
	time.Sleep(cooldown + time.Second)
	call(t, b, 0, atomicbreaker.Ignored)
	if _, err := b.Acquire(); err != nil { // never settled: given up after 30 s
		t.Fatal(err)
	}
	time.Sleep(30*time.Second + cooldown + time.Second)
	call(t, b, 3*time.Millisecond, atomicbreaker.Success) // closes
	b.SetMode(atomicbreaker.Shadow)
	b.Trip()
	call(t, b, 0, atomicbreaker.Success) // would have been refused
	time.Sleep(time.Second)
	b.SetMode(atomicbreaker.ForcedOpen)
	turnedAway(t, b)
	return b
}

func TestEverySeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShown(t)
		b := story(t, s)
		var lines []string
		snapshot := func(title string) {
			lines = append(lines, "# "+title)
			var part []string
			for key, v := range s.values() {
				part = append(part, fmt.Sprintf("%s %v", key, math.Round(v*1e6)/1e6))
			}
			slices.Sort(part)
			lines = append(lines, part...)
		}
		snapshot("forced open, having seen everything")
		b.SetMode(atomicbreaker.Auto)
		time.Sleep(time.Second)
		snapshot("half-open, unprobed")
		b.Reset()
		call(t, b, 60*time.Millisecond, atomicbreaker.Success)
		snapshot("closed")
		b.Trip()
		time.Sleep(time.Second)
		snapshot("open")
		got := strings.Join(lines, "\n") + "\n"
		want, err := os.ReadFile("testdata/story.txt")
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("testdata/story.txt differs; got\n%s", got)
		}
	})
}

// TestKindsOfInstruments: what only rises is a counter, what adds up an
// UpDownCounter, and every one has a unit and a description.
func TestKindsOfInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShown(t)
		story(t, s)
		rises := map[string]bool{}
		for _, m := range s.collect() {
			if m.Unit == "" || !strings.HasSuffix(m.Description, ".") || !strings.HasPrefix(m.Name, prefix) {
				t.Errorf("%s: unit %q, description %q", m.Name, m.Unit, m.Description)
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				rises[m.Name] = data.IsMonotonic
			case metricdata.Sum[float64]:
				rises[m.Name] = data.IsMonotonic
			}
		}
		for _, name := range []string{"outages", "calls", "refusals", "transitions", "openings", "open_time", "probes", "slow_calls", "would_refuse", "listener_panics"} {
			if !rises[prefix+name] {
				t.Errorf("%s is no counter", name)
			}
		}
		for _, name := range []string{"state", "mode", "name_clashes"} {
			if up, ok := rises[prefix+name]; up || !ok {
				t.Errorf("%s is no UpDownCounter", name)
			}
		}
	})
}

// TestFieldOneStateAtATime: exactly one state is 1 at any collection, and it is
// the breaker's.
//
// Field: S120, dapr/dapr#10113 (2026-06-17).
func TestFieldOneStateAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShown(t)
		b := s.made(config("b"))
		check := func() {
			t.Helper()
			values, sum := s.values(), 0.0
			for _, state := range []string{"closed", "open", "half_open"} {
				sum += values["state{name=b,state="+state+"}"]
			}
			if sum != 1 || values["state{name=b,state="+word(b.State())+"}"] != 1 {
				t.Errorf("%v: %v", b.State(), values)
			}
		}
		check()
		call(t, b, 0, atomicbreaker.Failure)
		check()
		time.Sleep(cooldown + time.Second)
		check()
		call(t, b, 0, atomicbreaker.Success)
		check()
	})
}

// TestFieldCallbacksDoNotPileUp: breakers come and go under one callback.
//
// Field: S126, open-telemetry/opentelemetry-go#3808 (2023-02-27), #5561; unpoller/unpoller#1092
// (2026-09-17); asynkron/protoactor-go#745.
//
// Field: S101, afex/hystrix-go#95 (2018-09-12), #81, #107; twitter/finagle commit 2bfe36883
// (2015-11-12); resilience4j/resilience4j#2243.
func TestFieldCallbacksDoNotPileUp(t *testing.T) {
	s := newShown(t)
	stays := s.made(config("stays"))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before uint64
	for i := range 10_000 {
		b := s.made(config(fmt.Sprint("guest ", i)))
		call(t, b, 0, atomicbreaker.Success)
		if i%10 == 5 {
			b.Trip() // is removed while it is open
		}
		if i%1000 == 0 {
			values := s.values()
			if values[fmt.Sprintf("calls{name=guest %d,outcome=success}", i)] != 1 || values["state{name=stays,state=closed}"] != 1 {
				t.Fatalf("a live breaker is missing: %v", values)
			}
			for key := range values {
				if strings.Contains(key, "guest") && !strings.Contains(key, fmt.Sprintf("name=guest %d", i)) {
					t.Fatalf("%s outlives its breaker", key)
				}
			}
		}
		s.Remove(b)
		if i == 1000 {
			before = heap()
		}
	}
	s.collect()
	s.collect()
	// The runtime keeps stopped timers for a while; the breakers would be 10 MB.
	if after := heap(); after > before+4<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
	runtime.KeepAlive(stays)
}

// TestFieldRegisteringTwice ends without a panic, and a registration can be
// taken back and made again.
//
// Field: S124, hashicorp/go-metrics#78 (2018-05-25); hyperledger-firefly/firefly#389
// (2022-01-06); prometheus/client_golang#674.
func TestFieldRegisteringTwice(t *testing.T) {
	s := newShown(t)
	b := s.made(config("b"))
	b.SetMode(atomicbreaker.ForcedOpen)
	b.SetMode(atomicbreaker.Auto)
	second, err := Register(s.provider, &s.Watch)
	if err != nil {
		t.Fatal(err)
	}
	s.values() // fails if a series is there twice
	for range 2 {
		if err := second.Unregister(); err != nil {
			t.Error(err)
		}
	}
	call(t, b, 0, atomicbreaker.Success)
	if n := s.values()["probe.duration.count{name=b,outcome=success}"]; n != 1 {
		t.Errorf("one probe was recorded %v times", n)
	}
	if err := s.registration.Unregister(); err != nil {
		t.Error(err)
	}
	for key := range s.values() {
		if !strings.HasPrefix(key, "probe.duration") { // a histogram goes on with what it has
			t.Errorf("%s is shown though nothing is registered", key)
		}
	}
	if s.registration, err = Register(s.provider, &s.Watch); err != nil || s.values()["state{name=b,state=closed}"] != 1 {
		t.Errorf("registering again: %v, %v", err, s.values())
	}
}

// TestFieldReplacedBreakerIsTheOneShown: a breaker that takes another's place in
// a Group takes it in the metrics too, and leaves them with the Group.
//
// Field: S123, resilience4j/resilience4j#1514 and PR#1515 (2021-08-10), #1116.
func TestFieldReplacedBreakerIsTheOneShown(t *testing.T) {
	s := newShown(t)
	registry, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{Config: s.Config(config(""))})
	if err != nil {
		t.Fatal(err)
	}
	s.AddAll(breakerwatch.Values(registry.All()))
	open := func() float64 { return s.values()["state{name=a,state=open}"] }
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
		if strings.Contains(series, "name=a") {
			t.Errorf("%s outlives its breaker", series)
		}
	}
}

// TestFieldShortOpeningsAreCounted: what happens between two collections
// shows.
//
// Field: S128, resilience4j/resilience4j#163 and #164 (2017-09-29).
func TestFieldShortOpeningsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShown(t)
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
			"openings{name=b}": 20, "open_time{name=b}": 2, "refusals{name=b,reason=open}": 20,
			"transitions{from_state=closed,name=b,reason=streak,to_state=open}": 20,
		} {
			if got := after[series] - before[series]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s rose by %v, want %v", series, got, want)
			}
		}
	})
}

// TestFieldRefusalsByCause counts them, under the breaker's name.
//
// Field: S130, exaring/hoglet commit aeea64a (2024-01-24); resilience4j/resilience4j#942.
//
// Field: S132, traefik/traefik#3590 (2018-07-10); resilience4j/resilience4j#1062.
func TestFieldRefusalsByCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShown(t)
		first, b, third := s.made(config("first")), s.made(config("second")), s.made(config("third"))
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
			if got := values["refusals{name=second,reason="+reason+"}"]; got != want {
				t.Errorf("%s: %v refusals, want %v", reason, got, want)
			}
			for _, other := range []*atomicbreaker.Breaker{first, third} {
				if n := values["refusals{name="+other.Name()+",reason="+reason+"}"]; n != 0 {
					t.Errorf("%s is said to have refused %v", other.Name(), n)
				}
			}
		}
	})
}

// TestFieldStateAfterSilence: the gauge tells what is, though nobody has called.
//
// Field: S122, danielfm/pybreaker#15 (2017-05-18); App-vNext/Polly#481 (2018-07-11);
// Shopify/semian#189 (2018-08-08); failsafe-go/failsafe-go#97 (2025-04-14).
func TestFieldStateAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShown(t)
		b := s.made(config("b"))
		call(t, b, 0, atomicbreaker.Failure)
		time.Sleep(cooldown + time.Hour)
		for range 3 {
			values := s.values()
			if values["state{name=b,state=half_open}"] != 1 || values["probes.unprobed{name=b}"] != 1 || values["openings{name=b}"] != 1 {
				t.Error(values)
			}
			if _, ok := values["retry_after{name=b}"]; ok {
				t.Error("a cooldown is shown that is over")
			}
		}
		call(t, b, 0, atomicbreaker.Success)
		if values := s.values(); values["state{name=b,state=closed}"] != 1 {
			t.Error(values)
		}
	})
}

// TestFieldParallelCollections is for the race detector: two readers collect
// while breakers are called, commanded, added and removed.
//
// Field: S141, afex/hystrix-go#71 (2017-08-14), #36, #37 (2015-07-27).
func TestFieldParallelCollections(t *testing.T) {
	s := newShown(t)
	b := s.made(config("b"))
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				s.collect()
				switch i % 4 {
				case 0:
					b.Trip()
				case 1:
					b.SetMode(atomicbreaker.Mode(i / 4 % 4))
				case 2:
					b.Reset()
				case 3:
					guest := atomicbreaker.MustNew(s.Config(config(fmt.Sprint(g, " ", i))))
					if err := s.Add(guest); err != nil {
						t.Error(err)
					}
					guest.Trip()
					s.Remove(guest)
				}
				if ticket, err := b.Acquire(); err == nil {
					ticket.Report(atomicbreaker.Success)
				}
			}
		})
	}
	wg.Wait()
	s.values()
}

func TestClashesAreCounted(t *testing.T) {
	s := newShown(t)
	b := s.made(config("b"))
	s.AddAll(slices.Values([]*atomicbreaker.Breaker{b, atomicbreaker.MustNew(config("b"))}))
	if values := s.values(); values["name_clashes{}"] != 1 {
		t.Error(values)
	}
}

func TestMisuseIsAnError(t *testing.T) {
	var w breakerwatch.Watch
	if _, err := Register(nil, &w); err == nil {
		t.Error("no error for a nil provider")
	}
	if _, err := Register(noop.NewMeterProvider(), nil); err == nil {
		t.Error("no error for a nil Watch")
	}
	if r, err := Register(noop.NewMeterProvider(), &w); err != nil || r.Unregister() != nil {
		t.Error("the provider that does nothing is refused")
	}
}

func TestREADMEDocumentsEveryInstrument(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := maker{meter: noop.NewMeterProvider().Meter("")}
	m.instruments()
	m.probeDuration()
	for _, name := range m.names {
		if !strings.Contains(string(text), "`"+strings.TrimPrefix(name, prefix)+"`") {
			t.Errorf("README.md does not document %s", name)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	s := &shown{TB: b, reader: sdk.NewManualReader()}
	s.provider = sdk.NewMeterProvider(sdk.WithReader(s.reader), sdk.WithCardinalityLimit(-1))
	if _, err := Register(s.provider, &s.Watch); err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		call(b, s.made(config(fmt.Sprint("breaker ", i))), 0, atomicbreaker.Success)
	}
	b.Run("breakers=10000", func(b *testing.B) {
		b.ReportAllocs()
		var all metricdata.ResourceMetrics
		for b.Loop() {
			if err := s.reader.Collect(b.Context(), &all); err != nil {
				b.Fatal(err)
			}
		}
	})
}
