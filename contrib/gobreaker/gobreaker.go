package gobreaker

import (
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// State is what a breaker does with requests.
type State int

// The states. Their numbers are those of sony/gobreaker, not of atomicbreaker.
const (
	StateClosed   State = iota // every request is admitted
	StateHalfOpen              // a few are, to find out how they end
	StateOpen                  // none is
)

// String returns closed, half-open or open.
func (s State) String() string {
	switch s {
	case StateClosed:
		return "closed"
	case StateHalfOpen:
		return "half-open"
	case StateOpen:
		return "open"
	}
	return fmt.Sprintf("unknown state: %d", int(s))
}

// stateOf translates a state of the core.
func stateOf(s atomicbreaker.State) State {
	switch s {
	case atomicbreaker.StateOpen:
		return StateOpen
	case atomicbreaker.StateHalfOpen:
		return StateHalfOpen
	}
	return StateClosed
}

// What Execute and Allow return for a request that is not admitted. They are
// returned as they are and may be compared with ==.
var (
	// ErrTooManyRequests: the breaker is half-open and MaxRequests are admitted.
	ErrTooManyRequests = errors.New("too many requests")

	// ErrOpenState: the breaker is open.
	ErrOpenState = errors.New("circuit breaker is open")
)

// Settings configures a breaker. The zero value is valid. Nothing is an error;
// values out of range have the meaning that their fields say.
type Settings struct {
	// Name is given to OnStateChange and returned by Name.
	Name string

	// MaxRequests is how many requests a half-open breaker admits, those
	// excluded not counted, and how many must succeed in a row to close it.
	// 0 means 1; more than 1024 means 1024.
	MaxRequests uint32

	// Interval is how long a closed breaker counts before its Counts are
	// cleared. 0 or less: they never are.
	Interval time.Duration

	// BucketPeriod makes Interval, rounded up to a multiple of it, a rolling
	// window: counts leave it bucket by bucket. 0 or less, or a single bucket:
	// a fixed window, whose counts are cleared all at once. More than 131 072
	// buckets, which a BucketPeriod without its unit easily makes, are refused
	// with a panic when the breaker is made.
	BucketPeriod time.Duration

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

	// IsSuccessful decides from what a request returned, nil included,
	// whether it counts as a success or as a failure. Default: err == nil.
	IsSuccessful func(err error) bool

	// IsExcluded decides, before IsSuccessful is asked, whether a request
	// counts as neither. Default: none does.
	IsExcluded func(err error) bool
}

// CircuitBreaker runs functions as long as they do not fail too much. Make one
// with [NewCircuitBreaker]; it is safe for concurrent use and must not be copied.
type CircuitBreaker[T any] struct{ b breaker }

// NewCircuitBreaker makes a closed breaker.
func NewCircuitBreaker[T any](st Settings) *CircuitBreaker[T] {
	cb := new(CircuitBreaker[T])
	cb.b.init(st)
	return cb
}

// Name returns the name from the Settings.
func (cb *CircuitBreaker[T]) Name() string { return cb.b.settings.Name }

// State returns the state. A window that has ended is cleared by it.
func (cb *CircuitBreaker[T]) State() State { return cb.b.state() }

// Counts returns the numbers of the state that the breaker is in, in the closed
// state those of its window as the last request or State left it.
func (cb *CircuitBreaker[T]) Counts() Counts { return cb.b.counts() }

// errGoexit is what the classifiers are asked about when a request has ended its goroutine.
var errGoexit = errors.New("gobreaker: the request has ended its goroutine")

// Execute runs req if the breaker admits it and returns what it returns.
// Otherwise it returns the zero T with ErrOpenState or ErrTooManyRequests. A
// panic in req counts as an error that has its text, and goes on.
func (cb *CircuitBreaker[T]) Execute(req func() (T, error)) (T, error) {
	var p pass
	if err := cb.b.admit(&p); err != nil {
		var zero T
		return zero, err
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		if e := recover(); e != nil {
			cb.b.settle(&p, fmt.Errorf("%v", e))
			panic(e)
		}
		cb.b.settle(&p, errGoexit)
	}()
	result, err := req()
	returned = true
	cb.b.settle(&p, err)
	return result, err
}

// TwoStepCircuitBreaker is a breaker for requests that no function can wrap:
// it is asked first and told afterwards. T is not used. Make one with
// [NewTwoStepCircuitBreaker].
type TwoStepCircuitBreaker[T any] struct{ b breaker }

// NewTwoStepCircuitBreaker makes a closed breaker.
func NewTwoStepCircuitBreaker[T any](st Settings) *TwoStepCircuitBreaker[T] {
	tscb := new(TwoStepCircuitBreaker[T])
	tscb.b.init(st)
	return tscb
}

// Name returns the name from the Settings.
func (tscb *TwoStepCircuitBreaker[T]) Name() string { return tscb.b.settings.Name }

// State is like [CircuitBreaker.State].
func (tscb *TwoStepCircuitBreaker[T]) State() State { return tscb.b.state() }

// Counts is like [CircuitBreaker.Counts].
func (tscb *TwoStepCircuitBreaker[T]) Counts() Counts { return tscb.b.counts() }

// Allow admits a request or returns ErrOpenState or ErrTooManyRequests. done
// takes what the request has returned; it may be called from any goroutine, and
// only its first call counts.
func (tscb *TwoStepCircuitBreaker[T]) Allow() (done func(err error), err error) {
	tscb.b.present()
	if err := tscb.b.refusal(); err != nil {
		return nil, err // before anything is allocated
	}
	p := &oncePass{b: &tscb.b}
	if err := tscb.b.admit(&p.pass); err != nil {
		return nil, err
	}
	return p.done, nil
}
