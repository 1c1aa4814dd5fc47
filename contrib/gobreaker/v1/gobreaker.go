package gobreaker

import (
	"errors"
	"time"

	v2 "github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// State is what a breaker does with requests.
type State = v2.State

// The states. Their numbers are those of sony/gobreaker, not of atomicbreaker.
const (
	StateClosed   State = v2.StateClosed   // every request is admitted
	StateHalfOpen State = v2.StateHalfOpen // a few are, to find out how they end
	StateOpen     State = v2.StateOpen     // none is
)

// What Execute and Allow return for a request that is not admitted. They are
// returned as they are and may be compared with ==.
var (
	// ErrTooManyRequests: the breaker is half-open and MaxRequests are admitted.
	ErrTooManyRequests = v2.ErrTooManyRequests

	// ErrOpenState: the breaker is open.
	ErrOpenState = v2.ErrOpenState
)

// Counts are the numbers of requests and of their outcomes since they were cleared: with
// every change of state, and in the closed state after Interval. A result of a request that
// was admitted before is not counted. Numbers wrap at 2^32.
type Counts struct {
	Requests             uint32 // admitted
	TotalSuccesses       uint32
	TotalFailures        uint32
	ConsecutiveSuccesses uint32 // since the last failure
	ConsecutiveFailures  uint32 // since the last success
}

func countsOf(c v2.Counts) Counts {
	return Counts{c.Requests, c.TotalSuccesses, c.TotalFailures, c.ConsecutiveSuccesses, c.ConsecutiveFailures}
}

// Settings configures a breaker. The zero value is valid. Nothing is an error;
// values out of range have the meaning that their fields say.
type Settings struct {
	// Name is given to OnStateChange and returned by Name.
	Name string

	// MaxRequests is how many requests a half-open breaker admits, and how many must
	// succeed to close it. 0 means 1; more than 1024 means 1024.
	MaxRequests uint32

	// Interval is how long a closed breaker counts before its Counts are
	// cleared. 0 or less: they never are.
	Interval time.Duration

	// Timeout is how long the breaker stays open; it is half-open when more
	// than this has passed. 0 or less means 60 s; otherwise it is kept within
	// 1 ms and 24 h.
	Timeout time.Duration

	// ReadyToTrip is asked whenever a request has failed in the closed state,
	// with the Counts including that failure, and opens the breaker by
	// returning true. Default: ConsecutiveFailures is above 5.
	ReadyToTrip func(counts Counts) bool

	// OnStateChange is called with every change of state, one at a time and in
	// order, by the goroutine that caused it or one that is telling already.
	OnStateChange func(name string, from State, to State)

	// IsSuccessful decides from what the function of an Execute returned, nil included,
	// whether it counts as a success or as a failure. Default: err == nil.
	IsSuccessful func(err error) bool
}

// common are the settings of version 2 that mean the same.
func (st Settings) common() v2.Settings {
	s := v2.Settings{
		Name: st.Name, MaxRequests: st.MaxRequests, Interval: st.Interval, Timeout: st.Timeout,
		OnStateChange: st.OnStateChange,
	}
	if st.ReadyToTrip != nil {
		s.ReadyToTrip = func(c v2.Counts) bool { return st.ReadyToTrip(countsOf(c)) }
	}
	return s
}

// CircuitBreaker runs functions as long as they do not fail too much. Make one
// with [NewCircuitBreaker]; it is safe for concurrent use and must not be copied.
type CircuitBreaker struct {
	b            *v2.CircuitBreaker[interface{}]
	isSuccessful func(err error) bool // nil: the default
}

// NewCircuitBreaker makes a closed breaker.
func NewCircuitBreaker(st Settings) *CircuitBreaker {
	return &CircuitBreaker{v2.NewCircuitBreaker[interface{}](st.common()), st.IsSuccessful}
}

// Name returns the name from the Settings.
func (cb *CircuitBreaker) Name() string { return cb.b.Name() }

// State returns the state. Counts whose Interval is over are cleared by it.
func (cb *CircuitBreaker) State() State { return cb.b.State() }

// Counts returns the numbers of the state that the breaker is in, as the last request or
// State left them.
func (cb *CircuitBreaker) Counts() Counts { return countsOf(cb.b.Counts()) }

// errUnsuccessful and nil tell the breaker what IsSuccessful has decided.
var errUnsuccessful = errors.New("gobreaker: the request was not successful")

// Execute runs req if the breaker admits it and returns what it returns.
// Otherwise it returns nil with ErrOpenState or ErrTooManyRequests. A
// panic in req counts as a failure, and goes on.
func (cb *CircuitBreaker) Execute(req func() (interface{}, error)) (interface{}, error) {
	if cb.isSuccessful == nil {
		return cb.b.Execute(req)
	}
	var err error
	result, told := cb.b.Execute(func() (result interface{}, told error) {
		if result, err = req(); !cb.isSuccessful(err) {
			told = errUnsuccessful
		}
		return result, told
	})
	if told == nil || told == errUnsuccessful {
		return result, err
	}
	return nil, told
}

// TwoStepCircuitBreaker is a breaker for requests that no function can wrap:
// it is asked first and told afterwards. Make one with [NewTwoStepCircuitBreaker].
type TwoStepCircuitBreaker struct {
	b *v2.TwoStepCircuitBreaker[interface{}]
}

// NewTwoStepCircuitBreaker makes a closed breaker. It has no use for IsSuccessful.
func NewTwoStepCircuitBreaker(st Settings) *TwoStepCircuitBreaker {
	return &TwoStepCircuitBreaker{v2.NewTwoStepCircuitBreaker[interface{}](st.common())}
}

// Name returns the name from the Settings.
func (tscb *TwoStepCircuitBreaker) Name() string { return tscb.b.Name() }

// State is like [CircuitBreaker.State].
func (tscb *TwoStepCircuitBreaker) State() State { return tscb.b.State() }

// Counts is like [CircuitBreaker.Counts].
func (tscb *TwoStepCircuitBreaker) Counts() Counts { return countsOf(tscb.b.Counts()) }

// Allow admits a request or returns ErrOpenState or ErrTooManyRequests. done
// says whether the request was a success; it may be called from any goroutine, and
// only its first call counts.
func (tscb *TwoStepCircuitBreaker) Allow() (done func(success bool), err error) {
	settle, err := tscb.b.Allow()
	if err != nil {
		return nil, err
	}
	return func(success bool) {
		if success {
			settle(nil)
		} else {
			settle(errUnsuccessful)
		}
	}, nil
}
