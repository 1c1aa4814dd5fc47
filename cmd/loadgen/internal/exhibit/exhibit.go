// Package exhibit shows a breaker while it works: on a live page, and to a
// Prometheus that scrapes it.
package exhibit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/contrib/breakerpage"
	"github.com/atomicbreaker/breaker/contrib/breakerprom"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Exhibit shows the breaker of a drill while it runs: on a live page, and to a
// Prometheus that scrapes it.
type Exhibit struct {
	page    address
	prom    address
	stay    time.Duration
	staySet bool

	Watch   breakerwatch.Watch // what is shown
	live    *breakerpage.Page
	opened  chan struct{} // closed when the page has been opened
	servers []*http.Server
}

const (
	pageAddress = "127.0.0.1:8099" // of -page without an address
	waitForPage = 30 * time.Second // until it is opened, before the drill begins
	stayForPage = 10 * time.Minute // after it, if -stay is not set
)

// Flags registers the flags. They are -page, -prom and -stay.
func (e *Exhibit) Flags(fs *flag.FlagSet) {
	e.page.optional = pageAddress
	fs.Var(&e.page, "page", "show a live page of the breaker, by default at http://"+pageAddress+"/; another\n"+
		"`address` is given as -page=:PORT or -page=HOST:PORT. The drill begins when the\npage is opened, or after 30 s")
	fs.Var(&e.prom, "prom", "serve metrics for Prometheus at /metrics of this `address`, :PORT (on loopback)\nor HOST:PORT")
	fs.Func("stay", "stay for so long when the drill is over, 0s to 24h, or until interrupted (default\n10m with -page, otherwise 0s)", func(text string) error {
		d, err := time.ParseDuration(text)
		e.stay, e.staySet = d, true
		return err
	})
}

func (e *Exhibit) Validate(reject func(string, ...any)) {
	if e.stay < 0 || e.stay > 24*time.Hour {
		reject("-stay is %v, want 0s to 24h", e.stay)
	}
	if e.staySet && !e.On() {
		reject("-stay needs -page or -prom")
	}
	if e.page.hostPort != "" && e.page.hostPort == e.prom.hostPort && !strings.HasSuffix(e.prom.hostPort, ":0") {
		reject("-page and -prom are both %s, want two ports", e.page.hostPort)
	}
}

func (e *Exhibit) On() bool { return e.page.hostPort != "" || e.prom.hostPort != "" }

// Start serves what was asked for.
func (e *Exhibit) Start(c *frame.Console) error {
	e.opened = make(chan struct{})
	if e.page.hostPort != "" {
		page, err := breakerpage.New(&e.Watch, &breakerpage.Options{
			Title: "loadgen drill", Interval: 250 * time.Millisecond, Points: 120,
		})
		if err != nil {
			return err
		}
		e.live = page
		opened := sync.OnceFunc(func() { close(e.opened) })
		url, err := e.serve("-page", e.page.hostPort, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("stream") {
				opened()
			}
			page.ServeHTTP(w, r)
		}))
		if err != nil {
			return err
		}
		c.Printf("live page: %s/\n", url)
	}
	if e.prom.hostPort != "" {
		registry := prometheus.NewRegistry()
		registry.MustRegister(breakerprom.New(&e.Watch), collectors.NewGoCollector())
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
		url, err := e.serve("-prom", e.prom.hostPort, mux)
		if err != nil {
			return err
		}
		c.Printf("metrics: %s/metrics\n", url)
	}
	return nil
}

func (e *Exhibit) serve(flag, hostPort string, handler http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", hostPort)
	if err != nil {
		return "", fmt.Errorf("cannot serve %s: %w; choose another port", flag, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	e.servers = append(e.servers, server)
	go server.Serve(listener) // ends with stop
	return "http://" + listener.Addr().String(), nil
}

// Wait gives somebody the time to open the page before there is something to
// see.
func (e *Exhibit) Wait(ctx context.Context, c *frame.Console) error {
	if e.live == nil {
		return nil
	}
	c.Printf("the drill begins when it is opened, or in %v\n\n", waitForPage)
	select {
	case <-e.opened:
	case <-time.After(waitForPage):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Linger goes on serving after the verdict, for as long as was asked for.
func (e *Exhibit) Linger(ctx context.Context, c *frame.Console) {
	stay := e.stay
	if !e.staySet && e.live != nil {
		stay = stayForPage
	}
	if stay > 0 {
		c.Printf("\nstaying for %v; Ctrl-C ends it\n", stay)
		select {
		case <-time.After(stay):
		case <-ctx.Done():
		}
	}
	e.Stop()
}

func (e *Exhibit) Stop() {
	if e.live != nil {
		e.live.Close()
	}
	for _, s := range e.servers {
		s.Close()
	}
}

// address is a flag's host and port, on loopback if only a port is given. With
// optional set the flag may stand without a value, which is then that.
type address struct {
	hostPort string
	optional string
}

func (a *address) String() string   { return a.hostPort }
func (a *address) IsBoolFlag() bool { return a.optional != "" }

func (a *address) Set(text string) error {
	if a.optional != "" {
		switch text {
		case "true":
			a.hostPort = a.optional
			return nil
		case "false":
			a.hostPort = ""
			return nil
		}
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("want :PORT or HOST:PORT")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("want a port of 0 to 65535")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	a.hostPort = net.JoinHostPort(host, port)
	return nil
}
