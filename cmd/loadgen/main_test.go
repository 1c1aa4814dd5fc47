package main

import (
	"bytes"
	"context"
	"flag"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
)

// loadgen runs the command as a shell would.
func loadgen(args ...string) (code int, stdout, stderr string) {
	return frametest.Run(commands, args...)
}

func TestBadUsageIsOneLineAndExit2(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string // in the line
	}{
		{"frobnicate", []string{`"frobnicate"`, "failfast", "drill"}},
		{"-bogus", []string{"-bogus", "loadgen -h"}},
		{"drill extra", []string{`"extra"`, "loadgen drill -h"}},
		{"drill -rate fast", []string{"fast", "-rate"}},
		{"drill -rate 0 -timeout 1ms -fault flood", []string{"-rate is 0, want 1 to 5000", "-timeout is 1ms, want 10ms to 1m0s", `-fault is "flood", want one of 5xx, dead, hang, overload, slow`}},
		{"drill -rate NaN", []string{"-rate is NaN"}},
		{"drill -rate 5000 -timeout 10s", []string{"50000 calls under way, want at most 10000"}},
		{"drill -healthy 0s -outage 11m -after -1s", []string{"-healthy is 0s", "-outage is 11m0s", "-after is -1s"}},
		{"drill -capacity 50", []string{"-capacity needs -fault overload"}},
		{"drill -fault overload -rate 100 -capacity 100", []string{"-capacity is 100, want 1 to below the -rate of 100"}},
		{"drill -outage 100ms -rate 20", []string{"-outage is 100ms, too short", "want at least 2.1s"}},
		{"drill -fault hang -outage 1s", []string{"-outage is 1s, too short"}},
		{"drill -after 1s", []string{"-after is 1s, too short to see the breaker recover"}},
		{"drill -target localhost:80", []string{"-target", "want a URL such as"}},
		{"drill -target http://127.0.0.1/ -capacity 5", []string{"-capacity cannot be set for a -target"}},
		{"sim -seeds 0 -scenario 99 -against nobody", []string{"-seeds is 0, want 1 to 99", `-scenario "99" is unknown`, `-against "nobody" is unknown`, "loadgen sim -list"}},
		{"sim -seeds 7", []string{"-seeds is 7", "-seed"}},
		{"advise -rate -1 -timeout 25h -queue -2 -probes 5000", []string{"-rate is -1, want 0 to 1e9", "-timeout is 25h0m0s", "-queue is -2", "Recovery.Probes is 5000"}},
		{"drill -prom 9100", []string{`"9100" for flag -prom: want :PORT or HOST:PORT`}},
		{"drill -page=:x", []string{"-page: want a port of 0 to 65535"}},
		{"drill -prom :70000", []string{"want a port of 0 to 65535"}},
		{"drill -page -prom 127.0.0.1:8099", []string{"-page and -prom are both 127.0.0.1:8099, want two ports"}},
		{"drill -stay 1m", []string{"-stay needs -page or -prom"}},
		{"drill -prom :0 -stay -1s", []string{"-stay is -1s, want 0s to 24h"}},
		{"failfast -goroutines -1 -duration 1ms", []string{"-goroutines is -1, want 1 to 10000", "-duration is 1ms, want 500ms to 10m"}},
	} {
		code, stdout, stderr := loadgen(strings.Fields(c.args)...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want 2, nothing, one line", c.args, code, stdout, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %q does not say %q", c.args, stderr, want)
			}
		}
	}
}

func TestDefaultsAreAccepted(t *testing.T) {
	for _, c := range commands {
		j := c.Declare(flag.NewFlagSet("", flag.ContinueOnError))
		if err := j.Validate(); err != nil {
			t.Errorf("loadgen %s: %v", c.Name, err)
		}
	}
}

func TestHelpTeachesAndExits0(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-h", []string{"failfast", "drill", "sim", "advise", "exit status", "-json FILE"}},
		{"sim -h", []string{"-scenario", "-against", "-html FILE", "-seeds N", "oracle", "never"}},
		{"advise -h", []string{"-capacity N", "-rate N", "-timeout", "The question to ask"}},
		{"help", []string{"failfast", "drill"}},
		{"failfast -h", []string{"-goroutines N", "-duration", "-json FILE", "held up"}},
		{"drill -help", []string{"-rate N", "-fault", "-target URL", "-seed", "verdicts", "(default 4s)"}},
	} {
		code, stdout, stderr := loadgen(strings.Fields(c.args)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s does not mention %q", c.args, want)
			}
		}
	}
}

func TestInterruptedRunGivesNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"failfast", "drill"} {
		var out, errs bytes.Buffer
		if code := frame.Run(ctx, commands, []string{name}, &out, &errs); code != 1 || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%s: exit %d, stderr %q", name, code, errs.String())
		}
	}
}
