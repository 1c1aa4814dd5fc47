// Package simrivals puts circuit breakers of others into package sim: their real
// code, which reads package time, inside a testing/synctest bubble.
//
// Each comes at its defaults and, as far as it has settings, matched to the rule
// that the suite compares recovery with: half of the last 20 outcomes, ten at
// least, and a cooldown of five seconds.
package simrivals

import (
	"context"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/sim"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"
)

// A Rival is a contender and the module that its code is from.
type Rival struct {
	sim.Contender
	Module string
}

// The matched settings.
const (
	matchedMinimum  = 10
	matchedCalls    = 20
	matchedRate     = 0.5
	matchedCooldown = 5 * time.Second
)

// Rivals returns every rival in the order of tables.
func Rivals() []Rival {
	const gobreakerModule, failsafeModule = "github.com/sony/gobreaker/v2", "github.com/failsafe-go/failsafe-go"
	const oxyModule, gozeroModule = "github.com/vulcand/oxy/v2", "github.com/zeromicro/go-zero"
	return []Rival{
		{sim.Contender{
			Name: "gobreaker", Title: "sony/gobreaker, defaults: six failures in a row, 60 s, one probe",
			New: func(sim.Site) sim.Policy { return newGobreaker(gobreaker.Settings{}) },
		}, gobreakerModule},
		{sim.Contender{
			Name: "gobreaker-matched", Title: "sony/gobreaker, half of at least ten calls in 10 s, 5 s, one probe",
			New: func(sim.Site) sim.Policy { return newGobreaker(gobreakerMatched()) },
		}, gobreakerModule},
		{sim.Contender{
			Name: "failsafe", Title: "failsafe-go, defaults: one failure, 60 s, one probe",
			New: func(sim.Site) sim.Policy { return failsafe{circuitbreaker.NewWithDefaults[any]()} },
		}, failsafeModule},
		{sim.Contender{
			Name: "failsafe-matched", Title: "failsafe-go, ten failures of the last 20, 5 s, one probe",
			New: func(sim.Site) sim.Policy { return failsafe{failsafeMatched()} },
		}, failsafeModule},
		{sim.Contender{
			Name: "oxy", Title: "oxy, defaults: half of the responses in 10 s, 10 s, ramp of 10 s",
			New: func(sim.Site) sim.Policy { return newOxy(0, 0) },
		}, oxyModule},
		{sim.Contender{
			Name: "oxy-matched", Title: "oxy, half of the responses in 10 s, 5 s, ramp of 5 s",
			New: func(sim.Site) sim.Policy { return newOxy(matchedCooldown, matchedCooldown) },
		}, oxyModule},
		{sim.Contender{
			Name: "go-zero", Title: "go-zero, adaptive throttle, all of whose settings are constants",
			New: newGozero,
		}, gozeroModule},
	}
}

// errFailed and errCancelled are what callers report.
var (
	errFailed    = context.DeadlineExceeded
	errCancelled = context.Canceled
)

func errorOf(o atomicbreaker.Outcome) error {
	switch o {
	case atomicbreaker.Success:
		return nil
	case atomicbreaker.Ignored:
		return errCancelled
	default:
		return errFailed
	}
}

// gobreakerPolicy goes through the two-step form.
type gobreakerPolicy struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
}

func newGobreaker(s gobreaker.Settings) sim.Policy {
	return gobreakerPolicy{gobreaker.NewTwoStepCircuitBreaker[struct{}](s)}
}

func gobreakerMatched() gobreaker.Settings {
	return gobreaker.Settings{
		MaxRequests: 1, Interval: 10 * time.Second, BucketPeriod: time.Second, Timeout: matchedCooldown,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.TotalSuccesses+c.TotalFailures >= matchedMinimum &&
				float64(c.TotalFailures) >= matchedRate*float64(c.TotalSuccesses+c.TotalFailures)
		},
		IsExcluded: func(err error) bool { return err == errCancelled },
	}
}

func (b gobreakerPolicy) Ready() bool {
	return b.TwoStepCircuitBreaker.State() != gobreaker.StateOpen
}

func (b gobreakerPolicy) Acquire() (sim.Ticket, bool) {
	done, err := b.Allow()
	return done, err == nil
}

func (b gobreakerPolicy) Settle(t sim.Ticket, o atomicbreaker.Outcome) { t.(func(error))(errorOf(o)) }

func (b gobreakerPolicy) State() atomicbreaker.State {
	switch b.TwoStepCircuitBreaker.State() {
	case gobreaker.StateOpen:
		return atomicbreaker.StateOpen
	case gobreaker.StateHalfOpen:
		return atomicbreaker.StateHalfOpen
	default:
		return atomicbreaker.StateClosed
	}
}

// failsafe goes through permits.
type failsafe struct {
	circuitbreaker.CircuitBreaker[any]
}

func failsafeMatched() circuitbreaker.CircuitBreaker[any] {
	return circuitbreaker.NewBuilder[any]().
		WithFailureThresholdRatio(matchedCalls*matchedRate, matchedCalls).
		WithSuccessThreshold(1).WithDelay(matchedCooldown).
		HandleIf(func(_ any, err error) bool { return err != nil && err != errCancelled }).
		Build()
}

// Ready takes an open breaker whose delay is over for ready: it stays open until
// somebody asks for a permit.
func (b failsafe) Ready() bool { return !b.IsOpen() || b.RemainingDelay() <= 0 }

func (b failsafe) Acquire() (sim.Ticket, bool) { return nil, b.TryAcquirePermit() }

func (b failsafe) Settle(_ sim.Ticket, o atomicbreaker.Outcome) {
	if o == atomicbreaker.Success {
		b.RecordSuccess()
		return
	}
	b.RecordError(errorOf(o))
}

func (b failsafe) State() atomicbreaker.State {
	switch b.CircuitBreaker.State() {
	case circuitbreaker.OpenState:
		return atomicbreaker.StateOpen
	case circuitbreaker.HalfOpenState:
		return atomicbreaker.StateHalfOpen
	default:
		return atomicbreaker.StateClosed
	}
}
