package breakerlease

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// After a failure the Fleet listens again after between minPause and maxPause.
const (
	minPause = 50 * time.Millisecond
	maxPause = 2 * time.Second
)

// listen hears the others until the Fleet is closed.
func (f *Fleet) listen() {
	pause := minPause
	for f.ctx.Err() == nil {
		err := f.store.Listen(f.ctx, func() {
			pause = minPause
			f.hears.Store(true)
			f.wake()
		}, f.heard)
		f.hears.Store(false)
		if f.ctx.Err() == nil && err != nil {
			f.log.note(err)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, maxPause)
	}
}

func (f *Fleet) heard(text string) {
	m, ok := parse(text)
	switch {
	case !ok || m.from == f.id:
	case m.kind == hello:
		f.met(m)
	default:
		if t, ours := f.teams.Load(m.name); ours {
			f.act(t.(*team), m)
		}
	}
}

// wake has the connection for questions seen to, now.
func (f *Fleet) wake() {
	select {
	case f.cold <- struct{}{}:
	default:
	}
}

// warmEvery is how often the connection for questions is used while nobody
// asks: often enough that no proxy takes it for idle.
const warmEvery = 10 * time.Second

// keepWarm keeps a connection for questions open until the Fleet is closed.
func (f *Fleet) keepWarm() {
	for f.ctx.Err() == nil {
		f.warm()
		select {
		case <-f.ctx.Done():
		case <-time.After(warmEvery):
		case <-f.cold:
			// No more often than that, whatever fails.
			select {
			case <-f.ctx.Done():
			case <-time.After(minPause):
			}
		}
	}
}

// warm sees to the connection, and measures a round trip when it is there.
// Questions tell of what is wrong.
func (f *Fleet) warm() {
	ctx, cancel := context.WithTimeout(f.ctx, storeTimeout)
	defer cancel()
	if f.store.Warm(ctx) != nil {
		return
	}
	began := time.Now()
	if f.store.Warm(ctx) != nil {
		return
	}
	f.measured(time.Since(began))
}

// measured notes how long an answer took, the delays of a busy machine
// included: a longer one counts at once, a shorter one little by little.
func (f *Fleet) measured(took time.Duration) {
	if last := time.Duration(f.trip.Load()); last == 0 {
		// the first
	} else if took > last {
		took = (last + took) / 2
	} else {
		took = (7*last + took) / 8
	}
	f.trip.Store(int64(took))
}

// helloEvery is how often a member says that it is there. In a large fleet it
// is less often, so that all of them together do so ten times a second at most.
const helloEvery = 10 * time.Second

func helloPause(members int) time.Duration {
	return max(helloEvery, time.Duration(members)*100*time.Millisecond)
}

// peers are the other members that have said hello.
type peers struct {
	mu     sync.Mutex
	seen   map[string]time.Time
	faults map[string]string // by what is wrong: who said so last
}

// greet says that this member is there, until the Fleet is closed.
func (f *Fleet) greet() {
	pause := time.Duration(0)
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause+1)):
		}
		if !f.hears.Load() {
			pause = minPause
			continue
		}
		m := message{from: f.id, kind: hello, holder: f.holder, identity: f.o.Identity, ttl: f.o.TTL}
		ctx, cancel := context.WithTimeout(f.ctx, storeTimeout)
		_ = f.store.Publish(ctx, m.String())
		cancel()
		pause = helloPause(f.Status().Members)
	}
}

// maxPeers bounds what is kept of others.
const maxPeers = 10_000

// met notes another member, and what it disagrees on.
func (f *Fleet) met(m message) {
	f.peers.mu.Lock()
	if f.peers.seen == nil {
		f.peers.seen, f.peers.faults = map[string]time.Time{}, map[string]string{}
	}
	if _, known := f.peers.seen[m.from]; known || len(f.peers.seen) < maxPeers {
		f.peers.seen[m.from] = time.Now()
	}
	var fresh []string
	note := func(fault string) {
		if _, known := f.peers.faults[fault]; !known {
			fresh = append(fresh, fault)
		}
		if len(f.peers.faults) < maxFaults {
			f.peers.faults[fault] = m.holder
		}
	}
	if m.ttl != f.o.TTL {
		note("a member has TTL " + m.ttl.String() + ", this one " + f.o.TTL.String())
	}
	if m.identity != f.o.Identity && m.identity != "" && f.o.Identity != "" {
		note("a member has Identity " + m.identity + ", this one " + f.o.Identity + ": two fleets may have one name by mistake")
	}
	f.peers.mu.Unlock()
	for _, fault := range fresh {
		f.log.disagree(fault, m.holder)
	}
}

// maxFaults bounds how many kinds of disagreement are kept.
const maxFaults = 32

// FleetStatus is what a [Fleet] knows of itself.
type FleetStatus struct {
	Members   int      // processes that take part, this one included, as far as they are heard
	Listening bool     // this one hears the others
	Faults    []string // on what members disagree, and who
}

// Status returns what the Fleet knows of itself.
func (f *Fleet) Status() FleetStatus {
	f.peers.mu.Lock()
	defer f.peers.mu.Unlock()
	s := FleetStatus{Members: 1, Listening: f.hears.Load()}
	stale := time.Now().Add(-3 * helloPause(len(f.peers.seen)+1))
	for id, seen := range f.peers.seen {
		if seen.Before(stale) {
			delete(f.peers.seen, id)
		} else {
			s.Members++
		}
	}
	for fault, holder := range f.peers.faults {
		s.Faults = append(s.Faults, fault+" ("+holder+")")
	}
	return s
}
