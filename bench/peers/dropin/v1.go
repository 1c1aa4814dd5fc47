package dropin

import (
	ours "github.com/atomicbreaker/breaker/contrib/gobreaker"
	oursV1 "github.com/atomicbreaker/breaker/contrib/gobreaker/v1"
	theirsV1 "github.com/sony/gobreaker"
)

// v1 is a breaker of version 1, of either kind, in the words of ours of version 2.
type v1 struct {
	run   func(func() (interface{}, error)) (interface{}, error) // nil: it has two steps
	admit func() (func(bool), error)
	is    func() int
	count func() ours.Counts
}

func (b v1) execute(f func() (int, error)) (int, error) {
	if b.run == nil {
		return twoStep(b, f)
	}
	v, err := b.run(func() (interface{}, error) { return f() })
	n, _ := v.(int)
	return n, translatedV1(err)
}

func (b v1) allow() (func(error), error) {
	done, err := b.admit()
	if done == nil {
		return nil, translatedV1(err)
	}
	return func(err error) { done(err == nil) }, translatedV1(err)
}

func (b v1) state() ours.State   { return ours.State(b.is()) }
func (b v1) counts() ours.Counts { return b.count() }

func translatedV1(err error) error {
	switch err {
	case theirsV1.ErrOpenState:
		return ours.ErrOpenState
	case theirsV1.ErrTooManyRequests:
		return ours.ErrTooManyRequests
	}
	return err
}

// counts1 is what Counts of version 1 are, of either kind.
type counts1 struct {
	Requests, TotalSuccesses, TotalFailures, ConsecutiveSuccesses, ConsecutiveFailures uint32
}

func (c counts1) v2() ours.Counts {
	return ours.Counts{
		Requests: c.Requests, TotalSuccesses: c.TotalSuccesses, TotalFailures: c.TotalFailures,
		ConsecutiveSuccesses: c.ConsecutiveSuccesses, ConsecutiveFailures: c.ConsecutiveFailures,
	}
}

func newOursV1(u setup) *side {
	s := new(side)
	f := s.functions(u)
	st := oursV1.Settings{
		Name: name, MaxRequests: u.maxRequests, Interval: u.interval, Timeout: u.timeout,
		OnStateChange: f.OnStateChange, IsSuccessful: f.IsSuccessful,
	}
	if f.ReadyToTrip != nil {
		st.ReadyToTrip = func(c oursV1.Counts) bool { return f.ReadyToTrip(counts1(c).v2()) }
	}
	if u.twoStep {
		b := oursV1.NewTwoStepCircuitBreaker(st)
		s.breaker = v1{nil, b.Allow, func() int { return int(b.State()) }, func() ours.Counts { return counts1(b.Counts()).v2() }}
	} else {
		b := oursV1.NewCircuitBreaker(st)
		s.breaker = v1{b.Execute, nil, func() int { return int(b.State()) }, func() ours.Counts { return counts1(b.Counts()).v2() }}
	}
	return s
}

func newTheirsV1(u setup) *side {
	s := new(side)
	f := s.functions(u)
	st := theirsV1.Settings{
		Name: name, MaxRequests: min(u.maxRequests, 1024), Interval: u.interval, Timeout: u.openFor(), IsSuccessful: f.IsSuccessful,
	}
	if u.timeout <= 0 {
		st.Timeout = u.timeout
	}
	if f.ReadyToTrip != nil {
		st.ReadyToTrip = func(c theirsV1.Counts) bool { return f.ReadyToTrip(counts1(c).v2()) }
	}
	if f.OnStateChange != nil {
		st.OnStateChange = func(of string, from, to theirsV1.State) { f.OnStateChange(of, ours.State(from), ours.State(to)) }
	}
	if u.twoStep {
		b := theirsV1.NewTwoStepCircuitBreaker(st)
		s.breaker = v1{nil, b.Allow, func() int { return int(b.State()) }, func() ours.Counts { return counts1(b.Counts()).v2() }}
	} else {
		b := theirsV1.NewCircuitBreaker(st)
		s.breaker = v1{b.Execute, nil, func() int { return int(b.State()) }, func() ours.Counts { return counts1(b.Counts()).v2() }}
	}
	return s
}
