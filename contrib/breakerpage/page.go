package breakerpage

import (
	"embed"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// Options change what a [Page] does. The zero value and nil mean the defaults.
type Options struct {
	// Title is the page's heading. Default: Circuit breakers.
	Title string

	// Interval is how often the breakers are read, 100 ms to 1 minute. Where
	// reading them takes more than a hundredth of that, or a tenth while
	// somebody looks at the page, it is done less often. Default: 1 s.
	Interval time.Duration

	// Points is how many readings the sparklines go back, 10 to 1000. A breaker
	// that is in use costs 13 bytes for each. Default: 180.
	Points int

	// Viewers is how many pages may be open at once, 1 to 1000. A page that comes
	// when there are as many takes the place of one that has not been heard of for
	// 45 s; if there is none, it asks for everything every 5 s. Default: 32.
	Viewers int

	// Hosts are the names under which the page is reached, without port, such
	// as ops.example. Requests with another name in the Host header are refused;
	// this keeps out pages of other sites whose names resolve to this server's
	// address. Addresses and localhost are always accepted. Default: none; then
	// any name may look, and no name may command.
	Hosts []string

	// Authorize makes the page able to command: it is asked for every Trip,
	// Reset and change of mode and allows it by returning nil. The error is
	// shown to the user. Requests from pages of other origins are refused
	// before. It is asked for each breaker of a command to several, of which
	// nothing is done unless all are allowed. Default: nil, nobody may.
	Authorize func(*http.Request, Command) error

	// User is who sends a request, for the audit; it is bounded and escaped.
	// Default: the user of HTTP's basic authentication, without a check.
	User func(*http.Request) string

	// Audit is called with every command, done or refused, and of the end of modes
	// that were set for a time. It runs on the request's goroutine, or a timer's,
	// and may run concurrently. Default: a record of slog.Default(), at level Info,
	// Warn for what was refused.
	Audit func(Entry)
}

// Validate returns every fault of o, joined.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerpage: Options."+format, args...))
	}
	if o.Interval != 0 && (o.Interval < 100*time.Millisecond || o.Interval > time.Minute) {
		fault("Interval is %v, want 100ms to 1m", o.Interval)
	}
	if o.Points != 0 && (o.Points < 10 || o.Points > 1000) {
		fault("Points is %d, want 10 to 1000", o.Points)
	}
	if o.Viewers < 0 || o.Viewers > 1000 {
		fault("Viewers is %d, want 1 to 1000", o.Viewers)
	}
	for i, host := range o.Hosts {
		if f := hostFault(host); f != "" {
			fault("Hosts[%d], %.100q, %s", i, host, f)
		}
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Title == "" {
		o.Title = "Circuit breakers"
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.Points == 0 {
		o.Points = 180
	}
	if o.Viewers == 0 {
		o.Viewers = 32
	}
	return o
}

// Page is the handler. It may be served under any path. It reads the breakers
// from when it is made, so that there is a past to look at, in a goroutine that
// ends with [Page.Close] or when nobody holds the Page any more.
type Page struct {
	options Options
	watch   *breakerwatch.Watch
	origins http.CrossOriginProtection
	hosts   map[string]bool // nil: see checkHost
	holds   holds
	closed  chan struct{}
	close   func()

	mu      sync.Mutex // guards what follows
	board   board
	viewers map[*viewer]struct{}
	wait    time.Duration // until the next reading
}

// New makes a page and begins to read the breakers of watch.
func New(watch *breakerwatch.Watch, o *Options) (*Page, error) {
	if watch == nil {
		return nil, errors.New("breakerpage: New with a nil Watch")
	}
	if o == nil {
		o = new(Options)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p := &Page{options: o.withDefaults(), watch: watch, closed: make(chan struct{}), viewers: map[*viewer]struct{}{}}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	p.hosts = hostSet(p.options.Hosts)
	p.board = newBoard(p.options.Points)
	p.wait = p.options.Interval
	p.sample()
	go run(weak.Make(p), p.options.Interval, p.closed)
	return p, nil
}

// Close stops the reading and ends every open page's stream, for which a
// graceful shutdown of the server would wait: see http.Server.RegisterOnShutdown.
// It may be called more than once.
func (p *Page) Close() { p.close() }

// run reads until the page is closed or collected.
func run(page weak.Pointer[Page], wait time.Duration, closed <-chan struct{}) {
	for {
		select {
		case <-closed:
			return
		case <-time.After(wait):
		}
		p := page.Value()
		if p == nil {
			return
		}
		took, watched := p.sample()
		share := time.Duration(100)
		if watched {
			share = 10
		}
		wait = max(p.options.Interval, share*took)
		p.mu.Lock()
		p.wait = wait
		p.mu.Unlock()
	}
}

// sample reads the breakers and tells the viewers. It returns how long that
// took and whether there are any.
func (p *Page) sample() (took time.Duration, watched bool) {
	start := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board.sample(p.watch, &p.holds, start)
	if len(p.viewers) > 0 {
		p.broadcast()
	}
	return time.Since(start), len(p.viewers) > 0
}

//go:embed assets
var assets embed.FS

// assetTypes are the files that the page is made of.
var assetTypes = map[string]string{
	"page.css": "text/css; charset=utf-8",
	"page.js":  "text/javascript; charset=utf-8",
	"draw.js":  "text/javascript; charset=utf-8",
	"words.js": "text/javascript; charset=utf-8",
}

// policy lets the page load and ask its own handler and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if err := p.checkHost(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		p.show(w, r)
	case http.MethodPost:
		p.command(w, r)
	default:
		h.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "use GET, or POST for a command", http.StatusMethodNotAllowed)
	}
}

// show answers questions. It changes nothing.
func (p *Page) show(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Has("stream"):
		p.stream(w, r)
	case query.Has("state"):
		p.state(w)
	case query.Has("alive"):
		p.alive(w, query.Get("alive"))
	case query.Has("export"):
		p.export(w)
	case query.Has("history"):
		p.history(w, query.Get("history"))
	case query.Has("breaker"):
		p.detail(w, query.Get("breaker"))
	case query.Has("asset"):
		serveAsset(w, r, query.Get("asset"))
	case query.Get("format") == "json":
		p.json(w)
	case query.Get("format") == "text":
		p.text(w)
	case query.Get("format") == "brief":
		p.brief(w)
	case query.Has("format"):
		http.Error(w, "unknown format: want json, text or brief, or none for the page", http.StatusBadRequest)
	default:
		p.html(w)
	}
}

func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	kind, ok := assetTypes[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(text) // to a browser that may have gone
}

// words are the texts of states, modes and reasons for the script, which gets
// them as numbers.
var words = map[string][]string{
	"states":  texts(atomicbreaker.StateHalfOpen),
	"modes":   texts(atomicbreaker.Shadow),
	"reasons": texts(atomicbreaker.ReasonNearDeadline),
	"kinds":   kinds(),
}

func kinds() (all []string) {
	for _, k := range breakerwatch.Kinds() {
		all = append(all, k.String())
	}
	return all
}

func texts[T interface {
	~uint8
	String() string
}](last T) []string {
	var all []string
	for v := range last + 1 {
		all = append(all, v.String())
	}
	return all
}
