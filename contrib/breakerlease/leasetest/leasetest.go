// Package leasetest has the tests that any breakerlease.Store must pass, and a
// Store in memory for the tests of what uses one.
//
//	func TestStore(t *testing.T) {
//		leasetest.Run(t, func(t *testing.T) leasetest.Server { ... })
//	}
package leasetest

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
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

func (k kit) oneAtATime() {
	r := request("x")
	r.TTL = long
	t := k.granted(k.one, r)
	for range 3 {
		if a := k.refused(k.two, r, t); a.Left > long || a.Left < long-time.Minute {
			k.Errorf("%v are left of an hour", a.Left)
		}
		k.refused(k.one, r, t) // whoever asks
	}
}

func (k kit) namesAreApart() {
	seen := map[string]bool{}
	for _, name := range []string{
		"x", "X", "x ", "x:y", "{x}", "a{b}c", "ü\u2028", "it's", `"quoted"`, "100%", strings.Repeat("n", 255), strings.Repeat("n", 256), "a/b", "*",
	} {
		r := request(name)
		r.TTL = long
		t := k.granted(k.one, r)
		k.refused(k.two, r, t)
		seen[name] = true
	}
	if len(seen) != 14 {
		k.Fatal("two names are one")
	}
}

func (k kit) expiry() {
	first := k.granted(k.one, request("x"))
	began := time.Now()
	second := k.eventually(k.two, request("x"))
	if took := time.Since(began); took < ttl/2 {
		k.Errorf("a lease of %v was over after %v", ttl, took)
	}
	if second.Epoch != first.Epoch || second.Number <= first.Number {
		k.Errorf("the token after %v is %v, want the same epoch and a higher number", first, second)
	}
	k.renew(k.one, "x", first, ttl, false)
}

func (k kit) renewal() {
	r := request("x")
	t := k.granted(k.one, r)
	k.renew(k.one, "x", t, long, true)
	if a := k.refused(k.two, r, t); a.Left < long/2 {
		k.Errorf("%v are left of a lease that was renewed for %v", a.Left, long)
	}
	k.renew(k.two, "x", breakerlease.Token{Epoch: t.Epoch, Number: t.Number + 1}, long, false)
	k.renew(k.two, "x", breakerlease.Token{Epoch: "other", Number: t.Number}, long, false)
	k.renew(k.two, "y", t, long, false)
}

func (k kit) endings() {
	left := func(name string, e breakerlease.Ending) time.Duration {
		r := request(name)
		r.TTL = time.Minute
		t := k.granted(k.one, r)
		k.end(k.one, name, t, e)
		return k.refused(k.two, r, t).Left
	}
	near := func(what string, got, want time.Duration) {
		k.Helper()
		if got > want || got < want-slop {
			k.Errorf("%s: %v are left, want %v", what, got, want)
		}
	}
	near("as it is", left("a", breakerlease.Ending{}), time.Minute)
	near("shortened", left("b", breakerlease.Ending{Most: 20 * time.Second}), 20*time.Second)
	near("lengthened", left("c", breakerlease.Ending{Least: 2 * time.Minute, Most: 3 * time.Minute}), 2*time.Minute)
	near("in between", left("d", breakerlease.Ending{Least: 10 * time.Second, Most: 3 * time.Minute}), time.Minute)

	r := request("e")
	r.TTL = long
	t := k.granted(k.one, r)
	k.end(k.two, "e", breakerlease.Token{Epoch: t.Epoch, Number: t.Number + 1}, breakerlease.Ending{Release: true})
	k.refused(k.two, r, t)
	k.end(k.one, "e", t, breakerlease.Ending{Release: true})
	if next := k.granted(k.two, r); next.Epoch != t.Epoch || next.Number <= t.Number {
		k.Errorf("the token after %v is %v", t, next)
	}
	k.end(k.one, "e", t, breakerlease.Ending{Release: true}) // once more: it is not its lease any more
	if a := k.acquire(k.one, r); a.Granted {
		k.Error("a lease was released by the one before")
	}
}

func (k kit) fencing() {
	e := k.listen(k.two)
	r := request("x")
	r.TTL = long
	first := k.granted(k.one, r)
	k.end(k.one, "x", first, breakerlease.Ending{Message: "first, answered"})
	if a := k.refused(k.two, r, first); a.Message != "first, answered" {
		k.Errorf("those that ask are told %q", a.Message)
	}
	k.end(k.one, "x", first, breakerlease.Ending{Release: true, Message: "first, recovered"})
	k.waitFor("the message of the last lease, though it is over", func() bool { return e.count("first, recovered") > 0 })

	second := k.granted(k.two, r)
	k.end(k.one, "x", first, breakerlease.Ending{Message: "first, too late"})
	k.end(k.two, "x", second, breakerlease.Ending{Message: "second"})
	k.waitFor("the message of the second", func() bool { return e.count("second") > 0 })
	if e.count("first, too late") > 0 {
		k.Error("a message of a lease was published after a later one was granted")
	}
	if a := k.refused(k.one, r, second); a.Message != "second" {
		k.Errorf("those that ask are told %q", a.Message)
	}
}

func (k kit) tooLong() {
	r := request("x")
	r.TTL = long
	stray := k.granted(k.one, r)
	r.TTL, r.Limit = ttl, time.Minute
	a := k.acquire(k.two, r)
	if !a.Granted || !a.Replaced || a.Token == stray {
		k.Fatalf("Acquire returned %+v, want the lease of an hour replaced", a)
	}
	k.renew(k.one, "x", stray, long, false)
	if a := k.acquire(k.one, r); a.Granted || a.Replaced {
		k.Errorf("Acquire returned %+v, want a refusal", a)
	}
}

// manyAtOnce: however many ask, and end, and ask twice: each token is granted
// once, and one lease is out at a time.
func (k kit) manyAtOnce() {
	r := request("x")
	r.TTL = long
	var out, overlaps atomic.Int32
	var tokens sync.Map
	var all sync.WaitGroup
	granted := make(chan struct{}, 1000)
	for i := range 8 {
		s := k.one
		if i%2 == 1 {
			s = k.two
		}
		all.Go(func() {
			for range 25 {
				a, err := s.Acquire(k.ctx, r)
				if err != nil {
					k.Errorf("Acquire: %v", err)
					return
				}
				if !a.Granted {
					continue
				}
				if out.Add(1) > 1 {
					overlaps.Add(1)
				}
				if _, twice := tokens.LoadOrStore(a.Token, true); twice {
					k.Errorf("%v was granted twice", a.Token)
				}
				granted <- struct{}{}
				<-time.After(time.Millisecond)
				out.Add(-1)
				for range 2 { // a duplicate does no harm
					if err := s.End(k.ctx, "x", a.Token, breakerlease.Ending{Release: true}); err != nil {
						k.Errorf("End: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	if n := overlaps.Load(); n > 0 {
		k.Errorf("two leases were out at once, %d times", n)
	}
	if len(granted) < 2 {
		k.Errorf("only %d were granted: the test shows nothing", len(granted))
	}
}

func (k kit) messages() {
	one, two := k.listen(k.one), k.listen(k.two)
	for _, text := range []string{"v=2&a=b", "ü 'quoted' \"twice\" {}%", strings.Repeat("long ", 500)} {
		if err := k.one.Publish(k.ctx, text); err != nil {
			k.Fatalf("Publish: %v", err)
		}
		k.waitFor("a message of "+text[:7], func() bool { return one.count(text) > 0 && two.count(text) > 0 })
	}
}

func (k kit) listeningEnds() {
	e := k.listen(k.one)
	e.stop()
	select {
	case <-e.done:
	case <-time.After(slop):
		k.Fatal("Listen goes on though its context is done")
	}
}

// nobodyWaits: a call whose context is over returns, with an error.
func (k kit) nobodyWaits() {
	over, cancel := context.WithCancel(k.ctx)
	cancel()
	began := time.Now()
	if a, err := k.one.Acquire(over, request("x")); err == nil {
		k.Errorf("Acquire returned %+v though its context was over", a)
	}
	if _, err := k.one.Renew(over, "x", breakerlease.Token{Epoch: "e", Number: 1}, ttl); err == nil {
		k.Error("Renew returned no error though its context was over")
	}
	if err := k.one.End(over, "x", breakerlease.Token{Epoch: "e", Number: 1}, breakerlease.Ending{Release: true}); err == nil {
		k.Error("End returned no error though its context was over")
	}
	if err := k.one.Publish(over, "x"); err == nil {
		k.Error("Publish returned no error though its context was over")
	}
	if took := time.Since(began); took > slop {
		k.Errorf("that took %v", took)
	}
}

func (k kit) warming() {
	for range 3 {
		if err := k.one.Warm(k.ctx); err != nil {
			k.Fatalf("Warm: %v", err)
		}
	}
	k.granted(k.one, request("x"))
}

// loss: tokens of before and after cannot be taken for each other.
func (k kit) loss() {
	r := request("x")
	r.TTL = long
	var first breakerlease.Token
	for range 3 {
		first = k.granted(k.one, r)
		k.end(k.one, "x", first, breakerlease.Ending{Release: true})
	}
	first = k.granted(k.one, r)
	k.s.Lose(k.T)
	e := k.listen(k.two)
	second := k.granted(k.two, r)
	if second.Epoch == first.Epoch && second.Number <= first.Number {
		k.Fatalf("the token after the loss is %v, the one before %v: want another epoch", second, first)
	}
	k.renew(k.one, "x", first, long, false)
	k.end(k.one, "x", first, breakerlease.Ending{Release: true, Message: "of before"})
	k.refused(k.one, r, second)
	k.end(k.two, "x", second, breakerlease.Ending{Message: "of after"})
	k.waitFor("the message of after", func() bool { return e.count("of after") > 0 })
	if e.count("of before") > 0 {
		k.Error("a message of before the loss was published")
	}
}

// cut: Listen notices, and everything works again.
func (k kit) cut() {
	e := k.listen(k.one)
	k.s.Cut(k.T)
	select {
	case err := <-e.done:
		if err == nil {
			k.Error("Listen returned no error though its connection was cut")
		}
	case <-time.After(2 * slop):
		k.Fatal("Listen has not noticed that its connection was cut")
	}
	k.waitFor("the store works again", func() bool { _, err := k.one.Acquire(k.ctx, request("x")); return err == nil })
	e = k.listen(k.one)
	k.waitFor("a message", func() bool { _ = k.two.Publish(k.ctx, "hello"); return e.count("hello") > 0 })
}

// slow: a server that stands still is not waited for, and the store works when
// it goes on.
func (k kit) slow() {
	k.granted(k.one, request("warm"))
	k.s.Pause(k.T)
	began := time.Now()
	for range 3 {
		ctx, cancel := context.WithTimeout(k.ctx, 100*time.Millisecond)
		if a, err := k.one.Acquire(ctx, request("x")); err == nil {
			k.Errorf("Acquire returned %+v of a server that stands still", a)
		}
		cancel()
	}
	if took := time.Since(began); took > slop {
		k.Errorf("three calls with 100 ms each took %v", took)
	}
	k.s.Resume(k.T)
	k.waitFor("the store works again", func() bool {
		ctx, cancel := context.WithTimeout(k.ctx, time.Second)
		defer cancel()
		a, err := k.one.Acquire(ctx, request("y"))
		return err == nil && a.Granted
	})
}

// jumps: a clock that jumps ahead ends leases early; one that jumps back makes
// none live beyond the limit. Numbers grow all the same.
func (k kit) jumps() {
	r := request("x")
	r.Limit = time.Minute
	first := k.granted(k.one, r)
	k.s.Jump(k.T, time.Hour)
	second := k.granted(k.two, r)
	k.s.Jump(k.T, -2*time.Hour)
	third := k.eventually(k.one, r)
	if first.Epoch != second.Epoch || second.Epoch != third.Epoch || second.Number <= first.Number || third.Number <= second.Number {
		k.Errorf("the tokens were %v, %v and %v", first, second, third)
	}
}
