package browsertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerpage"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// fleet is a server with the page of some breakers, which are being called.
type fleet struct {
	*testing.T
	breakerwatch.Watch
	page   *breakerpage.Page
	server *httptest.Server
	stop   context.CancelFunc
	ctx    context.Context
	calls  sync.WaitGroup

	mu       sync.Mutex
	commands []breakerpage.Command
}

func newFleet(t *testing.T, o breakerpage.Options) *fleet {
	t.Helper()
	f := &fleet{T: t}
	f.ctx, f.stop = context.WithCancel(context.Background())
	if o.Interval == 0 {
		o.Interval = 250 * time.Millisecond
	}
	page, err := breakerpage.New(&f.Watch, &o)
	if err != nil {
		t.Fatal(err)
	}
	f.page = page
	mux := http.NewServeMux()
	mux.Handle("/debug/breakers/", page)
	f.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.stop()
		f.calls.Wait()
		page.Close()
		f.server.Close()
	})
	return f
}

// writableFleet is a fleet that can be commanded.
func writableFleet(t *testing.T) *fleet {
	t.Helper()
	var f *fleet
	f = newFleet(t, breakerpage.Options{Audit: func(breakerpage.Entry) {}, Authorize: func(r *http.Request, c breakerpage.Command) error { return f.allow(r, c) }})
	return f
}

func (f *fleet) url() string { return f.server.URL + "/debug/breakers/" }

// allow is an Authorize that allows everything but trips of "precious", and
// notes it.
func (f *fleet) allow(_ *http.Request, c breakerpage.Command) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, c)
	if c.Breaker == "precious" {
		return errors.New("it is precious")
	}
	return nil
}

func (f *fleet) made(name string, c atomicbreaker.Config) *atomicbreaker.Breaker {
	f.Helper()
	c.Name = name
	b, err := atomicbreaker.New(f.Errors(f.Config(c)))
	if err != nil {
		f.Fatal(err)
	}
	if err := f.Add(b); err != nil {
		f.Fatal(err)
	}
	return b
}

var errDown = errors.New("down")

// traffic calls b every so often until the test ends. fails says which of the
// calls fail, in the order of their numbers, and took how long each takes.
func (f *fleet) traffic(b *atomicbreaker.Breaker, every, took time.Duration, fails func(n int) bool) {
	f.calls.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-f.ctx.Done():
				return
			case <-tick.C:
			}
			f.calls.Go(func() {
				_ = b.Do(f.ctx, func(ctx context.Context) error {
					select {
					case <-time.After(took):
					case <-ctx.Done():
					}
					if fails(n) {
						return errDown
					}
					return nil
				})
			})
		}
	})
}

func never(int) bool  { return false }
func always(int) bool { return true }

// everyKind makes a breaker for each thing that the page can say.
func (f *fleet) everyKind() map[string]*atomicbreaker.Breaker {
	long := atomicbreaker.Cooldown{Min: time.Hour, Jitter: atomicbreaker.Off}
	soon := atomicbreaker.Cooldown{Min: 300 * time.Millisecond, Max: 2 * time.Second}
	b := map[string]*atomicbreaker.Breaker{
		"calm":     f.made("calm", atomicbreaker.Config{}),
		"idle":     f.made("idle", atomicbreaker.Config{}),
		"errors":   f.made("errors", atomicbreaker.Config{}),
		"dead":     f.made("dead", atomicbreaker.Config{Cooldown: soon}),
		"unasked":  f.made("unasked", atomicbreaker.Config{Cooldown: long}),
		"refusing": f.made("refusing", atomicbreaker.Config{Cooldown: long}),
		"unprobed": f.made("unprobed", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Millisecond}}),
		"probing":  f.made("probing", atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Millisecond}}),
		"forced":   f.made("forced", atomicbreaker.Config{Mode: atomicbreaker.ForcedOpen}),
		"shadow":   f.made("shadow", atomicbreaker.Config{Mode: atomicbreaker.Shadow, Cooldown: long}),
		"precious": f.made("precious", atomicbreaker.Config{Mode: atomicbreaker.ForcedClosed}),
	}
	for _, name := range []string{"unasked", "refusing", "unprobed", "probing", "shadow"} {
		b[name].Trip()
	}
	f.traffic(b["calm"], 10*time.Millisecond, time.Millisecond, never)
	f.traffic(b["errors"], 15*time.Millisecond, time.Millisecond, func(n int) bool { return n%5 == 0 })
	f.traffic(b["dead"], 12*time.Millisecond, time.Millisecond, always)
	f.traffic(b["refusing"], 25*time.Millisecond, 0, never)
	f.traffic(b["probing"], 20*time.Millisecond, 2*time.Second, never) // more than one at a time may go
	f.traffic(b["forced"], 50*time.Millisecond, 0, never)
	f.traffic(b["shadow"], 40*time.Millisecond, 0, never)
	return b
}

// crowd makes n more that are well, of which one in 50 is called.
func (f *fleet) crowd(n int) {
	names := []string{"payments", "inventory", "search", "mail", "auth", "images", "ledger"}
	regions := []string{"eu-west", "us-east", "ap-south"}
	for i := range n {
		b := f.made(fmt.Sprintf("%s %s-%d:443", names[i%len(names)], regions[i%len(regions)], i), atomicbreaker.Config{})
		if i%50 == 0 {
			f.traffic(b, 40*time.Millisecond, time.Millisecond, never)
		}
	}
}
