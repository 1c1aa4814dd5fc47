package advise

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
)

func TestAdvise(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-capacity 400 -rate 100 -queue 200 -latency 50ms -timeout 1s", []string{"43.8 of 400", "100 arrive", "grows by 56.2", "a cooldown below 2.16s", "3 round trips", "Nothing in these settings"}},
		{"-capacity 400 -rate 100 -queue 200 -latency 50ms -cooldown 2s", []string{"stable: the backlog shrinks by 7.8"}},
		{"-capacity 400 -rate 100 -queue 2000 -latency 50ms -timeout 1s", []string{"deeper than callers are patient"}},
		{"-capacity 400 -rate 4 -clients 50 -latency 50ms -probes 10", []string{"10 probes", "200 arrive", "100 probes a second, 25 %", "probes-above-capacity"}},
		{"-rate 0.1", []string{"Give -capacity", "minimum-out-of-reach"}},
	} {
		code, stdout, stderr := frametest.Run([]frame.Command{Command}, append([]string{"advise"}, strings.Fields(c.args)...)...)
		if code != 0 || stderr != "" {
			t.Errorf("advise %s: exit %d, stderr %q", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("advise %s does not say %q:\n%s", c.args, want, stdout)
			}
		}
	}
	var got struct{ Advice facts }
	_, stdout, _ := frametest.Run([]frame.Command{Command}, "advise", "-capacity", "20", "-rate", "5", "-queue", "20", "-json", "-")
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if c := got.Advice.Classic; c == nil || c.Throughput != 4.2 || c.Stable || c.LongestCooldown != 4.2 {
		t.Errorf("facts %+v", c)
	}
}
