package breakerprom

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerprom/promtest"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// interval is how often the real Prometheus scrapes here.
const interval = 250 * time.Millisecond

// TestRealPrometheus has a real Prometheus scrape breakers in every state
// while they are used, evaluate the rules, and answer every expression of the
// dashboard.
func TestRealPrometheus(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	s := newSummed(t, 2)
	web := http.NewServeMux()
	web.Handle("/metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	server := httptest.NewServer(web)
	defer server.Close()
	prom := promtest.Start(t, interval, []string{"rules.yml"}, strings.TrimPrefix(server.URL, "http://"))

	everyState(s)
	if _, err := prom.WaitFor(t.Context(), `changes(circuitbreaker_state_changed_timestamp_seconds{name="recovered"}[1m]) > 0`); err != nil {
		t.Fatal(err)
	}
	time.Sleep(4 * interval) // for the rules

	dashboard, err := promtest.ReadDashboard("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(title, expr string, instant bool) {
		filled, err := promtest.Fill(expr, 20*time.Second)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			return
		}
		n := 0
		if instant {
			var samples []promtest.Sample
			samples, err = prom.Query(filled)
			n = len(samples)
		} else {
			n, _, err = prom.QueryRange(filled, 20*time.Second, interval)
		}
		if err != nil || n == 0 {
			t.Errorf("%s: %d series, error %v, from\n%s", title, n, err, filled)
		}
	}
	asked := 0
	for _, p := range dashboard.Panels {
		for _, e := range p.Targets {
			ask(p.Title, e.Expr, e.Instant)
			asked++
		}
	}
	for _, a := range dashboard.Annotations.List {
		ask("annotation "+a.Name, a.Expr, false)
	}
	t.Logf("%d expressions of %d panels had data", asked, len(dashboard.Panels))

	rules, err := prom.Rules()
	if err != nil || len(rules) == 0 {
		t.Fatalf("%d rules, error %v", len(rules), err)
	}
	for _, r := range rules {
		if r.Health != "ok" {
			t.Errorf("rule %s: %s %s", r.Name, r.Health, r.LastError)
		}
		if samples, err := prom.Query(r.Name); r.Type == "recording" && r.Name != "name:circuitbreaker_braked:bool" && (err != nil || len(samples) == 0) {
			t.Errorf("%s records nothing: %v", r.Name, err)
		}
	}
	truths(t, prom)
}

// truths are what must have no counterexample in anything scraped.
func truths(t *testing.T, prom *promtest.Server) {
	t.Helper()
	for what, expr := range map[string]string{
		"a scrape failed":                      `min_over_time(up[1m]) == 0`,
		"not exactly one state is 1":           `max_over_time((sum by (name) (circuitbreaker_state))[1m:250ms]) != 1 or min_over_time((sum by (name) (circuitbreaker_state))[1m:250ms]) != 1`,
		"a share is outside of 0 to 1":         `{__name__=~"circuitbreaker_.*_ratio"} > 1 or {__name__=~"circuitbreaker_.*_ratio"} < 0`,
		"a breaker is not closed and has open": `circuitbreaker_retry_after_seconds and on (name) circuitbreaker_state{state="closed"} == 1`,
		"open seconds outrun the clock":        `rate(circuitbreaker_open_seconds_total[20s]) > 1.1`,
	} {
		if samples, err := prom.Query(expr); err != nil || len(samples) > 0 {
			t.Errorf("%s: %v, error %v", what, samples, err)
		}
	}
	counters := 0
	for _, d := range descs {
		name := nameOf(d)
		if !strings.HasSuffix(name, "_total") {
			continue
		}
		if samples, err := prom.Query("resets(" + name + "[1m])"); err != nil || len(samples) == 0 && name != nameOf(panics) {
			t.Errorf("%s: %d series, error %v", name, len(samples), err)
		} else {
			for _, went := range samples {
				if went.Value > 0 {
					t.Errorf("%s%v went down", name, went.Labels)
				}
			}
			counters += len(samples)
		}
	}
	t.Logf("%d counters never went down", counters)
	// Refusing and unasked are told apart.
	for name, asked := range map[string]bool{"refusing": true, "unasked": false} {
		expr := `rate(circuitbreaker_refusals_total{name="` + name + `", reason="open"}[20s]) > 0 and on (name) circuitbreaker_state{state="open"} == 1`
		if samples, err := prom.Query(expr); err != nil || len(samples) > 0 != asked {
			t.Errorf("%s: %v, error %v", name, samples, err)
		}
	}
}

// everyState makes a breaker for each thing there is to see and uses them for
// some seconds.
func everyState(s *scraped) {
	made := func(name string, cooldown time.Duration) *atomicbreaker.Breaker {
		c := config(name)
		c.SlowCallDuration = 30 * time.Millisecond
		c.SlowCallRate = 1
		c.Cooldown = atomicbreaker.Cooldown{Min: cooldown, Max: max(cooldown, time.Second), Jitter: atomicbreaker.Off}
		if name == "leased" {
			var err error
			if c, err = breakerlease.Join(c, new(lease), breakerlease.Options{}); err != nil {
				s.Fatal(err)
			}
		}
		return s.made(c)
	}
	calm := made("calm", time.Second)
	recovered := made("recovered", 300*time.Millisecond)
	refusing := made("refusing", time.Hour)
	unasked := made("unasked", time.Hour)
	probing := made("probing", time.Millisecond)
	shadow := made("shadow", time.Hour)
	forced := made("forced", time.Hour)
	leased := made("leased", time.Millisecond)
	timed := s.made(atomicbreaker.Config{Name: "timed", Deadline: time.Second})
	for i := range 3 {
		s.made(config(fmt.Sprint("hosts ", i))).Trip()
	}
	time.Sleep(4 * interval) // the zeros are seen first

	call(s.T, calm, 40*time.Millisecond, atomicbreaker.Success)
	unasked.Trip()
	refusing.Trip()
	leased.Trip()
	shadow.SetMode(atomicbreaker.Shadow)
	shadow.Trip()
	forced.SetMode(atomicbreaker.ForcedOpen)
	probing.Trip()
	for round := range 12 {
		switch round % 6 {
		case 0:
			call(s.T, recovered, 0, atomicbreaker.Failure)
		case 3: // half-open
			call(s.T, recovered, 2*time.Millisecond, atomicbreaker.Success)
		}
		call(s.T, calm, 0, atomicbreaker.Success)
		for range 10 {
			call(s.T, timed, time.Millisecond, atomicbreaker.Success)
		}
		call(s.T, timed, 0, atomicbreaker.Local)
		s.Failure("refusing", breakerwatch.KindRefused, nil)
		call(s.T, shadow, 0, atomicbreaker.Success)
		turnedAway(s.T, refusing)
		turnedAway(s.T, forced)
		time.Sleep(interval)
	}
	call(s.T, recovered, 0, atomicbreaker.Failure)
}
