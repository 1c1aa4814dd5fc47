package sim

import "time"

// A Scenario is traffic, a dependency and what happens to them. It does not
// say what protects the dependency: every policy meets the same.
type Scenario struct {
	Name  string // such as 04
	Mode  string // such as U; name and mode together are unique in the suite
	Title string

	Traffic    Traffic
	Dependency Dependency

	// Breakers is the number of clients, each with a breaker of its own; calls
	// are spread over them evenly by chance. Default: 1.
	Breakers int

	// Lease is the store that the breakers share. nil: each for itself.
	Lease *LeaseStore

	// Incident is when something is wrong, for the books: metrics that speak
	// of before, during and after go by it.
	Incident Span

	// Length is how long the simulation runs.
	Length time.Duration
}

// ID is the name and the mode.
func (s *Scenario) ID() string { return s.Name + "/" + s.Mode }

// A Span is a half-open interval of time.
type Span struct{ From, To time.Duration }

// Traffic is the callers and what they do when they are refused or fail.
type Traffic struct {
	// Open loop: calls are born at Rate, no matter how earlier ones end, as
	// a Poisson process or, if Regular, evenly spaced.
	Rate    []Rate
	Regular bool

	// Closed loop: so many callers, each of which thinks, calls, and thinks
	// again whatever the answer was. Guests are there during the incident only.
	Callers, Guests int
	Think           Span

	Retry Retry

	// Timeout is when a caller stops waiting for an answer; the call has then
	// failed. 0: never.
	Timeout time.Duration

	// Cancel is the share of sent calls that their callers abandon half-way.
	// Such a caller is gone for good.
	Cancel float64

	// AskReady makes callers ask Ready first and take no for an answer, as a
	// balancer does that then goes elsewhere.
	AskReady bool
}

// Rate is an arrival rate from an instant on, in calls a second.
type Rate struct {
	From      time.Duration
	PerSecond float64
}

// Retry is what a caller does after a refusal or a failure.
type Retry struct {
	Attempts int     // in all; 1: no retry, 0: until it succeeds
	Delay    Span    // the wait is uniform in this span
	Factor   float64 // each further wait is so many times longer; 0 means 1
	Longest  time.Duration
}

// wait returns the delay after the n-th attempt.
func (r *Retry) wait(d *draw, n uint32) time.Duration {
	w := float64(d.between(r.Delay.From, r.Delay.To))
	if r.Factor > 1 {
		for ; n > 1 && w < float64(r.Longest); n-- {
			w *= r.Factor
		}
		w = min(w, float64(r.Longest))
	}
	return time.Duration(w)
}

// Dependency is a server with workers and a queue.
type Dependency struct {
	Workers int
	Queue   int // how many calls may wait for a worker, first in first out; any more fail
	Latency Latency

	// Quota is how many calls are accepted in each second by a hard limit in
	// front of the workers. 0: no such limit.
	Quota int

	// Phases are what happens to it, in order of time. Before the first it is
	// up and has all of its workers.
	Phases []Phase
}

// Health is whether a dependency answers.
type Health uint8

const (
	Up      Health = iota
	Dead           // every call fails after a millisecond; those in hand are lost at once
	Hanging        // no call is ever answered; those in hand are lost
)

// A Phase lasts until the next one begins.
type Phase struct {
	From    time.Duration
	Health  Health
	Errors  float64 // share of served calls that end in an error
	Workers int     // 0: all of them

	// A cold cache: service takes Slowdown times as long at first and gets
	// faster with every call served, to normal after Warmup calls.
	Slowdown float64
	Warmup   int

	HangFirst int           // so many first calls of this phase are never answered
	FastFirst int           // so many first answers of this phase take only FastTime
	FastTime  time.Duration //
}
