// Package promtest runs a real Prometheus server in tests, and reads the
// expressions of a Grafana dashboard.
package promtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Server is a Prometheus server on loopback, with a store of its own.
type Server struct {
	url  string
	http http.Client
}

// Start runs the prometheus of the PATH until the test ends; it skips the test
// if there is none. The server scrapes /metrics of the targets, each a host
// and port, and evaluates the rule files, all at the interval. It has scraped
// each target once when Start returns, which takes it 5 s.
func Start(t testing.TB, interval time.Duration, ruleFiles []string, targets ...string) *Server {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("NOT TESTED: prometheus is not installed (Debian: apt-get install prometheus)")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, configFor(t, interval, ruleFiles, targets), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	logs := filepath.Join(dir, "log")
	log, err := os.Create(logs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		log.Close()
	})
	s := &Server{url: "http://" + address, http: http.Client{Timeout: 10 * time.Second}}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if s.scraped(len(targets)) {
			return s
		}
		select {
		case err := <-ended:
			ended <- err
			text, _ := os.ReadFile(logs)
			t.Fatalf("prometheus ended: %v\n%s", err, text)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("prometheus has not scraped every target after 30 s")
		}
	}
}

func configFor(t testing.TB, interval time.Duration, ruleFiles, targets []string) []byte {
	t.Helper()
	absolute := []string{}
	for _, f := range ruleFiles {
		f, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		absolute = append(absolute, f)
	}
	every := fmt.Sprintf("%dms", interval.Milliseconds())
	// JSON is YAML.
	text, err := json.Marshal(map[string]any{
		"global":     map[string]any{"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
		"rule_files": absolute,
		"scrape_configs": []any{map[string]any{
			"job_name": "test", "static_configs": []any{map[string]any{"targets": targets}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// scraped reports whether so many targets have been scraped.
func (s *Server) scraped(targets int) bool {
	up, err := s.Query("up")
	return err == nil && len(up) >= targets
}

// Sample is a series and its value at the instant of the query.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query evaluates an expression now.
func (s *Server) Query(expr string) ([]Sample, error) {
	var result struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if err := s.get("/api/v1/query", url.Values{"query": {expr}}, &result); err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	var samples []Sample
	for _, r := range result.Result {
		sample := Sample{Labels: r.Metric}
		if _, err := fmt.Sscan(fmt.Sprint(r.Value[1]), &sample.Value); err != nil {
			return nil, fmt.Errorf("%s: value %v: %w", expr, r.Value[1], err)
		}
		samples = append(samples, sample)
	}
	return samples, nil
}

// QueryRange evaluates an expression over the last d and returns how many
// series there were and how many points in all.
func (s *Server) QueryRange(expr string, d, step time.Duration) (series, points int, err error) {
	now := time.Now()
	var result struct {
		Result []struct{ Values []any }
	}
	form := url.Values{
		"query": {expr}, "start": {unix(now.Add(-d))}, "end": {unix(now)}, "step": {fmt.Sprint(step.Seconds())},
	}
	if err := s.get("/api/v1/query_range", form, &result); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", expr, err)
	}
	for _, r := range result.Result {
		points += len(r.Values)
	}
	return len(result.Result), points, nil
}

func unix(t time.Time) string { return fmt.Sprintf("%.3f", float64(t.UnixMilli())/1000) }

// A Rule is a recording rule or an alert as the server knows it.
type Rule struct{ Name, Type, Query, Health, LastError, State string }

// Rules returns the rules that the server evaluates.
func (s *Server) Rules() ([]Rule, error) {
	var result struct{ Groups []struct{ Rules []Rule } }
	if err := s.get("/api/v1/rules", nil, &result); err != nil {
		return nil, err
	}
	var rules []Rule
	for _, g := range result.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules, nil
}

// WaitFor waits until an expression has a value, for at most 30 s.
func (s *Server) WaitFor(ctx context.Context, expr string) ([]Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		samples, err := s.Query(expr)
		if err != nil || len(samples) > 0 {
			return samples, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: no value after 30 s", expr)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *Server) get(path string, form url.Values, data any) error {
	resp, err := s.http.Get(s.url + path + "?" + form.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var envelope struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(text, &envelope); err != nil {
		return fmt.Errorf("status %d: %s", resp.StatusCode, strings.TrimSpace(string(text)))
	}
	if envelope.Status != "success" {
		return errors.New(envelope.Error)
	}
	return json.Unmarshal(envelope.Data, data)
}
