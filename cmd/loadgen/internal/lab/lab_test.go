package lab

import (
	"encoding/xml"
	"fmt"
	"go/format"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/sim"
	"github.com/atomicbreaker/breaker/sim/rivals"
)

// The lane "gobreaker" does to the unit what sony/gobreaker's own code did in every
// scenario in which it was recorded. What it says of its state while nobody calls
// is another matter: it learns of the end of its Timeout by the next call.
func TestGobreakerDoesAsItsOwnCode(t *testing.T) {
	all, err := rivals.All()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i := range all {
		if all[i].Name != "gobreaker" {
			continue
		}
		for _, row := range sim.Suite() {
			e, ok := all[i].Entry(&row)
			if !ok || e.Example == nil || row.OursOnly || e.Example.All().Tries > 500_000 {
				continue // the longest tell nothing that the others do not
			}
			compared++
			got := sim.Run(row.Variants[len(row.Variants)/2], Gobreaker(Default()), e.Example.Seed, sim.Time{})
			if a, b := calls(got), calls(e.Example); a != b {
				t.Errorf("%s: the lane\n%s\nand gobreaker\n%s", row.ID(), a, b)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d scenarios were compared", compared)
	}
}

// calls is what became of calls in every second.
func calls(r *sim.Result) string {
	var b strings.Builder
	for _, s := range r.Seconds {
		fmt.Fprintln(&b, s.Born, s.Tries, s.Sent, s.Good, s.Failed, s.Cancelled, s.Refused, s.Needless, s.Lost, s.Behind, s.Queue)
	}
	return b.String()
}

// A meter, and a policy that it is put around, change nothing.
func TestTheMeterChangesNothing(t *testing.T) {
	s := Default()
	for _, c := range []sim.Contender{ours(s), sim.Classic(), sim.None(), sim.Oracle()} {
		m := &meter{seconds: make([][]time.Duration, 91)}
		plain, metered := sim.Run(s.scenario(), c, 3, sim.Time{}), sim.Run(s.scenario(), m.on(c), 3, sim.Time{})
		if !reflect.DeepEqual(plain, metered) {
			t.Errorf("%s: a run differs with a meter on it", c.Name)
		}
		ended := 0
		for i, took := range m.seconds {
			ended += len(took)
			if i < 5 && (m.quantile(i, 0.5) < 25 || m.quantile(i, 0.5) > 75) {
				t.Errorf("%s: the median of second %d is %g ms, of a dependency that takes 50 on average", c.Name, i, m.quantile(i, 0.5))
			}
		}
		if all := plain.All(); ended != all.Good+all.Failed+all.Cancelled {
			t.Errorf("%s: the meter saw %d calls end, the books %+v", c.Name, ended, all)
		}
	}
}

// Whatever its latency and spread, the dependency serves what its capacity says.
func TestTheDependencyServesItsCapacity(t *testing.T) {
	for _, spread := range spreads {
		for _, latency := range []time.Duration{time.Millisecond, 7 * time.Millisecond, 50 * time.Millisecond} {
			s := Default()
			s.Spread, s.Latency, s.Incident, s.Rate, s.Patience = spread.Key, latency, "nothing", 600, 0
			s.Attempts, s.Length = 1, 60*time.Second
			r := sim.Run(s.scenario(), sim.None(), 1, sim.Time{})
			got := r.Goodput(sim.Span{From: 10 * time.Second, To: 60 * time.Second})
			within := 0.05
			if spread.Key == "heavy" {
				within = 0.35 // its mean is that of very long runs
			}
			if math.Abs(got/s.Capacity-1) > within {
				t.Errorf("%s at %v: %g good a second under overload, want about %g", spread.Key, latency, got, s.Capacity)
			}
		}
	}
}

// Every incident is one: it hurts those without a breaker, and only while it lasts
// or by what it leaves behind.
func TestEveryIncidentHurts(t *testing.T) {
	for _, kind := range incidents {
		s := Default()
		s.Incident, s.Queue, s.Rate, s.Attempts = kind.Key, 200, 200, 1
		r, err := Play(s, "none")
		if err != nil {
			t.Fatal(err)
		}
		before, during := r.run.Total(sim.Span{To: incidentBegins}), r.run.Total(r.run.Incident)
		if before.Failed > 0 {
			t.Errorf("%s: %d calls fail before it", kind.Key, before.Failed)
		}
		if hurt := during.Failed > 100; hurt != (kind.Key != "nothing") {
			t.Errorf("%s: %d of %d calls fail", kind.Key, during.Failed, during.Sent)
		}
		if last := r.run.Total(sim.Span{From: 70 * time.Second, To: 90 * time.Second}); last.Failed > 0 {
			t.Errorf("%s: %d calls fail long after it", kind.Key, last.Failed)
		}
	}
}

// every is a setup in which nothing is at its default.
func every(t *testing.T) *Setup {
	t.Helper()
	s := Default()
	for _, f := range s.fields() {
		text := fmt.Sprint(max(f.Min, 2) + 1)
		if f.Choices != nil {
			text = f.Choices[len(f.Choices)-2].Key
		}
		if f.Key == "length" {
			text = "50"
		}
		if err := f.set(text); err != nil {
			t.Fatal(err)
		}
	}
	s.Lanes = []string{"ours", "second", "none"}
	s.Ours = atomicbreaker.Config{
		Window: 5 * time.Second, Buckets: 5, MinimumCalls: 7, FailureRate: 0.25, ConsecutiveFailures: atomicbreaker.Off,
		SlowCallDuration: 200 * time.Millisecond, SlowCallRate: 0.4,
		Cooldown: atomicbreaker.Cooldown{Min: 1500 * time.Millisecond, Max: time.Minute, Factor: 2, Jitter: atomicbreaker.Off},
		Recovery: atomicbreaker.Recovery{Probes: 5, Successes: 4, Concurrent: 3, Quiet: 2 * time.Second, ProbeTimeout: 3 * time.Second},
	}
	s.Second = atomicbreaker.Config{WindowCalls: 30, FailureRate: 0.1}
	return s
}

func TestAnAddressReproducesItsSetup(t *testing.T) {
	if q := Default().Query(); q != "" {
		t.Errorf("the default is %q", q)
	}
	setups := []*Setup{every(t)}
	for _, p := range Presets() {
		s, err := Parse(p.Query)
		if err != nil {
			t.Fatalf("%s: %v", p.Title, err)
		}
		setups = append(setups, s)
	}
	for _, s := range setups {
		got, err := Parse("?" + s.Query())
		if err != nil {
			t.Fatalf("%s: %v", s.Query(), err)
		}
		if !reflect.DeepEqual(got, s) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", s.Query(), got, s)
		}
	}
	if q := every(t).Query(); strings.Count(q, "&") < len(Default().fields())+15 {
		t.Errorf("the setup without defaults leaves some: %s", q)
	}
}

func TestFaultsAreAllTold(t *testing.T) {
	_, err := Parse("capacity=0&spread=odd&queue=1.5&a.Window=5&b.MinimumCalls=x&a.Buckets=off&lanes=ours-theirs&colour=red")
	for _, want := range []string{
		`Capacity (capacity) is "0", want 1 to 5000 calls/s`, `Spread of it (spread) is "odd", want none, half`,
		`Queue (queue) is "1.5", want a whole number`, `your breaker: Window is "5", want a duration with its unit`,
		`second breaker: MinimumCalls is "x", want a whole number`, `your breaker: Buckets cannot be off`,
		`lanes has "theirs", want some of ours, alone`, `"colour", which is no setting`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s\n%v", want, err)
		}
	}
	for query, want := range map[string]string{
		"lasts=100&length=50":                  "the incident ends at 1m50s and the run at 50s",
		"capacity=5000&latency=10000":          "50000 calls under way at once, want at most 20000",
		"rate=5000&retry=10&length=300":        "these callers could ask",
		"incident=errors&amount=500":           `want at most 100 for "many calls fail"`,
		"a.FailureRate=2&b.Recovery.Probes=-3": "second breaker:",
	} {
		if _, err := Parse(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
		if d := Describe(query); len(d.Faults) == 0 {
			t.Errorf("%s: described without faults", query)
		}
		if _, err := Answer("run", query, "ours"); err == nil {
			t.Errorf("%s: it is run", query)
		}
	}
}

func TestCodeIsWhatTheSettingsSay(t *testing.T) {
	const want = `b := atomicbreaker.MustNew(atomicbreaker.Config{
	Name:                "inventory",
	Window:              5 * time.Second,
	Buckets:             5,
	MinimumCalls:        7,
	FailureRate:         0.25,
	ConsecutiveFailures: atomicbreaker.Off,
	SlowCallDuration:    200 * time.Millisecond,
	SlowCallRate:        0.4,
	Cooldown:            atomicbreaker.Cooldown{Min: 1500 * time.Millisecond, Max: 1 * time.Minute, Factor: 2, Jitter: atomicbreaker.Off},
	Recovery:            atomicbreaker.Recovery{Probes: 5, Successes: 4, Concurrent: 3, Quiet: 2 * time.Second, ProbeTimeout: 3 * time.Second},
})
`
	got := Go(every(t).Ours)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if formatted, err := format.Source([]byte(got)); err != nil || string(formatted) != got {
		t.Errorf("gofmt makes of it (%v)\n%s", err, formatted)
	}
	const yaml = "name: inventory\nwindowCalls: 30\nfailureRate: 0.1\n"
	if got := YAML(every(t).Second); got != yaml {
		t.Errorf("got\n%s\nwant\n%s", got, yaml)
	}
	if got := YAML(every(t).Ours); !strings.Contains(got, "consecutiveFailures: -1\n") || !strings.Contains(got, "\ncooldown:\n  min: 1.5s\n  max: 1m0s\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestAdviceIsForTheUseThatIsSet(t *testing.T) {
	d := Describe("rate=100&fleet=200&lanes=ours-second&b.Recovery.Probes=1")
	if len(d.Breakers) != 2 {
		t.Fatalf("%d breakers are described", len(d.Breakers))
	}
	names := func(i int) string { return fmt.Sprint(d.Breakers[i].Findings) }
	if !strings.Contains(names(0), "minimum-out-of-reach") { // half a call a second each
		t.Errorf("of ours: %s", names(0))
	}
	if !strings.Contains(names(1), "closes-on-few-probes") {
		t.Errorf("of the second: %s", names(1))
	}
}

// A still is well-formed, small, and the same each time.
func TestStill(t *testing.T) {
	s := every(t)
	s.Lanes = []string{"ours", "alone", "turns", "second", "classic", "gobreaker", "none", "oracle"}
	var first, again strings.Builder
	for _, b := range []*strings.Builder{&first, &again} {
		if err := WriteStill(b, s); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != again.String() {
		t.Error("two stills of one setup differ")
	}
	if first.Len() > 200_000 {
		t.Errorf("a still of %d bytes", first.Len())
	}
	for d := xml.NewDecoder(strings.NewReader(first.String())); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range lanes {
		if !strings.Contains(first.String(), ">"+l.Title+"<") {
			t.Errorf("no lane %q", l.Title)
		}
	}
}

// Charts stay in their box, whatever happens.
func TestChartsStayInTheirBox(t *testing.T) {
	s := Default()
	r, err := Play(s, "none")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Charts {
		for _, field := range strings.FieldsFunc(c.Shapes, func(r rune) bool { return strings.ContainsRune(`MLHZ "=<>`, r) }) {
			var v float64
			if n, _ := fmt.Sscanf(field, "%g", &v); n == 1 && (v < 0 || v > 100) {
				t.Errorf("%s: %s", c.Name, field)
			}
		}
	}
	if failed := r.run.Total(sim.Span{From: 60 * time.Second, To: 61 * time.Second}).Failed; float64(failed) < s.scales().rate {
		t.Errorf("only %d failed: nothing was cut off", failed)
	}
}
