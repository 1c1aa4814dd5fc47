package breakerredis

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"weak"

	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/redis/go-redis/v9"
)

// Fleet is this process's part of a fleet of breakers. Its methods are safe for
// concurrent use.
type Fleet struct {
	client  redis.UniversalClient
	id      string // of this process, to know its own messages by
	channel string
	prefix  string
	ttl     time.Duration
	timeout time.Duration
	options Options
	log     *limitedLog

	ctx     context.Context
	stop    context.CancelFunc
	mu      sync.Mutex // of closed, and of adding to running
	closed  bool
	running sync.WaitGroup
	teams   sync.Map // string, the name: *team
}

// team is the breakers of one name in this process.
type team struct {
	name  string
	keys  keys
	heard atomic.Uint64 // the last verdict acted upon, see message.order

	mu      sync.Mutex
	members []weak.Pointer[atomicbreaker.Breaker]
}

var errClosed = errors.New("breakerredis: the Fleet is closed")

// New makes a Fleet and begins to listen to the others. It does not wait for
// Redis. The error joins every fault of the options. [Fleet.Close] ends it.
func New(o Options) (*Fleet, error) {
	o.fill()
	if err := o.validate(); err != nil {
		return nil, err
	}
	f := &Fleet{
		client: o.Client, id: rand.Text(), channel: o.Prefix, prefix: o.Prefix, ttl: o.TTL, timeout: o.Timeout,
		options: o, log: &limitedLog{to: o.Logger, every: o.LogEvery},
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.start(f.listen)
	return f, nil
}

// New makes a breaker that takes part in the fleet under its Name, which must
// not be empty. Breakers of one name, in all processes, have one lease.
func (f *Fleet) New(c atomicbreaker.Config) (*atomicbreaker.Breaker, error) {
	t, err := f.teamOf(c)
	if err != nil {
		return nil, err
	}
	b, err := breakerlease.New(c, &lease{f, t}, f.leaseOptions())
	if err == nil {
		t.join(b)
	}
	return b, err
}

// Config returns c with what makes one breaker take part in the fleet, for those
// that are made elsewhere, such as by a Group; see breakerlease.Join. Such a
// breaker hears of the others from its first question on; one that Fleet.New
// has made hears of them at once. It fails if the Name is empty.
func (f *Fleet) Config(c atomicbreaker.Config) (atomicbreaker.Config, error) {
	t, err := f.teamOf(c)
	if err != nil {
		return c, err
	}
	return breakerlease.Join(c, &lease{f, t}, f.leaseOptions())
}

func (f *Fleet) teamOf(c atomicbreaker.Config) (*team, error) {
	if c.Name == "" {
		return nil, errors.New("breakerredis: Config.Name is empty, want the name that the fleet knows the dependency by")
	}
	return f.team(c.Name), nil
}

func (f *Fleet) leaseOptions() breakerlease.Options { return breakerlease.Options{Timeout: f.timeout} }

// Close ends what the Fleet has begun, leases included, and waits for it.
// Breakers stay what they are, each for itself. The client is not closed.
func (f *Fleet) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	f.running.Wait()
}

// start runs what on a goroutine that Close waits for, unless it is too late.
func (f *Fleet) start(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.running.Go(what)
	}
}

func (f *Fleet) team(name string) *team {
	if t, ok := f.teams.Load(name); ok {
		return t.(*team)
	}
	t, _ := f.teams.LoadOrStore(name, &team{name: name, keys: keysOf(f.prefix, name)})
	return t.(*team)
}

// join adds a breaker, once, and drops those that are gone.
func (t *team) join(b *atomicbreaker.Breaker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.members[:0]
	for _, m := range t.members {
		switch m.Value() {
		case nil:
			continue
		case b:
			return
		}
		kept = append(kept, m)
	}
	clear(t.members[len(kept):])
	t.members = append(kept, weak.Make(b))
}

// each calls f for every breaker that there still is.
func (t *team) each(f func(*atomicbreaker.Breaker)) {
	t.mu.Lock()
	members := append([]weak.Pointer[atomicbreaker.Breaker](nil), t.members...)
	t.mu.Unlock()
	for _, m := range members {
		if b := m.Value(); b != nil {
			f(b)
		}
	}
}
