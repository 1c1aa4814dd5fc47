package atomicbreaker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func namesOf(findings []Finding) []string {
	var names []string
	for _, f := range findings {
		names = append(names, f.Name)
	}
	return names
}

func TestAdviceHasNothingAgainstTheDefaults(t *testing.T) {
	for _, u := range []Usage{
		{},
		{Rate: 100, Timeout: time.Second, Latency: 50 * time.Millisecond, Capacity: 400, Clients: 50},
		{Rate: 100_000, Timeout: 5 * time.Second, Latency: time.Millisecond, Capacity: 1e6, Clients: 1},
	} {
		require.Empty(t, Config{}.Advice(u), "%+v", u)
	}
}

func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		usage  Usage
		says   []string // in the text
		not    Usage    // with which the finding goes away; the zero one: nothing is known
	}{
		{"minimum-out-of-reach", Config{}, Usage{Rate: 0.5}, []string{"0.5 calls a second", "holds 5 of the 10 calls", "MinimumCalls"}, Usage{Rate: 1}},
		{"window-shorter-than-timeout", Config{}, Usage{Timeout: 30 * time.Second}, []string{"Window (10s)", "(30s)"}, Usage{Timeout: 10 * time.Second}},
		{"outage-seen-late", Config{ConsecutiveFailures: Off}, Usage{Rate: 100}, []string{"about 500 calls"}, Usage{Rate: 10}},
		{"trips-on-few", Config{MinimumCalls: 1}, Usage{}, []string{"MinimumCalls 1"}, Usage{}},
		{"trips-on-few", Config{ConsecutiveFailures: 1}, Usage{}, []string{"ConsecutiveFailures 1"}, Usage{}},
		{"streak-by-chance", Config{ConsecutiveFailures: 5}, Usage{Rate: 100}, []string{"ConsecutiveFailures (5)", "every 39."}, Usage{Rate: 1}},
		{"streak-out-of-reach", Config{FailureRate: Off}, Usage{Rate: 0.1}, []string{"3m20s"}, Usage{Rate: 1}},
		{"slow-not-below-timeout", Config{SlowCallDuration: time.Second}, Usage{Timeout: time.Second}, []string{"SlowCallDuration (1s)"}, Usage{Timeout: 2 * time.Second}},
		{"no-jitter", Config{Cooldown: Cooldown{Jitter: Off}}, Usage{}, []string{"Jitter is Off"}, Usage{Clients: 1}},
		{"cooldown-shorter-than-timeout", Config{}, Usage{Timeout: 6 * time.Second}, []string{"Cooldown.Max (5s)"}, Usage{Timeout: 5 * time.Second}},
		{"cooldown-long", Config{Cooldown: Cooldown{Max: 2 * time.Minute}}, Usage{}, []string{"2m0s"}, Usage{}},
		{"probe-timeout-below-latency", Config{Recovery: Recovery{ProbeTimeout: time.Second}}, Usage{Latency: time.Second}, []string{"never closes"}, Usage{Latency: 999 * time.Millisecond}},
		{"probe-timeout-below-timeout", Config{Recovery: Recovery{ProbeTimeout: time.Second}}, Usage{Timeout: 2 * time.Second}, []string{"(1s)", "(2s)"}, Usage{Timeout: time.Second}},
		{"closes-on-few-probes", Config{Recovery: Recovery{Probes: 3, Concurrent: 1}}, Usage{}, []string{"Probes is 3", "when 3 have succeeded", "at most 1"}, Usage{}},
		{"probes-above-capacity", Config{Recovery: Recovery{Probes: 10}}, Usage{Capacity: 400, Clients: 50}, []string{"500 probes", "400 calls", "1s"}, Usage{Capacity: 400, Clients: 20}},
	} {
		findings := c.config.Advice(c.usage)
		i := slices.IndexFunc(findings, func(f Finding) bool {
			return f.Name == c.name && !slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(f.Text, s) })
		})
		require.GreaterOrEqual(t, i, 0, "%s for %+v among %v", c.name, c.usage, findings)
		if c.usage != c.not {
			require.NotContains(t, namesOf(c.config.Advice(c.not)), c.name, "%+v", c.not)
		}
	}
}

func TestAdviceChangesNothing(t *testing.T) {
	c := Config{Recovery: Recovery{Probes: 10}, Cooldown: Cooldown{Jitter: Off}}
	before := c.Recovery
	c.Advice(Usage{Rate: 1})
	require.Equal(t, before, c.Recovery)
	require.Equal(t, Cooldown{Jitter: Off}, c.Cooldown)
}

func TestAdviceOfAnInvalidConfigIsNone(t *testing.T) {
	require.Nil(t, Config{Recovery: Recovery{Probes: -3}, MinimumCalls: 1}.Advice(Usage{}))
}
