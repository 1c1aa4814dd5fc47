package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// A LeaseStore is what the breakers of a fleet share, in a scenario that has
// one: they take turns at probing, and hear of each other's verdicts. Contenders
// that are made of this module's breaker use it, the others cannot.
type LeaseStore struct {
	// Latency is what a question takes, half of it to three halves.
	Latency time.Duration

	// TTL is how long a lease lives that is not renewed.
	TTL time.Duration

	// Errors is the share of questions and news that fail.
	Errors float64

	// Down is when every one of them fails.
	Down Span
}

// usualStore answers in half a millisecond. With its TTL, the default of
// breakerredis, a fleet finds the end of an outage as soon as one of fifty
// breakers that ask for themselves does.
func usualStore() *LeaseStore {
	return &LeaseStore{Latency: 500 * time.Microsecond, TTL: 100 * time.Millisecond}
}

// String says what it is like, for titles.
func (s *LeaseStore) String() string {
	switch {
	case s.Down.To > 0:
		return "a lease on a store that is dead"
	case s.Errors > 0:
		return fmt.Sprintf("a lease on a store that fails %g times in a hundred", 100*s.Errors)
	case s.Latency >= 10*time.Millisecond:
		return fmt.Sprintf("a lease on a store that answers after %v", s.Latency)
	}
	return fmt.Sprintf("a lease of %v", s.TTL)
}

// leaseStore is a LeaseStore in a run.
type leaseStore struct {
	LeaseStore
	seed    seed
	clock   clock.Clock
	members []*atomicbreaker.Breaker
	drawn   uint64

	owner   *atomicbreaker.Breaker
	until   time.Duration
	renewed bool // as long as its owner probes
	token   uint64
	heard   uint64 // the last news that was passed on: 4 x token + verdict
}

var errNoStore = errors.New("sim: the store of the leases has failed")

// Go runs f when a message to the store has arrived: nothing waits, and the
// order is the clock's.
func (s *leaseStore) Go(f func()) { s.after(s.Latency/2, s.Latency*3/2, f) }

func (s *leaseStore) after(from, to time.Duration, f func()) {
	s.drawn++
	d := s.seed.draw(forLease, s.drawn, 0)
	s.clock.AfterFunc(d.between(from, to), f)
}

func (s *leaseStore) fails() bool {
	s.drawn++
	d := s.seed.draw(forLease, s.drawn, 1)
	now := s.clock.Now()
	return now >= s.Down.From && now < s.Down.To || d.chance(s.Errors)
}

// Ask grants the lease if it is free.
func (s *leaseStore) Ask(_ context.Context, q breakerlease.Question) (breakerlease.Answer, error) {
	if s.fails() {
		return breakerlease.Answer{}, errNoStore
	}
	now := s.clock.Now()
	if s.owner != nil && now < s.until {
		return breakerlease.Answer{Token: breakerlease.Token{Number: s.token}, Wait: s.until - now}, nil
	}
	s.token++
	s.owner, s.until, s.renewed = q.Breaker, now+s.TTL, true
	s.renewLater(s.token)
	return breakerlease.Answer{Granted: true, Token: breakerlease.Token{Number: s.token}}, nil
}

// renewLater renews a lease for as long as its owner is half-open and has sent
// a probe.
func (s *leaseStore) renewLater(token uint64) {
	s.clock.AfterFunc(s.TTL/3, func() {
		now := s.clock.Now()
		if s.token != token || s.owner == nil || !s.renewed || now >= s.until {
			return
		}
		snap := s.owner.Snapshot()
		if status, _ := breakerlease.StatusOf(s.owner, snap); status.Held && !snap.Unprobed && !s.fails() {
			s.until = now + s.TTL
		}
		s.renewLater(token)
	})
}

// leaseCooldown: after a probe that failed, the fleet waits for a tenth of the
// cooldown that a breaker for itself would wait for.
const leaseCooldown = 10

// Tell releases the lease, or leaves it to run out after a probe that failed:
// that is the fleet's cooldown. What a probe has found out is passed on.
func (s *leaseStore) Tell(_ context.Context, n breakerlease.News) error {
	if s.fails() {
		return errNoStore
	}
	if n.Token.Number == s.token && !n.Alone {
		switch n.Verdict {
		case breakerlease.Reopened:
			s.renewed = false
			s.until = max(s.until, s.clock.Now()+n.Cooldown/leaseCooldown)
		case breakerlease.Recovered, breakerlease.Unused:
			s.owner = nil
		}
	}
	good := n.Verdict == breakerlease.Answered || n.Verdict == breakerlease.Recovered
	order := 4*n.Token.Number + uint64(n.Verdict)
	if !good || !n.Alone && order <= s.heard {
		return nil
	}
	s.heard = max(s.heard, order)
	for _, b := range s.members {
		if b != n.Breaker {
			s.after(s.Latency/2, s.Latency*3/2, func() { b.EndCooldown() })
		}
	}
	return nil
}
