package breakeradvice_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakeradvice"
	"github.com/stretchr/testify/require"
)

func namesOf(findings []breakeradvice.Finding) []string {
	var names []string
	for _, f := range findings {
		names = append(names, f.Name)
	}
	return names
}

func TestAdviceHasNothingAgainstTheDefaults(t *testing.T) {
	for _, u := range []breakeradvice.Usage{
		{},
		{Rate: 100, Timeout: time.Second, Latency: 50 * time.Millisecond, Capacity: 400, Clients: 50},
		{Rate: 100_000, Timeout: 5 * time.Second, Latency: time.Millisecond, Capacity: 1e6, Clients: 1},
	} {
		require.Empty(t, breakeradvice.Find(atomicbreaker.Config{}, u), "%+v", u)
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name   string
		config atomicbreaker.Config
		usage  breakeradvice.Usage
		says   []string            // in the text
		not    breakeradvice.Usage // with which the finding goes away; the zero one: nothing is known
	}{
		{"minimum-out-of-reach", atomicbreaker.Config{}, breakeradvice.Usage{Rate: 0.5}, []string{"0.5 calls a second", "holds 5 of the 10 calls", "MinimumCalls"}, breakeradvice.Usage{Rate: 1}},
		{"window-shorter-than-timeout", atomicbreaker.Config{}, breakeradvice.Usage{Timeout: 30 * time.Second}, []string{"Window (10s)", "(30s)"}, breakeradvice.Usage{Timeout: 10 * time.Second}},
		{"outage-seen-late", atomicbreaker.Config{ConsecutiveFailures: atomicbreaker.Off}, breakeradvice.Usage{Rate: 100}, []string{"about 500 calls"}, breakeradvice.Usage{Rate: 10}},
		{"trips-on-few", atomicbreaker.Config{MinimumCalls: 1}, breakeradvice.Usage{}, []string{"MinimumCalls 1"}, breakeradvice.Usage{}},
		{"trips-on-few", atomicbreaker.Config{ConsecutiveFailures: 1}, breakeradvice.Usage{}, []string{"ConsecutiveFailures 1"}, breakeradvice.Usage{}},
		{"streak-by-chance", atomicbreaker.Config{ConsecutiveFailures: 5}, breakeradvice.Usage{Rate: 100}, []string{"ConsecutiveFailures (5)", "every 39."}, breakeradvice.Usage{Rate: 1}},
		{"streak-out-of-reach", atomicbreaker.Config{FailureRate: atomicbreaker.Off}, breakeradvice.Usage{Rate: 0.1}, []string{"3m20s"}, breakeradvice.Usage{Rate: 1}},
		{"slow-not-below-timeout", atomicbreaker.Config{SlowCallDuration: time.Second}, breakeradvice.Usage{Timeout: time.Second}, []string{"SlowCallDuration (1s)"}, breakeradvice.Usage{Timeout: 2 * time.Second}},
		{"no-jitter", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}}, breakeradvice.Usage{}, []string{"Jitter is Off"}, breakeradvice.Usage{Clients: 1}},
		{"cooldown-shorter-than-timeout", atomicbreaker.Config{}, breakeradvice.Usage{Timeout: 6 * time.Second}, []string{"Cooldown.Max (5s)"}, breakeradvice.Usage{Timeout: 5 * time.Second}},
		{"cooldown-long", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Max: 2 * time.Minute}}, breakeradvice.Usage{}, []string{"2m0s"}, breakeradvice.Usage{}},
		{"probe-timeout-below-latency", atomicbreaker.Config{Recovery: atomicbreaker.Recovery{ProbeTimeout: time.Second}}, breakeradvice.Usage{Latency: time.Second}, []string{"never closes"}, breakeradvice.Usage{Latency: 999 * time.Millisecond}},
		{"probe-timeout-below-timeout", atomicbreaker.Config{Recovery: atomicbreaker.Recovery{ProbeTimeout: time.Second}}, breakeradvice.Usage{Timeout: 2 * time.Second}, []string{"(1s)", "(2s)"}, breakeradvice.Usage{Timeout: time.Second}},
		{"closes-on-few-probes", atomicbreaker.Config{Recovery: atomicbreaker.Recovery{Probes: 3, Concurrent: 1}}, breakeradvice.Usage{}, []string{"Probes is 3", "when 3 have succeeded", "at most 1"}, breakeradvice.Usage{}},
		{"probes-above-capacity", atomicbreaker.Config{Recovery: atomicbreaker.Recovery{Probes: 10}}, breakeradvice.Usage{Capacity: 400, Clients: 50}, []string{"500 probes", "400 calls", "1s"}, breakeradvice.Usage{Capacity: 400, Clients: 20}},
	} {
		findings := breakeradvice.Find(c.config, c.usage)
		i := slices.IndexFunc(findings, func(f breakeradvice.Finding) bool {
			return f.Name == c.name && !slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(f.Text, s) })
		})
		require.GreaterOrEqual(t, i, 0, "%s for %+v among %v", c.name, c.usage, findings)
		if c.usage != c.not {
			require.NotContains(t, namesOf(breakeradvice.Find(c.config, c.not)), c.name, "%+v", c.not)
		}
	}
}

func TestAdviceChangesNothing(t *testing.T) {
	c := atomicbreaker.Config{Recovery: atomicbreaker.Recovery{Probes: 10}, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}}
	before := c.Recovery
	breakeradvice.Find(c, breakeradvice.Usage{Rate: 1})
	require.Equal(t, before, c.Recovery)
	require.Equal(t, atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}, c.Cooldown)
}

func TestAdviceOfAnInvalidConfigIsNone(t *testing.T) {
	require.Nil(t, breakeradvice.Find(atomicbreaker.Config{Recovery: atomicbreaker.Recovery{Probes: -3}, MinimumCalls: 1}, breakeradvice.Usage{}))
}
