package drill

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
)

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", url, resp.StatusCode, err)
	}
	return string(text)
}

// TestDrillIsShown: the page tells of the outage while it lasts, the metrics
// count it, and both stay until the end of -stay.
func TestDrillIsShown(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var out frametest.Lines
	code := make(chan int, 1)
	go func() {
		code <- frame.Run(ctx, []frame.Command{Command}, strings.Fields("drill -page=:0 -prom :0 -stay 1h -rate 300 -healthy 500ms -outage 1s -after 6s"), &out, &out)
	}()
	page := out.Await(t, `live page: (http://127\.0\.0\.1:\d+/)`)
	metrics := out.Await(t, `metrics: (http://127\.0\.0\.1:\d+/metrics)`)
	if strings.Contains(out.String(), "second    sent") {
		t.Error("the drill has begun before the page was opened")
	}
	if !strings.Contains(get(t, page), "<h1>loadgen drill</h1>") {
		t.Error("there is no page")
	}
	stream, err := http.Get(page + "?stream")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	events := bufio.NewScanner(stream.Body)
	events.Buffer(nil, 1<<20)
	seen := map[string]bool{}
	for !seen["closed again"] && events.Scan() {
		switch text := events.Text(); {
		case strings.Contains(text, `,"drill",0,1,1,`): // closed to open by a streak
			seen["opened"] = true
		case strings.Contains(text, `,"drill",2,0,8,`): // half-open to closed, recovered
			seen["closed again"] = true
		}
	}
	if !seen["opened"] || !seen["closed again"] {
		t.Errorf("the stream told of %v: %v", seen, events.Err())
	}
	out.Await(t, `(\d) verdicts? `) // told before the stay
	out.Await(t, `staying for (1h)`)
	text := get(t, metrics)
	for _, want := range []string{
		`circuitbreaker_transitions_total{from="closed",name="drill",reason="streak",to="open"} 1`,
		`circuitbreaker_state{name="drill",state="closed"} 1`, "go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	select {
	case c := <-code:
		t.Fatalf("it did not stay: exit %d", c)
	default:
	}
	interrupt()
	select {
	case c := <-code:
		if strings.Contains(out.String(), "FAILED") != (c != 0) {
			t.Errorf("exit %d after\n%s", c, &out)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it stays when it is interrupted")
	}
	if _, err := http.Get(metrics); err == nil {
		t.Error("it is still served")
	}
}

func TestDrillThatCannotBeShownSaysSo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, flag := range []string{"-prom=", "-page="} {
		code, _, stderr := frametest.Run([]frame.Command{Command}, "drill", flag+taken.Addr().String())
		if code != 1 || !strings.Contains(stderr, "cannot serve "+strings.TrimSuffix(flag, "=")) || !strings.Contains(stderr, "choose another port") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, stderr %q", flag, code, stderr)
		}
	}
}

func TestInterruptWhileThePageIsAwaited(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var out frametest.Lines
	code := make(chan int, 1)
	go func() { code <- frame.Run(ctx, []frame.Command{Command}, []string{"drill", "-page=:0"}, &out, &out) }()
	page := out.Await(t, `live page: (http://\S+)`)
	interrupt()
	if c := <-code; c != 1 || !strings.Contains(out.String(), "interrupted; no verdict") {
		t.Errorf("exit %d, %s", c, &out)
	}
	if _, err := http.Get(page); err == nil {
		t.Error("it is still served")
	}
}
