package dropin

import (
	"fmt"
	"runtime"

	ours "github.com/atomicbreaker/breaker/contrib/gobreaker"
)

// result is all that can be seen of one request.
type result struct {
	ran      bool
	value    int
	err      error
	panicked any
}

func (a result) String() string {
	return fmt.Sprintf("ran %v, returned %d and %v, panicked with %v", a.ran, a.value, a.err, a.panicked)
}

// request makes one request of both, theirs around ours, so that what is
// inside happens while both are under way.
func (r *run) request(how ending, inside func()) {
	var a, b result
	r.seen.Requests++
	r.hear()
	ourRequest := func() {
		a = call(r.ours, how, inside, how == goexits && !r.setup.twoStep)
	}
	b = call(r.theirs, r.setup.theirEnding(how), ourRequest, false)
	if !b.ran {
		ourRequest()
	}
	if a.ran && how == goexits { // Execute does not come back from it
		a.value, a.err, a.panicked = b.value, b.err, b.panicked
	}
	if a.String() != b.String() || a.err != b.err {
		r.differ("a request", a, b)
	}
	r.notice(b.err, how)
}

// theirEnding is how the original's request ends. Version 1 counts one that panics as a
// failure without asking, as ours counts one that ends its goroutine.
func (u setup) theirEnding(how ending) ending {
	if u.v1 && !u.twoStep && how == goexits {
		return panics
	}
	return how
}

func (r *run) notice(err error, how ending) {
	switch {
	case err == ours.ErrOpenState:
		r.seen.RefusedOpen++
	case err == ours.ErrTooManyRequests:
		r.seen.RefusedHalfOpen++
	case how == goexits:
		r.seen.Goexits++
	case how == panics:
		r.seen.Panics++
	}
}

// call makes one request of one breaker. A request that ends its goroutine has
// one of its own.
func call(s *side, how ending, inside func(), goexit bool) (a result) {
	f := func() (int, error) {
		a.ran = true
		if inside != nil {
			inside()
		}
		if how == panics {
			panic("oops")
		}
		if goexit {
			runtime.Goexit()
		}
		return 7, how.err()
	}
	defer func() { a.panicked = recover() }()
	if !goexit {
		a.value, a.err = s.execute(f)
		return a
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.value, a.err = s.execute(f)
	}()
	<-over
	return a
}

// maxOpen is how many two-step requests a program can have.
const maxOpen = 16

func (r *run) allow() {
	if !r.setup.twoStep || len(r.settled) == maxOpen {
		return
	}
	r.hear()
	d1, err1 := r.ours.allow()
	d2, err2 := r.theirs.allow()
	if err1 != err2 || (d1 == nil) != (d2 == nil) {
		r.differ("Allow", err1, err2)
	}
	r.notice(err2, succeeds)
	if d1 != nil && d2 != nil {
		r.ours.dones, r.theirs.dones, r.settled = append(r.ours.dones, d1), append(r.theirs.dones, d2), append(r.settled, false)
	}
}

func (r *run) done(s step) {
	if len(r.settled) == 0 {
		return
	}
	i := len(r.settled) - 1 - s.n%len(r.settled)
	if r.settled[i] {
		return
	}
	r.settled[i] = true
	before := r.theirs.counts()
	err := s.how.err()
	if s.how == panics {
		err = errFailed
	}
	r.ours.dones[i](err)
	r.theirs.dones[i](err)
	if r.theirs.counts() == before {
		r.seen.Late++
	}
}

// again ends a request of ours a second time, which must do nothing.
func (r *run) again(s step) {
	if len(r.settled) == 0 {
		return
	}
	i := len(r.settled) - 1 - s.n%len(r.settled)
	if !r.settled[i] {
		return
	}
	before, events := r.ours.counts(), len(r.ours.events)
	r.ours.dones[i](s.how.err())
	r.seen.Again++
	if after := r.ours.counts(); after != before || len(r.ours.events) != events {
		r.differ("a second done", after, before)
	}
}
