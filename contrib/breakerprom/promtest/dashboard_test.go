package promtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFaultsOfADashboardAreFound: each of them, all at once.
func TestFaultsOfADashboardAreFound(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dashboard.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"panels": [
		{"id": 1, "type": "row", "title": "good", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 1}},
		{"id": 1, "type": "row", "title": "same id", "gridPos": {"x": 0, "y": 1, "w": 24, "h": 1}},
		{"id": 3, "type": "stat", "title": "on another", "description": "d", "gridPos": {"x": 4, "y": 1, "w": 2, "h": 2}, "targets": [{"refId": "A", "expr": "up"}]},
		{"id": 4, "type": "stat", "title": "outside", "description": "d", "gridPos": {"x": 20, "y": 5, "w": 5, "h": 1}, "targets": [{"refId": "A", "expr": "up"}]},
		{"id": 5, "type": "stat", "title": "says nothing", "gridPos": {"x": 0, "y": 6, "w": 5, "h": 1}, "targets": [{"refId": "A", "expr": "up"}]},
		{"id": 6, "type": "stat", "title": "twice A", "description": "d", "gridPos": {"x": 0, "y": 7, "w": 5, "h": 1}, "targets": [{"refId": "A", "expr": "up"}, {"refId": "A", "expr": "up"}]}
	]}`)
	_, err := ReadDashboard(file)
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, want := range []string{`"same id" and "good" have the id 1`, `"on another" and "same id" overlap`, `"outside" lies outside`, `"says nothing", lacks`, `"twice A": expression "A"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not found: %s, in\n%v", want, err)
		}
	}
	write(`{"panels": `)
	if _, err := ReadDashboard(file); err == nil {
		t.Error("half a file is accepted")
	}
}

func TestFill(t *testing.T) {
	got, err := Fill(`rate(x{job=~"$job", name=~"$name"}[$__rate_interval])`, 2*time.Second)
	if want := `rate(x{job=~".*", name=~".*"}[2000ms])`; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := Fill(`x{pod="$pod"}`, time.Second); err == nil || !strings.Contains(err.Error(), "$pod") {
		t.Errorf("an unknown variable gave %v", err)
	}
}
