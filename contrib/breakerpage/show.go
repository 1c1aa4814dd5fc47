package breakerpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

var pageTemplate = template.Must(template.ParseFS(assets, "assets/page.html"))

// html answers with the page. What it shows comes by the stream.
func (p *Page) html(w http.ResponseWriter) {
	settings, err := json.Marshal(map[string]any{"words": words, "writable": p.options.Authorize != nil})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, struct {
		Title, Settings string
	}{p.options.Title, string(settings)})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes()) // to a browser that may have gone
}

// jsonPage is the JSON form of the page.
type jsonPage struct {
	Time     time.Time              `json:"time"`
	Breakers []breakerwatch.Reading `json:"breakers"`
	Stats    breakerwatch.Stats     `json:"stats"`
	Events   []jsonEvent            `json:"events"`
	Outages  []breakerwatch.Outage  `json:"outages"` // those that are over
	Audit    []Entry                `json:"audit"`
}

// jsonEvent is a change of state.
type jsonEvent struct {
	Number     uint64               `json:"number"`
	Time       time.Time            `json:"time"`
	Name       string               `json:"name"`
	From       atomicbreaker.State  `json:"from"`
	To         atomicbreaker.State  `json:"to"`
	Reason     atomicbreaker.Reason `json:"reason"`
	Generation uint32               `json:"generation"`
	Counts     atomicbreaker.Counts `json:"counts"`
}

func jsonEvents(events []breakerwatch.Event, of func(breakerwatch.Event) bool) []jsonEvent {
	list := []jsonEvent{}
	for _, e := range events {
		if of(e) {
			list = append(list, jsonEvent{e.Number, e.Time, e.Name, e.From, e.To, e.Reason, e.Generation, e.Counts})
		}
	}
	return list
}

func (p *Page) json(w http.ResponseWriter) { writeJSON(w, p.everything()) }

func (p *Page) everything() jsonPage {
	page := jsonPage{Time: time.Now(), Breakers: p.watch.Read([]breakerwatch.Reading{}), Stats: p.watch.Stats()}
	page.Events = jsonEvents(p.watch.Events(0), func(breakerwatch.Event) bool { return true })
	page.Outages = append([]breakerwatch.Outage{}, p.watch.Outages(0)...)
	page.Audit = append([]Entry{}, p.holds.since(0)...)
	return page
}

// export answers with everything and the past hour of each breaker, as a file.
func (p *Page) export(w http.ResponseWriter) {
	hours := map[string]*jsonHour{}
	p.mu.Lock()
	for name, line := range p.board.rows {
		if h := line.hour.json(); h != nil {
			hours[name] = h
		}
	}
	p.mu.Unlock()
	file := "breakers-" + time.Now().UTC().Format("20060102T150405Z") + ".json"
	w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
	writeJSON(w, struct {
		jsonPage
		Hours map[string]*jsonHour `json:"hours"`
	}{p.everything(), hours})
}

// detail answers with everything about one breaker, as of the last reading.
func (p *Page) detail(w http.ResponseWriter, name string) {
	p.mu.Lock()
	line := p.board.rows[name]
	if line == nil {
		p.mu.Unlock()
		http.Error(w, fmt.Sprintf("there is no breaker named %q", name), http.StatusNotFound)
		return
	}
	reading, past := *line.reading, line.hour.json()
	hold, isHeld := p.holds.on(name, line.shown.mode, line.breaker)
	p.mu.Unlock()
	var held *Entry
	if isHeld {
		held = &hold
	}
	outages, audit := []breakerwatch.Outage{}, []Entry{}
	for _, o := range p.watch.Outages(0) {
		if o.Name == name {
			outages = append(outages, o)
		}
	}
	for _, e := range p.holds.since(0) {
		if e.Breaker == name {
			audit = append(audit, e)
		}
	}
	writeJSON(w, struct {
		Breaker breakerwatch.Reading  `json:"breaker"`
		Events  []jsonEvent           `json:"events"`
		Bounds  []time.Duration       `json:"latency_bounds_ns"`
		Hour    *jsonHour             `json:"hour,omitempty"`
		Outages []breakerwatch.Outage `json:"outages"` // those that are over
		Audit   []Entry               `json:"audit"`
		Held    *Entry                `json:"held,omitempty"`
	}{
		reading,
		jsonEvents(p.watch.Events(0), func(e breakerwatch.Event) bool { return e.Name == name }),
		breakerwatch.ProbeBounds(),
		past, outages, audit, held,
	})
}

func writeJSON(w http.ResponseWriter, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // to a client that may have gone
}

// text answers with a table for a terminal.
func (p *Page) text(w http.ResponseWriter) {
	now := time.Now()
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BREAKER\tSTATE\tMODE\tFOR\tWINDOW\tFAILED\tREFUSED\tPROBES\tOPENED\tOPEN IN ALL\tLAST REFUSAL\tOUTAGE\tSINCE\tBECAUSE OF\tLAST ERROR")
	for _, r := range p.watch.Read(nil) {
		probes := "-"
		if r.State == atomicbreaker.StateHalfOpen {
			probes = fmt.Sprintf("%d of %d", r.ProbesInFlight, r.ProbeWindow)
		}
		refused := "-"
		if !r.LastRefusal.IsZero() {
			refused = short(now.Sub(r.LastRefusal)) + " ago"
		}
		outage, since, rule, kind := "-", "-", "-", "-"
		if o := r.Outage; o != nil {
			outage, since, rule = short(o.Lasted(now)), o.Began.Format(time.RFC3339), o.Reason.String()
		}
		if e, ok := r.Errors(); ok {
			kind = e.Last.Kind.String() + ": " + e.Last.Text
		}
		fmt.Fprintf(table, "%s\t%v\t%v\t%s\t%d calls, %.1f %%\t%d\t%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n",
			printable(r.Name), r.State, r.Mode, short(now.Sub(r.Changed)), r.Rolling.Calls, 100*r.Rolling.FailureRate(),
			r.Failed, r.Refused(), probes, r.Opened, short(r.TimeOpen), refused, outage, since, rule, kind)
	}
	_ = table.Flush() // a buffer takes everything
	if s := p.watch.Stats(); s.Clashes > 0 {
		fmt.Fprintf(&out, "\n%d breakers are left out because another one has their name\n", s.Clashes)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(out.Bytes()) // to a client that may have gone
}

func short(d time.Duration) string {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// printable is a name without what a terminal or the table would take for a
// command. Names hold no control characters, but others can turn text around.
func printable(name string) string {
	if name == "" {
		return "(no name)"
	}
	quoted := fmt.Sprintf("%q", name)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
