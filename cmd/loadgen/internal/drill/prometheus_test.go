package drill

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
	"github.com/atomicbreaker/breaker/contrib/breakerprom/promtest"
)

// TestDashboardOfADrill has a real Prometheus scrape a drill, and asks it every
// expression of the Grafana dashboard.
func TestDashboardOfADrill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 20 s")
	}
	const interval = 250 * time.Millisecond
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out frametest.Lines
	code := make(chan int, 1)
	go func() {
		code <- frame.Run(ctx, []frame.Command{Command}, strings.Fields("drill -prom :0 -stay 1h -rate 300 -healthy 8s -outage 3s -after 7s"), &out, &out)
	}()
	defer func() { interrupt(); <-code }()
	metrics := out.Await(t, `metrics: http://(127\.0\.0\.1:\d+)/metrics`)
	const folder = "../../../../contrib/breakerprom/"
	prom := promtest.Start(t, interval, []string{folder + "rules.yml"}, metrics)
	dashboard, err := promtest.ReadDashboard(folder + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}

	// While it is open, it is seen to refuse; a drill is never unasked.
	if _, err := prom.WaitFor(t.Context(), `circuitbreaker_state{name="drill", state="open"} == 1 and on (name) rate(circuitbreaker_refusals_total{reason="open"}[2s]) > 0`); err != nil {
		t.Fatal(err)
	}
	const transition = `circuitbreaker_transitions_total{name="drill", from="half_open", to="closed", reason="recovered"} == 1`
	if _, err := prom.WaitFor(t.Context(), transition); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, p := range dashboard.Panels {
		for _, e := range p.Targets {
			expr, err := promtest.Fill(e.Expr, 2*time.Second)
			if err != nil {
				t.Error(err)
				continue
			}
			series, _, err := prom.QueryRange(expr, 20*time.Second, interval)
			if err != nil {
				t.Errorf("%s: %v", p.Title, err)
			}
			// A drill has neither shadow mode nor slow calls, deadlines, groups or a lease, and says no kinds of errors.
			never := slices.ContainsFunc([]string{"would_refuse", "slow_ratio", "latency_deadline", "_lease_", "_group_", "errors_total"},
				func(part string) bool { return strings.Contains(expr, part) })
			if series == 0 && !never {
				t.Errorf("%s has no data from\n%s", p.Title, expr)
			}
			asked++
		}
	}
	t.Logf("%d expressions asked", asked)
}
