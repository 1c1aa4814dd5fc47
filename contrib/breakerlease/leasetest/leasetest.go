package leasetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerlease"
)

// Server is the server of a Store under test, empty and in order. A fault that is nil
// cannot be made; the tests that need it are skipped, and say so.
type Server struct {
	// Connect returns a Store on it, with connections of its own. It sees to
	// their end.
	Connect func(t *testing.T) breakerlease.Store

	Lose   func(t *testing.T)                  // it forgets everything
	Cut    func(t *testing.T)                  // it ends all connections
	Pause  func(t *testing.T)                  // it stands still, and connections stay
	Resume func(t *testing.T)                  // it goes on
	Jump   func(t *testing.T, d time.Duration) // its clock jumps
}

// What the tests allow for: a busy machine.
const (
	ttl  = 400 * time.Millisecond
	slop = 5 * time.Second
	long = time.Hour
)

// kit is one test.
type kit struct {
	*testing.T
	s        Server
	ctx      context.Context
	one, two breakerlease.Store
}

// Run runs all tests. start is called for each, and cleans up by t.Cleanup.
func Run(t *testing.T, start func(t *testing.T) Server) {
	for _, test := range []struct {
		name  string
		needs func(s Server) bool
		run   func(k kit)
	}{
		{"one lease at a time", nil, kit.oneAtATime},
		{"names are apart", nil, kit.namesAreApart},
		{"expiry", nil, kit.expiry},
		{"renewal", nil, kit.renewal},
		{"how a lease ends", nil, kit.endings},
		{"fencing", nil, kit.fencing},
		{"a lease that lives for too long", nil, kit.tooLong},
		{"many at once", nil, kit.manyAtOnce},
		{"messages", nil, kit.messages},
		{"listening ends", nil, kit.listeningEnds},
		{"nobody waits", nil, kit.nobodyWaits},
		{"warming", nil, kit.warming},
		{"loss", func(s Server) bool { return s.Lose != nil }, kit.loss},
		{"cut connections", func(s Server) bool { return s.Cut != nil }, kit.cut},
		{"slow answers", func(s Server) bool { return s.Pause != nil && s.Resume != nil }, kit.slow},
		{"clock jumps", func(s Server) bool { return s.Jump != nil }, kit.jumps},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t)
			if test.needs != nil && !test.needs(s) {
				t.Skip("SKIPPED: this server cannot make the fault")
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			t.Cleanup(cancel)
			test.run(kit{t, s, ctx, s.Connect(t), s.Connect(t)})
		})
	}
}

func request(name string) breakerlease.Request {
	return breakerlease.Request{Name: name, Holder: "a holder/1", TTL: ttl, Limit: long}
}

func (k kit) acquire(s breakerlease.Store, r breakerlease.Request) breakerlease.Acquired {
	k.Helper()
	a, err := s.Acquire(k.ctx, r)
	if err != nil {
		k.Fatalf("Acquire: %v", err)
	}
	return a
}

// granted acquires, and wants to be granted.
func (k kit) granted(s breakerlease.Store, r breakerlease.Request) breakerlease.Token {
	k.Helper()
	a := k.acquire(s, r)
	if !a.Granted || a.Token.Epoch == "" || a.Token.Number == 0 {
		k.Fatalf("Acquire returned %+v, want a grant with an epoch and a number", a)
	}
	return a.Token
}

// refused acquires, and wants to be refused by the lease of a token.
func (k kit) refused(s breakerlease.Store, r breakerlease.Request, by breakerlease.Token) breakerlease.Acquired {
	k.Helper()
	a := k.acquire(s, r)
	if a.Granted || a.Token != by || a.Holder != "a holder/1" || a.Left < time.Millisecond {
		k.Fatalf("Acquire returned %+v, want a refusal by %v with its holder and what it has left", a, by)
	}
	return a
}

// eventually acquires until it is granted.
func (k kit) eventually(s breakerlease.Store, r breakerlease.Request) breakerlease.Token {
	k.Helper()
	for end := time.Now().Add(slop); time.Now().Before(end); {
		if a := k.acquire(s, r); a.Granted {
			return a.Token
		}
		<-time.After(5 * time.Millisecond)
	}
	k.Fatalf("no lease of %q within %v", r.Name, slop)
	return breakerlease.Token{}
}

func (k kit) renew(s breakerlease.Store, name string, t breakerlease.Token, life time.Duration, want bool) {
	k.Helper()
	mine, err := s.Renew(k.ctx, name, t, life)
	if err != nil || mine != want {
		k.Fatalf("Renew of %v returned %v, %v, want %v", t, mine, err, want)
	}
}

func (k kit) end(s breakerlease.Store, name string, t breakerlease.Token, e breakerlease.Ending) {
	k.Helper()
	if err := s.End(k.ctx, name, t, e); err != nil {
		k.Fatalf("End: %v", err)
	}
}

// ears is what a listener has heard.
type ears struct {
	mu    sync.Mutex
	heard []string
	done  chan error
	stop  context.CancelFunc
}

func (e *ears) count(text string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.heard {
		if h == text {
			n++
		}
	}
	return n
}

func (k kit) listen(s breakerlease.Store) *ears {
	k.Helper()
	ctx, stop := context.WithCancel(k.ctx)
	e := &ears{done: make(chan error, 1), stop: stop}
	k.Cleanup(stop)
	listening := make(chan struct{})
	var once sync.Once
	go func() {
		e.done <- s.Listen(ctx, func() { once.Do(func() { close(listening) }) }, func(text string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard = append(e.heard, text)
		})
	}()
	select {
	case <-listening:
	case <-time.After(slop):
		k.Fatal("Listen has not called listening")
	}
	return e
}

func (k kit) waitFor(what string, f func() bool) {
	k.Helper()
	for end := time.Now().Add(slop); !f(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			k.Fatalf("waited in vain: %s", what)
		}
	}
}
