package breakerredis

import (
	"context"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// lease is the Lease of the breakers of one name.
type lease struct {
	fleet *Fleet
	team  *team
}

// Go runs f on a goroutine of its own: it waits for the network.
func (l *lease) Go(f func()) { go f() }

// Ask asks Redis for the lease.
func (l *lease) Ask(ctx context.Context, q breakerlease.Question) (breakerlease.Answer, error) {
	f := l.fleet
	if f.ctx.Err() != nil {
		return breakerlease.Answer{}, errClosed
	}
	l.team.join(q.Breaker)
	got, err := f.acquire(ctx, l.team.keys)
	f.log.note(err)
	switch {
	case err != nil:
		return breakerlease.Answer{}, err
	case got.token == 0:
		// It may have been published while this process was not listening.
		if m, ok := verdictOf(got.verdict); ok {
			f.act(l.team, m)
		}
		return breakerlease.Answer{Token: got.owner, Wait: got.wait}, nil
	}
	held := weak.Make(q.Breaker)
	f.start(func() { l.keep(held, got.token) })
	return breakerlease.Answer{Granted: true, Token: got.token}, nil
}

// Tell ends a lease, or lets it run out, and publishes what was found out.
func (l *lease) Tell(ctx context.Context, n breakerlease.News) error {
	if n.Alone {
		return nil
	}
	err := l.fleet.tell(ctx, l.team.keys, l.team.name, n)
	l.fleet.log.note(err)
	if err == nil {
		// Its own breakers of the name are told without the way round.
		l.fleet.act(l.team, message{from: l.fleet.id, token: n.Token, verdict: n.Verdict.String(), name: l.team.name, teller: n.Breaker})
	}
	return err
}

// keep renews a lease for as long as the breaker is half-open under it and has
// sent a probe. Without one it may have no calls, and must not keep the others
// from theirs.
func (l *lease) keep(held weak.Pointer[atomicbreaker.Breaker], token uint64) {
	f := l.fleet
	tick := time.NewTicker(f.ttl / 3)
	defer tick.Stop()
	until := time.Now().Add(f.ttl)
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
		if status, _ := breakerlease.StatusOf(b, s); status.Held && !s.Unprobed {
			asked := time.Now()
			ctx, cancel := context.WithTimeout(f.ctx, f.timeout)
			mine, err := f.renew(ctx, l.team.keys, token)
			cancel()
			f.log.note(err)
			if err == nil && !mine {
				return // it has run out, or has been ended
			}
			if err == nil {
				until = asked.Add(f.ttl)
			}
		}
		if time.Now().After(until) {
			return
		}
	}
}

// release gives back the lease of a breaker that is gone, or of a Fleet that is closed.
func (l *lease) release(token uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), l.fleet.timeout)
	defer cancel()
	_ = l.fleet.tell(ctx, l.team.keys, l.team.name, breakerlease.News{Token: token})
}
