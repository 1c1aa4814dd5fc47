package breakerlease

import (
	"context"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// lease is the Lease of the breakers of one name of a Fleet.
type lease struct {
	fleet *Fleet
	team  *team
}

// Go runs f on a goroutine of its own: it waits for the network.
func (l *lease) Go(f func()) { go f() }

// Members is how many processes take part.
func (l *lease) Members() int { return l.fleet.Status().Members }

// maxLife is how far above its own TTL, in multiples, another's lease may
// live, or above the longest cooldown. What lives longer is no lease.
const maxLife = 4

// Ask asks the Store for the lease.
func (l *lease) Ask(ctx context.Context, q Question) (Answer, error) {
	f, t := l.fleet, l.team
	t.join(q.Breaker)
	ttl := min(f.o.TTL, q.Cooldown.Max)
	var got Acquired
	var waits atomic.Int32 // 1: the answer is there; 2: nobody waits any more
	err := f.within(ctx, t, func(ctx context.Context) (err error) {
		a, err := f.store.Acquire(ctx, Request{
			Name: t.name, Holder: f.holder, TTL: ttl, Limit: max(maxLife*ttl, q.Cooldown.Max),
		})
		if err != nil {
			return err
		}
		got = a
		if !waits.CompareAndSwap(0, 1) && a.Granted {
			return f.store.End(ctx, t.name, a.Token, Ending{Release: true})
		}
		return nil
	})
	if err == errSlow && !waits.CompareAndSwap(0, 2) {
		err = nil // it came at the last moment
	}
	if err != nil {
		return Answer{}, err
	}
	t.learn(got.Token)
	if got.Replaced {
		f.log.replaced(t.name)
	}
	if !got.Granted {
		// It may have been published while this process was not listening.
		if m, ok := parse(got.Message); ok && m.token == got.Token {
			f.act(t, m)
		}
		// A lease that lives for long may end early: look now and then.
		return Answer{Token: got.Token, Wait: min(got.Left, maxLife*ttl), Holder: got.Holder}, nil
	}
	held := weak.Make(q.Breaker)
	f.start(func() { l.keep(held, got.Token, ttl) })
	return Answer{Granted: true, Token: got.Token}, nil
}

// fleetCooldown: after a probe that failed, the fleet waits for a tenth of the
// cooldown of the breaker that probed, if that is longer than the TTL. Fifty
// breakers for themselves would send five times as many probes.
const fleetCooldown = 10

// Tell ends a lease, or lets it run out, and publishes what was found out.
func (l *lease) Tell(ctx context.Context, n News) error {
	f, t := l.fleet, l.team
	m := message{from: f.id, kind: n.Verdict.String(), name: t.name, token: n.Token, alone: n.Alone}
	err := f.within(ctx, t, func(ctx context.Context) error {
		if n.Alone {
			return f.store.Publish(ctx, m.String())
		}
		e := Ending{Release: n.Verdict == Unused || n.Verdict == Recovered, Message: m.String()}
		switch n.Verdict {
		case Unused:
			e.Message = ""
		case Reopened:
			e.Least, e.Most = n.Cooldown/fleetCooldown, max(n.Cooldown, time.Millisecond)
		}
		return f.store.End(ctx, t.name, n.Token, e)
	})
	if err == nil {
		// Its own breakers of the name are told without the way round.
		m.teller = n.Breaker
		f.act(t, m)
	}
	return err
}

// keep renews a lease for as long as the breaker is half-open under it and has
// sent a probe. Without one it may have no calls, and must not keep the others
// from theirs.
func (l *lease) keep(held weak.Pointer[atomicbreaker.Breaker], token Token, ttl time.Duration) {
	f := l.fleet
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	until := time.Now().Add(ttl)
	for {
		select {
		case <-f.ctx.Done():
			l.release(token)
			return
		case <-tick.C:
		}
		b := held.Value()
		if b == nil {
			l.release(token)
			return
		}
		s := b.Snapshot()
		if status, _ := StatusOf(b, s); status.Held && !s.Unprobed {
			asked := time.Now()
			ctx, cancel := context.WithTimeout(f.ctx, storeTimeout)
			mine, err := f.store.Renew(ctx, l.team.name, token, ttl)
			cancel()
			if f.ctx.Err() == nil {
				f.log.note(err)
			}
			if err == nil && !mine {
				return // it has run out, or has been ended
			}
			if err == nil {
				until = asked.Add(ttl)
			}
		}
		if time.Now().After(until) {
			return
		}
	}
}

// release gives back the lease of a breaker that is gone, or of a Fleet that is closed.
func (l *lease) release(token Token) {
	ctx, cancel := context.WithTimeout(context.Background(), l.fleet.timeout())
	defer cancel()
	_ = l.fleet.store.End(ctx, l.team.name, token, Ending{Release: true})
}
