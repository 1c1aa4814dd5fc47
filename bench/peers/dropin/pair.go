package dropin

import (
	"errors"
	"fmt"

	ours "github.com/atomicbreaker/breaker/contrib/gobreaker"
	theirs "github.com/sony/gobreaker/v2"
)

// breaker is what the four types of breakers have in common, in the words of ours.
type breaker interface {
	execute(func() (int, error)) (int, error)
	allow() (func(error), error)
	state() ours.State
	counts() ours.Counts
}

// Each of the four is one of these; the half that it lacks is nil.
type our struct {
	one *ours.CircuitBreaker[int]
	two *ours.TwoStepCircuitBreaker[int]
}

func (b our) execute(f func() (int, error)) (int, error) {
	if b.one != nil {
		return b.one.Execute(f)
	}
	return twoStep(b, f)
}

func (b our) allow() (func(error), error) { return b.two.Allow() }

func (b our) state() ours.State {
	if b.one != nil {
		return b.one.State()
	}
	return b.two.State()
}

func (b our) counts() ours.Counts {
	if b.one != nil {
		return b.one.Counts()
	}
	return b.two.Counts()
}

type their struct {
	one *theirs.CircuitBreaker[int]
	two *theirs.TwoStepCircuitBreaker[int]
}

func (b their) execute(f func() (int, error)) (int, error) {
	if b.one != nil {
		v, err := b.one.Execute(f)
		return v, translated(err)
	}
	return twoStep(b, f)
}

func (b their) allow() (func(error), error) {
	done, err := b.two.Allow()
	return done, translated(err)
}

func (b their) state() ours.State {
	if b.one != nil {
		return ours.State(b.one.State())
	}
	return ours.State(b.two.State())
}

func (b their) counts() ours.Counts {
	if b.one != nil {
		return ours.Counts(b.one.Counts())
	}
	return ours.Counts(b.two.Counts())
}

// translated is the error of ours that stands for one of theirs. Both are to be
// returned as they are, not wrapped.
func translated(err error) error {
	switch err {
	case theirs.ErrOpenState:
		return ours.ErrOpenState
	case theirs.ErrTooManyRequests:
		return ours.ErrTooManyRequests
	}
	return err
}

// twoStep is a careful user of the two-step form: a panic is reported too.
func twoStep(b breaker, f func() (int, error)) (v int, err error) {
	done, err := b.allow()
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := recover(); e != nil {
			done(fmt.Errorf("%v", e))
			panic(e)
		}
	}()
	v, err = f()
	done(err)
	return v, err
}

// The errors of requests, by what the classifiers make of them.
var (
	errFailed   = errors.New("failed")
	errBenign   = errors.New("benign")
	errExcluded = errors.New("excluded")
)

// errGoexit has the text of the error that ours makes of a request that ends
// its goroutine.
var errGoexit = errors.New("gobreaker: the request has ended its goroutine")

// event is what one of the user's functions was asked or told.
type event struct {
	what     string
	counts   ours.Counts
	err      string
	from, to ours.State
	answer   bool
}

func (e event) String() string {
	switch e.what {
	case "OnStateChange":
		return fmt.Sprintf("OnStateChange(%v, %v)", e.from, e.to)
	case "ReadyToTrip":
		return fmt.Sprintf("ReadyToTrip(%+v) = %v", e.counts, e.answer)
	}
	return fmt.Sprintf("%s(%s) = %v", e.what, e.err, e.answer)
}

// side is one of the two breakers and what its functions have seen.
type side struct {
	breaker
	events []event
	dones  []func(error)
}

func (s *side) note(e event) bool {
	s.events = append(s.events, e)
	return e.answer
}

const name = "pair"

// functions are the user's functions of a setup, noting what they see.
func (s *side) functions(u setup) (st ours.Settings) {
	if u.ready != nil {
		st.ReadyToTrip = func(c ours.Counts) bool {
			if c.Requests == 0 {
				return false
			}
			return s.note(event{what: "ReadyToTrip", counts: c, answer: u.ready(c)})
		}
	}
	if u.listens {
		st.OnStateChange = func(of string, from, to ours.State) {
			if of != name {
				panic("OnStateChange was told another name: " + of)
			}
			s.note(event{what: "OnStateChange", from: from, to: to})
		}
	}
	if u.excludes {
		st.IsExcluded = func(err error) bool {
			return s.note(event{what: "IsExcluded", err: fmt.Sprint(err), answer: err == errExcluded})
		}
	}
	if u.forgives {
		st.IsSuccessful = func(err error) bool {
			return s.note(event{what: "IsSuccessful", err: fmt.Sprint(err), answer: err == nil || err == errBenign})
		}
	}
	return st
}

// newOurs and newTheirs make a breaker of either kind.
func newOurs(u setup) *side {
	s := new(side)
	st := s.functions(u)
	st.Name, st.MaxRequests, st.Interval, st.BucketPeriod, st.Timeout = name, u.maxRequests, u.interval, u.period, u.timeout
	if u.twoStep {
		s.breaker = our{two: ours.NewTwoStepCircuitBreaker[int](st)}
	} else {
		s.breaker = our{one: ours.NewCircuitBreaker[int](st)}
	}
	return s
}

func newTheirs(u setup) *side {
	s := new(side)
	f := s.functions(u)
	st := theirs.Settings{
		Name: name, MaxRequests: min(u.maxRequests, 1024), Interval: u.interval, BucketPeriod: u.period,
		Timeout: u.openFor(), IsExcluded: f.IsExcluded, IsSuccessful: f.IsSuccessful,
	}
	if u.timeout <= 0 {
		st.Timeout = u.timeout
	}
	if f.ReadyToTrip != nil {
		st.ReadyToTrip = func(c theirs.Counts) bool { return f.ReadyToTrip(ours.Counts(c)) }
	}
	if f.OnStateChange != nil {
		st.OnStateChange = func(of string, from, to theirs.State) {
			f.OnStateChange(of, ours.State(from), ours.State(to))
		}
	}
	if u.twoStep {
		s.breaker = their{two: theirs.NewTwoStepCircuitBreaker[int](st)}
	} else {
		s.breaker = their{one: theirs.NewCircuitBreaker[int](st)}
	}
	return s
}
