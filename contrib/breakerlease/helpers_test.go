package breakerlease

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// answering is one answer of a fakeLease.
type answering func(ctx context.Context) (Answer, error)

// fakeLease answers from a script: the n-th question with the n-th answer,
// further ones with the last. With no script it grants. It is asked before Go
// returns unless gone is set.
type fakeLease struct {
	mu     sync.Mutex
	script []answering
	tell   func(ctx context.Context, n News) error
	gone   func(f func()) // nil: at once
	asked  int
	tokens uint64
	news   []News
}

func (l *fakeLease) Go(f func()) {
	if l.gone == nil {
		f()
		return
	}
	l.gone(f)
}

func (l *fakeLease) Ask(ctx context.Context, _ Question) (Answer, error) {
	l.mu.Lock()
	l.asked++
	n := min(l.asked, len(l.script))
	l.mu.Unlock()
	if n > 0 {
		return l.script[n-1](ctx)
	}
	return l.grant(ctx)
}

func (l *fakeLease) grant(context.Context) (Answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens++
	return Answer{Granted: true, Token: Token{Number: l.tokens}}, nil
}

func (l *fakeLease) Tell(ctx context.Context, n News) error {
	l.mu.Lock()
	n.Breaker = nil
	l.news = append(l.news, n)
	l.mu.Unlock()
	if l.tell != nil {
		return l.tell(ctx, n)
	}
	return nil
}

func (l *fakeLease) told() []News {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]News(nil), l.news...)
}

func refuse(wait time.Duration) answering { return refuseFor(1, wait) }

func refuseFor(token uint64, wait time.Duration) answering {
	return func(context.Context) (Answer, error) {
		return Answer{Token: Token{Number: token}, Wait: wait, Holder: "another"}, nil
	}
}

var errStore = errors.New("the store is away")

func failing(context.Context) (Answer, error) { return Answer{}, errStore }

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

// take takes out what waits first.
func (l *laterLease) take() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return nil
	}
	f := l.waiting[0]
	l.waiting = l.waiting[1:]
	return f
}

func (l *laterLease) run() {
	for f := l.take(); f != nil; f = l.take() {
		f()
	}
}

const cooldown = 500 * time.Millisecond

// made returns a breaker that asks l, on a clock that stands, without jitter
// unless c says otherwise.
func made(t testing.TB, l Lease, c atomicbreaker.Config, o Options) (*atomicbreaker.Breaker, *clock.Manual) {
	t.Helper()
	manual := new(clock.Manual)
	if c.Clock == nil {
		c.Clock = manual
	}
	if c.Cooldown.Jitter == 0 {
		c.Cooldown.Jitter = atomicbreaker.Off
	}
	b, err := New(c, l, o)
	require.NoError(t, err)
	return b, manual
}

// leased returns an open breaker at the instant at which its cooldown ends.
func leased(t testing.TB, l Lease, c atomicbreaker.Config, o Options) (*atomicbreaker.Breaker, *clock.Manual) {
	t.Helper()
	b, manual := made(t, l, c, o)
	b.Trip()
	manual.Advance(cooldown - 1)
	require.Equal(t, atomicbreaker.StateOpen, b.State())
	manual.Advance(1)
	return b, manual
}

// status is what a breaker's Lease has done for it, the time that it has waited left out.
func status(t testing.TB, b *atomicbreaker.Breaker) Status {
	t.Helper()
	s, ok := StatusOf(b, b.Snapshot())
	require.True(t, ok)
	return s
}

func settle(t testing.TB, b *atomicbreaker.Breaker, n int, o atomicbreaker.Outcome) {
	t.Helper()
	for range n {
		ticket, err := b.Acquire()
		require.NoError(t, err)
		require.True(t, ticket.Report(o))
	}
}

func recoverBy(t testing.TB, b *atomicbreaker.Breaker, manual *clock.Manual) {
	t.Helper()
	settle(t, b, 1, atomicbreaker.Success)
	manual.Advance(2 * time.Second)
	if b.State() != atomicbreaker.StateClosed { // it has relapsed before: more is wanted
		settle(t, b, 9, atomicbreaker.Success)
		manual.Advance(2 * time.Second)
	}
	require.Equal(t, atomicbreaker.StateClosed, b.State())
}

func waitUntil(t testing.TB, f func() bool) {
	t.Helper()
	for range 10_000_000 {
		if f() {
			return
		}
		runtime.Gosched()
	}
	t.Fatal("waited in vain")
}
