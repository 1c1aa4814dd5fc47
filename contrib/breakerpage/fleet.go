package breakerpage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Source is a page of another process, that a [Fleet] reads.
type Source struct {
	Job      string // what the process is one of, such as checkout
	Instance string // which one it is
	URL      string // of its page, http or https, such as http://10.1.2.3:6060/debug/breakers/
}

// FleetOptions change what a [Fleet] does. The zero value and nil mean the
// defaults.
type FleetOptions struct {
	Title    string        // the heading. Default: Circuit breakers of the fleet
	Interval time.Duration // how old an answer may be before the sources are asked again, 1 s to 1 minute. Default: 5 s
	Timeout  time.Duration // how long a source may take to answer, 100 ms to 30 s. Default: 3 s
	Hosts    []string      // as Options.Hosts

	// Client asks the sources, with whatever credentials they want. Default: one
	// that follows no redirects.
	Client *http.Client
}

// Validate returns every fault of o, joined.
func (o FleetOptions) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerpage: FleetOptions."+format, args...))
	}
	if o.Interval != 0 && (o.Interval < time.Second || o.Interval > time.Minute) {
		fault("Interval is %v, want 1s to 1m", o.Interval)
	}
	if o.Timeout != 0 && (o.Timeout < 100*time.Millisecond || o.Timeout > 30*time.Second) {
		fault("Timeout is %v, want 100ms to 30s", o.Timeout)
	}
	for i, host := range o.Hosts {
		if f := hostFault(host); f != "" {
			fault("Hosts[%d], %.100q, %s", i, host, f)
		}
	}
	return errors.Join(faults...)
}

// Fleet is a handler that shows the breakers of many processes in one view: for
// each job and name, how many instances are in which state, since when and
// why, and which of them differ from the others. It reads the sources when
// somebody looks, so it costs nothing otherwise and has no goroutine. It commands
// nothing: for that it links to the page of each instance.
type Fleet struct {
	options FleetOptions
	sources func() []Source
	page    Page // for its Hosts

	mu      sync.Mutex // one reading of the sources at a time
	asked   time.Time
	answers []answer
}

// answer is what a source said last.
type answer struct {
	Source
	brief
	Fault string
}

// The bounds of what sources can make a Fleet do.
const (
	maxAnswer  = 32 << 20 // bytes of one
	maxSources = 2000
	atOnce     = 16 // sources asked
	maxNamed   = 12 // instances named in a row
)

// NewFleet makes a Fleet. sources is asked for the processes of now before
// they are read; it may run for as long as a lookup takes, and never concurrently.
func NewFleet(sources func() []Source, o *FleetOptions) (*Fleet, error) {
	if sources == nil {
		return nil, errors.New("breakerpage: NewFleet without sources")
	}
	if o == nil {
		o = new(FleetOptions)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	f := &Fleet{options: *o, sources: sources}
	if f.options.Title == "" {
		f.options.Title = "Circuit breakers of the fleet"
	}
	if f.options.Interval == 0 {
		f.options.Interval = 5 * time.Second
	}
	if f.options.Timeout == 0 {
		f.options.Timeout = 3 * time.Second
	}
	if f.options.Client == nil {
		f.options.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	f.page.hosts = hostSet(o.Hosts)
	return f, nil
}

// read returns what the sources say, asked again if that is old.
func (f *Fleet) read() []answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.asked) < f.options.Interval {
		return f.answers
	}
	sources := f.sources()
	sources = sources[:min(len(sources), maxSources)]
	answers := make([]answer, len(sources))
	var wg sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i, s := range sources {
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			answers[i] = f.ask(s)
		})
	}
	wg.Wait()
	f.answers, f.asked = answers, time.Now()
	return answers
}

// ask reads one source.
func (f *Fleet) ask(s Source) answer {
	a := answer{Source: s}
	ctx, cancel := context.WithTimeout(context.Background(), f.options.Timeout)
	defer cancel()
	if err := f.fetch(ctx, s.URL, &a.brief); err != nil {
		a.brief = brief{}
		a.Fault = printableReason(err.Error())
	}
	return a
}

func (f *Fleet) fetch(ctx context.Context, at string, into *brief) error {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("its URL is not one of http or https")
	}
	u.RawQuery = "format=brief"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	resp, err := f.options.Client.Do(req)
	if err != nil {
		var without *url.Error // the URL may hold a password
		if errors.As(err, &without) {
			err = without.Err
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers with status %d", resp.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("its answer cannot be read: %w", err)
	}
	return nil
}

// fleetRow is one breaker of one job on all its instances.
type fleetRow struct {
	Job       string         `json:"job"`
	Name      string         `json:"name"`
	Instances int            `json:"instances"`
	Closed    int            `json:"closed"`
	Open      int            `json:"open"`
	HalfOpen  int            `json:"half_open"`
	Modes     map[string]int `json:"modes,omitempty"` // other than auto
	Since     time.Time      `json:"since,omitzero"`  // the earliest beginning of an outage that lasts
	Reasons   map[string]int `json:"reasons,omitempty"`
	Errors    map[string]int `json:"errors,omitempty"` // instances by the kind of their last error, of those that are not closed
	Differ    []differs      `json:"differ,omitempty"` // instances in another state than most
}

type differs struct {
	Instance string              `json:"instance"`
	URL      string              `json:"url"`
	State    atomicbreaker.State `json:"state"`
}

// out is how many instances are not closed.
func (r *fleetRow) out() int { return r.Open + r.HalfOpen }

// fleetRows adds up answers, those with the largest share in an outage first.
func fleetRows(answers []answer) []*fleetRow {
	type key struct{ job, name string }
	rows := map[key]*fleetRow{}
	states := map[key][]differs{}
	for _, a := range answers {
		for _, b := range a.Breakers {
			k := key{a.Job, b.Name}
			if rows[k] == nil {
				rows[k] = &fleetRow{Job: a.Job, Name: b.Name, Modes: map[string]int{}, Reasons: map[string]int{}, Errors: map[string]int{}}
			}
			rows[k].add(b)
			states[k] = append(states[k], differs{a.Instance, safeURL(a.URL), b.State})
		}
	}
	var list []*fleetRow
	for k, r := range rows {
		most := atomicbreaker.StateClosed
		if r.out() > r.Closed {
			most = atomicbreaker.StateOpen
		}
		for _, d := range states[k] {
			if (d.State == atomicbreaker.StateClosed) != (most == atomicbreaker.StateClosed) {
				r.Differ = append(r.Differ, d)
			}
		}
		slices.SortFunc(r.Differ, func(a, b differs) int { return strings.Compare(a.Instance, b.Instance) })
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *fleetRow) int {
		return cmp.Or(cmp.Compare(b.out()*a.Instances, a.out()*b.Instances), cmp.Compare(b.out(), a.out()),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Job, b.Job))
	})
	return list
}

func (r *fleetRow) add(b briefBreaker) {
	r.Instances++
	switch b.State {
	case atomicbreaker.StateClosed:
		r.Closed++
	case atomicbreaker.StateOpen:
		r.Open++
	default:
		r.HalfOpen++
	}
	if b.Mode != atomicbreaker.Auto {
		r.Modes[b.Mode.String()]++
	}
	if b.Outage != nil {
		if r.Since.IsZero() || b.Outage.Began.Before(r.Since) {
			r.Since = b.Outage.Began
		}
		r.Reasons[b.Outage.Reason.String()]++
		if b.Error != "" {
			r.Errors[b.Error]++
		}
	}
}

// safeURL is a source's address without a password.
func safeURL(at string) string {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User = nil
	return u.String()
}

// fleetPolicy lets the page load its style and nothing else.
const fleetPolicy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (f *Fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", fleetPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if err := f.page.checkHost(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET: commands go to the page of an instance", http.StatusMethodNotAllowed)
		return
	}
	query := r.URL.Query()
	switch {
	case query.Has("asset"):
		serveAsset(w, r, query.Get("asset"))
	case query.Get("format") == "json":
		answers := f.read()
		writeJSON(w, struct {
			Time     time.Time   `json:"time"`
			Breakers []*fleetRow `json:"breakers"`
			Silent   []silent    `json:"silent"`
		}{time.Now(), append([]*fleetRow{}, fleetRows(answers)...), silents(answers)})
	case query.Has("format"):
		http.Error(w, "unknown format: want json, or none for the page", http.StatusBadRequest)
	default:
		f.html(w)
	}
}

// silent is a source that gave no answer.
type silent struct {
	Job      string `json:"job"`
	Instance string `json:"instance"`
	URL      string `json:"url"`
	Fault    string `json:"fault"`
}

func silents(answers []answer) []silent {
	list := []silent{}
	for _, a := range answers {
		if a.Fault != "" {
			list = append(list, silent{a.Job, a.Instance, safeURL(a.URL), a.Fault})
		}
	}
	return list
}

var fleetTemplate = template.Must(template.New("fleet.html").Funcs(template.FuncMap{
	"printable": printable,
	"short":     short,
	"counts": func(m map[string]int) string {
		var parts []string
		for k, n := range m {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(k, "-", " ")))
		}
		slices.Sort(parts)
		return strings.Join(parts, ", ")
	},
	"some": func(d []differs) []differs { return d[:min(len(d), maxNamed)] },
	"more": func(d []differs) int { return max(len(d)-maxNamed, 0) },
	"ago":  func(now, t time.Time) string { return short(max(now.Sub(t), 0)) },
}).ParseFS(assets, "assets/fleet.html"))

func (f *Fleet) html(w http.ResponseWriter) {
	answers := f.read()
	var out bytes.Buffer
	err := fleetTemplate.Execute(&out, struct {
		Title   string
		Refresh int
		Now     time.Time
		Sources int
		Rows    []*fleetRow
		Silent  []silent
	}{f.options.Title, max(int(f.options.Interval/time.Second), 1), time.Now(), len(answers), fleetRows(answers), silents(answers)})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes()) // to a browser that may have gone
}
