package breakerlease

import (
	"context"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// A Lease says which of many breakers may probe next. It does not guarantee that one
// breaker at a time is half-open: one that has begun goes on, also if its lease ends.
//
// All methods may be called concurrently, by many breakers. A panic in Ask or
// Tell counts as an error.
type Lease interface {
	// Ask asks whether a breaker may probe now. It may block until ctx is done,
	// which it is after twice [Options].Timeout; a grant that comes later is given
	// back. An error lets the breaker probe alone. A Lease that keeps the
	// breaker should hold it weakly.
	Ask(ctx context.Context, q Question) (Answer, error)

	// Tell is told what became of a lease that was granted: once or twice,
	// Answered first. It also gets the success of a breaker that probed
	// alone; see [News].Alone. It may block until ctx is done. Two of these may
	// overlap: a higher Verdict is the later one.
	Tell(ctx context.Context, n News) error

	// Go runs f, which calls Ask or Tell. Breakers call Go from the goroutine that
	// moves them in time, and from calls that settle, so that for a Lease that
	// may block it is `go f()`. A Lease that answers at once, as in a
	// simulation, may run f before Go returns, or later on a clock of its own.
	Go(f func())
}

// A Question is asked by a breaker whose cooldown is over.
type Question struct {
	Breaker  *atomicbreaker.Breaker
	Cooldown atomicbreaker.Cooldown // its settings, defaults filled in
}

// Answer is what a [Lease] answers to the question who may probe.
type Answer struct {
	Granted bool

	// Token names the lease that is granted, or the one that is out; the zero
	// Token in a refusal means unknown. No two leases of a name have the same.
	Token Token

	// Wait is after how long to ask again if the lease was not granted; the
	// breaker's jitter is added. It is kept between 1 ms and Cooldown.Max; 0
	// means Cooldown.Min.
	Wait time.Duration

	// Holder is who has the lease that is out, for people to read. May be empty.
	Holder string
}

// Verdict is what became of a lease. A higher one is a later one.
type Verdict uint8

const (
	Unused    Verdict = iota // nothing was learnt: overtaken by a command, or granted too late
	Answered                 // a probe has succeeded; the breaker goes on probing
	Recovered                // the breaker has closed
	Reopened                 // the probes failed or were silent
)

var verdictNames = [...]string{"unused", "answered", "recovered", "reopened"}

// String returns unused, answered, recovered or reopened.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("unknown verdict %d", uint8(v))
}

// News tells a [Lease] what became of a grant, or of a breaker that probed alone.
type News struct {
	Breaker  *atomicbreaker.Breaker // nil if it is gone
	Token    Token                  // of the lease; zero of a breaker that probed alone
	Alone    bool                   // it had no lease; then Verdict is Answered or Recovered
	Verdict  Verdict
	Cooldown time.Duration // of Reopened: how long the breaker now stays open
}
