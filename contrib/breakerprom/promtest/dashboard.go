package promtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// Dashboard is what a test wants to know of a Grafana dashboard.
type Dashboard struct {
	UID, Title string
	Panels     []Panel
	Templating struct {
		List []struct{ Name, Type string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
}

// Panel is one panel.
type Panel struct {
	ID          int
	Type, Title string
	Description string
	GridPos     struct{ X, Y, W, H int }
	Targets     []Target
}

// Target is one expression of a panel.
type Target struct {
	RefID   string
	Expr    string
	Instant bool
}

// ReadDashboard reads a dashboard and checks its form: panels with different
// ids that do not overlap and lie within the 24 columns, with a title and, except
// for rows, a description and expressions of different names.
func ReadDashboard(file string) (*Dashboard, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := new(Dashboard)
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(d); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	ids := map[int]string{}
	cells := map[[2]int]string{}
	for _, p := range d.Panels {
		if other, ok := ids[p.ID]; ok || p.ID <= 0 {
			fault("panels %q and %q have the id %d", p.Title, other, p.ID)
		}
		ids[p.ID] = p.Title
		g := p.GridPos
		if g.X < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > 24 {
			fault("panel %q lies outside of the grid: %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := cells[[2]int{x, y}]; ok {
					fault("panels %q and %q overlap", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Title == "" || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			fault("panel %d, %q, lacks a title, a description or expressions", p.ID, p.Title)
		}
		refs := map[string]bool{}
		for _, t := range p.Targets {
			if t.Expr == "" || refs[t.RefID] {
				fault("panel %q: expression %q is empty or not the only one of its name", p.Title, t.RefID)
			}
			refs[t.RefID] = true
		}
	}
	return d, errors.Join(faults...)
}

var variable = regexp.MustCompile(`\$\{?\w+`)

// Fill puts values in place of Grafana's variables: the rate interval, and
// "all" for every other. It fails if one is left.
func Fill(expr string, rate time.Duration) (string, error) {
	every := fmt.Sprintf("%dms", rate.Milliseconds())
	filled := strings.NewReplacer(`$__rate_interval`, every, `$__interval`, every,
		`"$job"`, `".*"`, `"$instance"`, `".*"`, `"$name"`, `".*"`).Replace(expr)
	if left := variable.FindString(filled); left != "" {
		return "", fmt.Errorf("unknown variable %s in %s", left, expr)
	}
	return filled, nil
}
