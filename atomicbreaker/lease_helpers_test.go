package atomicbreaker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// fakeLease answers from a script: the n-th question with the n-th answer,
// further ones with the last. With no script it grants. It is asked before Go
// returns unless later is set: then the test runs what waits.
type fakeLease struct {
	mu     sync.Mutex
	script []func(ctx context.Context) (LeaseAnswer, error)
	tell   func(ctx context.Context, n LeaseNews) error
	gone   func(f func()) // nil: at once
	asked  int
	tokens uint64
	news   []LeaseNews
}

func (l *fakeLease) Go(f func()) {
	if l.gone == nil {
		f()
		return
	}
	l.gone(f)
}

func (l *fakeLease) Ask(ctx context.Context, _ *Breaker) (LeaseAnswer, error) {
	l.mu.Lock()
	l.asked++
	n := min(l.asked, len(l.script))
	l.mu.Unlock()
	if n > 0 {
		return l.script[n-1](ctx)
	}
	return l.grant(ctx)
}

func (l *fakeLease) grant(context.Context) (LeaseAnswer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens++
	return LeaseAnswer{Granted: true, Token: l.tokens}, nil
}

func (l *fakeLease) Tell(ctx context.Context, n LeaseNews) error {
	l.mu.Lock()
	n.Breaker = nil
	l.news = append(l.news, n)
	l.mu.Unlock()
	if l.tell != nil {
		return l.tell(ctx, n)
	}
	return nil
}

func (l *fakeLease) told() []LeaseNews {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]LeaseNews(nil), l.news...)
}

func refuse(wait time.Duration) func(context.Context) (LeaseAnswer, error) {
	return func(context.Context) (LeaseAnswer, error) { return LeaseAnswer{Wait: wait}, nil }
}

var errStore = errors.New("the store is away")

func failing(context.Context) (LeaseAnswer, error) { return LeaseAnswer{}, errStore }

// laterLease is a fakeLease whose questions and news wait until the test runs
// them.
type laterLease struct {
	fakeLease
	waiting []func()
}

func newLaterLease() *laterLease {
	l := new(laterLease)
	l.gone = func(f func()) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.waiting = append(l.waiting, f)
	}
	return l
}

func (l *laterLease) run() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.mu.Unlock()
			return
		}
		f := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		f()
	}
}

// leased returns an open breaker at the instant at which its cooldown ends,
// and the transitions it tells of.
func leased(t *testing.T, l Lease, c Config) (*Breaker, *clock.Manual, *[]Transition) {
	t.Helper()
	var told []Transition
	c.Lease = l
	c.OnTransition = func(tr Transition) { told = append(told, tr) }
	b, manual := opened(t, c)
	manual.Advance(500*time.Millisecond - 1)
	require.Equal(t, StateOpen, b.State())
	manual.Advance(1)
	return b, manual, &told
}

func lastReason(told *[]Transition) Reason { return (*told)[len(*told)-1].Reason }

func weakly(b *Breaker) weak.Pointer[Breaker] { return weak.Make(b) }
