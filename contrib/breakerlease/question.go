package breakerlease

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// A question is one call of Ask, for one open generation. Whoever changes its
// state first, the goroutine that asks or the worker that waits no longer,
// decides it.
type question struct {
	gen   uint32
	since time.Duration // the cooldown was over
	at    time.Duration // the question was asked
	until time.Duration // the worker waits no longer
	next  time.Duration // it will look again
	grace time.Duration // by how much until may still move, for a machine that is late
	state atomic.Uint32

	// Of a refusal, written before the state.
	retry time.Duration // the next question
	token Token         // the lease that is out
	stuck time.Duration // since when that one is in the way
}

const (
	asking  uint32 = iota
	granted        // who asked ends the cooldown
	refused
	failed
	late
)

// hold is the breaker's BeforeProbe: it asks, waits for the answer and goes by it.
func (s *seat) hold(over atomicbreaker.CooldownOver) time.Duration {
	if !s.bind(over.Breaker) {
		s.fail(errShared)
		return 0
	}
	if s.before != nil {
		if wait := s.before(over); wait > 0 {
			return wait
		}
	}
	q := s.asked.Load()
	switch {
	case q == nil || q.gen != over.Generation:
		q = s.ask(over, &question{stuck: over.Since})
	case q.state.Load() == refused && over.At >= q.stuck+s.patience(over):
		s.fail(fmt.Errorf("breakerlease: one lease of another has been in the way for %v", over.At-q.stuck))
		return s.goAlone(over)
	case q.state.Load() == refused && over.At >= q.retry:
		q = s.ask(over, q)
	}
	for {
		switch q.state.Load() {
		case asking:
			// What this machine is late by is not the Lease's fault.
			behind := min(max(over.At-q.next, 0), q.grace)
			q.until, q.grace = q.until+behind, q.grace-behind
			if over.At < q.until {
				// It looks after 1 ms, 2 ms, 4 ms and so on.
				q.next = over.At + min(q.until-over.At, max(over.At-q.at, time.Millisecond))
				return q.next - over.At
			}
			if q.state.CompareAndSwap(asking, late) {
				s.fail(errLate)
			}
		case granted:
			// Whoever asked is ending the cooldown, unless it never runs again.
			if end := q.until + s.timeout(); over.At < end {
				return end - over.At
			}
			return s.goAlone(over)
		case refused:
			return max(min(q.retry, q.stuck+s.patience(over))-over.At, 1)
		default:
			return s.goAlone(over)
		}
	}
}

func (s *seat) patience(over atomicbreaker.CooldownOver) time.Duration {
	if s.options.Patience > 0 {
		return s.options.Patience
	}
	return over.Cooldown.Max
}

// ask has the Lease asked. It does not wait for the answer. last is the
// question before, of the same generation.
func (s *seat) ask(over atomicbreaker.CooldownOver, last *question) *question {
	timeout := s.timeout()
	q := &question{
		gen: over.Generation, since: over.Since, at: over.At, until: over.At + timeout, next: over.At, grace: timeout,
	}
	s.asked.Store(q)
	b, cooldown := over.Breaker, over.Cooldown
	err := s.call(2*timeout, func(ctx context.Context) {
		if q.state.Load() != asking {
			return // too late before it was asked
		}
		a, err := s.askOnce(ctx, Question{b, cooldown})
		switch {
		case err != nil:
			if q.state.CompareAndSwap(asking, failed) {
				s.fail(err)
			}
		case a.Granted:
			s.grant(b, q, a.Token)
		default:
			s.refuse(q, last, cooldown, a)
		}
	})
	if err != nil && q.state.CompareAndSwap(asking, failed) {
		s.fail(err)
	}
	return q
}

// askOnce contains a panic of the Lease. One that ends its goroutine is found
// out by the worker, when the answer is late.
func (s *seat) askOnce(ctx context.Context, q Question) (a Answer, err error) {
	defer func() {
		if recover() != nil {
			err = errEnded
		}
	}()
	return s.lease.Ask(ctx, q)
}

// grant makes the breaker half-open under a lease, or gives that back.
func (s *seat) grant(b *atomicbreaker.Breaker, q *question, token Token) {
	if !q.state.CompareAndSwap(asking, granted) {
		s.tell(News{Token: token})
		return
	}
	g := &grant{token: token, gen: q.gen + 1}
	if unfinished := s.held.Swap(g); unfinished != nil { // its end has not been announced yet
		s.tell(News{Token: unfinished.token})
	}
	if b.EndCooldownOf(q.gen) {
		s.granted.Add(1)
	} else if s.held.CompareAndSwap(g, nil) {
		s.tell(News{Token: token})
	}
}

// refuse notes until when the breaker waits. Jitter only adds to that.
func (s *seat) refuse(q, last *question, c atomicbreaker.Cooldown, a Answer) {
	wait := a.Wait
	if wait <= 0 {
		wait = c.Min
	}
	wait = min(max(wait, time.Millisecond), c.Max)
	if c.Jitter != atomicbreaker.Off {
		wait += time.Duration(float64(wait) * float64(c.Jitter*s.rand()))
	}
	now := s.clock.Now()
	q.retry, q.token, q.stuck = now+wait, last.token, last.stuck
	if a.Token != (Token{}) && a.Token != last.token {
		if q.token = a.Token; last.token != (Token{}) {
			q.stuck = now // the fleet goes on
		}
	}
	s.holder.Store(&a.Holder)
	if q.state.CompareAndSwap(asking, refused) {
		s.refused.Add(1)
	}
}

// tell has the Lease told.
func (s *seat) tell(n News) {
	n.Breaker = s.breaker()
	err := s.call(s.timeout(), func(ctx context.Context) {
		err := errEnded
		defer func() {
			_ = recover()
			if err != nil {
				s.fail(err)
			}
		}()
		err = s.lease.Tell(ctx, n)
	})
	if err != nil {
		s.fail(err)
	}
}

// maxCalls is how many calls of its Lease one breaker has out at once. One
// that does not come back when its context is done is not joined by ever more.
const maxCalls = 4

// call has the Lease run f, once, with a context that ends in time. If it is
// certain that f does not run, it returns why.
func (s *seat) call(timeout time.Duration, f func(context.Context)) (err error) {
	if s.out.Add(1) > maxCalls {
		s.out.Add(-1)
		return errStuck
	}
	var begun atomic.Bool
	defer func() {
		if recover() != nil && !begun.Swap(true) {
			s.out.Add(-1)
			err = errEnded
		}
	}()
	s.lease.Go(func() {
		if begun.Swap(true) {
			return
		}
		defer s.out.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		f(ctx)
	})
	return nil
}
