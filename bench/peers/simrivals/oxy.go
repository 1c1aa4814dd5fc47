package simrivals

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vulcand/oxy/v2/cbreaker"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/sim"
)

// oxyPolicy holds each admitted call inside the breaker's handler, on a goroutine
// of its own, until it is settled.
type oxyPolicy struct {
	breaker  *cbreaker.CircuitBreaker
	underWay map[*oxyCall]bool
}

// oxyCall is one request on its way through the handler. It travels in the
// request's context.
type oxyCall struct {
	admitted chan bool
	status   chan int
	over     chan struct{}
}

type oxyKey struct{}

func oxyCallOf(r *http.Request) *oxyCall { return r.Context().Value(oxyKey{}).(*oxyCall) }

// newOxy makes a breaker; zero durations are its defaults. It has no default
// expression: this one is the share of failures that all rivals go by.
func newOxy(fallback, recovery time.Duration) sim.Policy {
	options := []cbreaker.Option{cbreaker.Fallback(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		oxyCallOf(r).admitted <- false
	}))}
	if fallback > 0 {
		options = append(options, cbreaker.FallbackDuration(fallback), cbreaker.RecoveryDuration(recovery))
	}
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := oxyCallOf(r)
		c.admitted <- true
		w.WriteHeader(<-c.status)
	})
	b, err := cbreaker.New(next, fmt.Sprintf("ResponseCodeRatio(500, 600, 0, 600) >= %.1f", matchedRate), options...)
	if err != nil {
		panic(fmt.Sprintf("simrivals: oxy refuses its expression: %v", err))
	}
	return &oxyPolicy{b, map[*oxyCall]bool{}}
}

// Ready is always true: the handler has no question.
func (p *oxyPolicy) Ready() bool { return true }

func (p *oxyPolicy) Acquire() (sim.Ticket, bool) {
	c := &oxyCall{make(chan bool), make(chan int), make(chan struct{})}
	r := (&http.Request{Method: http.MethodGet}).WithContext(context.WithValue(context.Background(), oxyKey{}, c))
	go func() {
		defer close(c.over)
		p.breaker.ServeHTTP(discard{}, r)
	}()
	if !<-c.admitted {
		<-c.over
		return nil, false
	}
	p.underWay[c] = true
	return c, true
}

// statusCancelled is what proxies log for a client that has left; no standard
// names it.
const statusCancelled = 499

func (p *oxyPolicy) Settle(t sim.Ticket, o atomicbreaker.Outcome) {
	status := http.StatusOK
	switch o {
	case atomicbreaker.Failure:
		status = http.StatusBadGateway
	case atomicbreaker.Ignored:
		status = statusCancelled
	}
	p.finish(t.(*oxyCall), status)
}

func (p *oxyPolicy) finish(c *oxyCall, status int) {
	c.status <- status
	<-c.over
	delete(p.underWay, c)
}

// close lets the calls go that nobody has settled.
func (p *oxyPolicy) close() {
	for c := range p.underWay {
		p.finish(c, statusCancelled)
	}
}

func (p *oxyPolicy) State() atomicbreaker.State {
	switch state := p.breaker.String(); {
	case strings.Contains(state, "state=tripped"):
		return atomicbreaker.StateOpen
	case strings.Contains(state, "state=recovering"):
		return atomicbreaker.StateHalfOpen
	default:
		return atomicbreaker.StateClosed
	}
}

// discard is a response that nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
