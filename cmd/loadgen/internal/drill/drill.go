// Package drill breaks a real server behind a breaker, mends it, and judges how
// the breaker took it.
package drill

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/latency"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// Command is what loadgen lists.
var Command = frame.Command{
	Name:    "drill",
	Summary: "an HTTP server that breaks and comes back behind the breaker, second by second",
	About: `
loadgen drill [flags]

Starts an HTTP server on loopback and sends it steady traffic through
breakerhttp.Transport and a breaker with its default settings. Then it breaks
the server, mends it, and judges how the breaker took it. Calls start at
instants drawn beforehand, whether or not earlier ones have ended, and their
latency counts from there.

  loadgen drill                               connections are refused for 4 s
  loadgen drill -fault hang -timeout 500ms    requests are taken and never answered
  loadgen drill -fault overload -capacity 100 more calls come than can be served
  loadgen drill -page                         watch it in a browser
  loadgen drill -html drill.html              keep it as a picture
  loadgen drill -target http://127.0.0.1:8080/ -rate 20
                                              a server of your own: break it yourself

The verdicts: the breaker opened after as few failed calls as its rules say,
few calls failed in all, it closed again within the time that the length of
the outage allows, nothing was refused at the end, it opened for no other
reason, and its books agree with the callers' to the last call. With -target
only the books are judged. Load only servers that are yours.`,
	Declare: func(fs *flag.FlagSet) frame.Job {
		j := &job{}
		j.flags(fs)
		return j
	},
}

// facts are the figures behind the checks.
type facts struct {
	Plan      plan                   `json:"plan"`
	Total     counts                 `json:"total"`
	LatencyMS map[string]float64     `json:"latency_ms"` // of answered calls, from their intended start
	RefusalNS map[string]float64     `json:"refusal_ns"` // of refused calls, through the transport
	Breaker   atomicbreaker.Snapshot `json:"breaker"`
	Seconds   []second               `json:"seconds"`
	Events    []event                `json:"events"`

	firstAnswer, lastRefusal time.Duration // of calls due after the mend, since the start; 0: none
}

// run starts what the plan needs and carries it out.
func (j *job) Run(ctx context.Context, r *frame.Report) error {
	plan := &j.plan
	url := plan.Target
	var server *faultyServer
	if url == "" {
		server = &faultyServer{delay: 2 * plan.Timeout, capacity: plan.Capacity, patience: 2 * plan.Timeout}
		if err := server.start(); err != nil {
			return err
		}
		defer server.kill()
		url = server.url()
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns, base.MaxIdleConnsPerHost = maxInFlight, maxInFlight
	defer base.CloseIdleConnections()
	if err := knock(ctx, base, url, plan.Timeout); err != nil {
		return err
	}

	x := &exercise{plan: plan, server: server, wire: &wire{base: base}, watch: latency.NewStopwatch(), tally: newTally()}
	x.story = &timeline{console: r.Console, rate: plan.Rate, tally: x.tally}
	x.film = &film{tally: x.tally, every: max(plan.total()/moments, 50*time.Millisecond)}
	config := j.config
	config.Name = "drill"
	config.OnTransition = x.story.transition
	breaker, err := atomicbreaker.New(j.show.Watch.Config(config))
	if err != nil {
		return err
	}
	x.breaker, x.story.breaker, x.film.breaker = breaker, breaker, breaker

	r.Console.Printf("%s\n\n", plan)
	if err := j.exhibit(ctx, r, breaker); err != nil {
		return err
	}
	if err := x.run(ctx, url); err != nil {
		j.show.Stop()
		return err
	}
	facts := x.facts()
	r.Facts("drill", facts)
	rule := rulesOf(config)
	x.summary(r.Console, rule, facts)
	x.judge(r, rule, facts)
	if j.html == "" {
		return nil
	}
	if err := x.writePage(j.html, r, facts); err != nil {
		return fmt.Errorf("cannot write -html: %w", err)
	}
	r.Console.Printf("wrote %s\n", j.html)
	return nil
}

// exhibit begins to show the breaker, if that was asked for. It is shown until
// some time after the verdict.
func (j *job) exhibit(ctx context.Context, r *frame.Report, breaker *atomicbreaker.Breaker) error {
	if !j.show.On() {
		return nil
	}
	if err := j.show.Watch.Add(breaker); err != nil {
		return err
	}
	err := j.show.Start(r.Console)
	if err == nil {
		err = j.show.Wait(ctx, r.Console)
	}
	if err != nil {
		j.show.Stop()
		return err
	}
	r.Afterwards = func(ctx context.Context) { j.show.Linger(ctx, r.Console) }
	return nil
}

// knock makes sure that there is a server before traffic is sent to it.
func knock(ctx context.Context, base http.RoundTripper, url string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := base.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w", url, err)
	}
	return resp.Body.Close()
}

// exercise is a drill under way.
type exercise struct {
	plan    *plan
	server  *faultyServer // nil with -target
	wire    *wire
	watch   *latency.Stopwatch
	tally   *tally
	breaker *atomicbreaker.Breaker
	story   *timeline
	film    *film

	broken, mended time.Duration // since the start, when it was done
	nearEnd        counts        // at the beginning of the last second
}

func (x *exercise) run(ctx context.Context, url string) error {
	total := x.plan.total()
	start := time.Now()
	x.story.start = start
	x.story.header()
	working, done := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	var scriptErr error
	helpers.Go(func() { x.story.follow(working, total) })
	helpers.Go(func() { x.film.record(working, start) })
	helpers.Go(func() { scriptErr = x.script(working, start) })

	load := &traffic{
		transport: &breakerhttp.Transport{Base: x.wire, Breaker: x.breaker},
		url:       url, rate: x.plan.Rate, timeout: x.plan.Timeout, seed: x.plan.Seed, watch: x.watch, tally: x.tally,
	}
	load.run(ctx, start, total)
	done()
	helpers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if scriptErr != nil {
		return scriptErr
	}
	x.story.end(total)
	x.story.console.Clear()
	return nil
}

// script breaks the server and mends it, and looks at the tally when the last
// second begins.
func (x *exercise) script(ctx context.Context, start time.Time) error {
	wait := func(until time.Duration) bool {
		select {
		case <-time.After(time.Until(start.Add(until))):
			return true
		case <-ctx.Done():
			return false
		}
	}
	if x.server != nil {
		if !wait(x.plan.Healthy) {
			return nil
		}
		x.broken = time.Since(start)
		x.story.happened("%s", faults[x.plan.Fault])
		if err := x.server.inflict(x.plan.Fault); err != nil {
			return err
		}
		if !wait(x.plan.Healthy + x.plan.Outage) {
			return nil
		}
		if err := x.server.inflict(healthy); err != nil {
			return err
		}
		x.mended = time.Since(start)
		x.tally.watch(x.mended)
		x.story.mend("the server is mended")
	}
	if wait(x.plan.total() - min(time.Second, x.plan.After/2)) {
		x.nearEnd = x.tally.counts()
	}
	return nil
}
