package atomicbreaker

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/clock"
)

const (
	defaultGroupMax  = 1024
	maxGroupMax      = 1 << 20
	defaultGroupIdle = time.Minute
)

// Group keeps a breaker for every key: a host, an upstream's address, a
// method, a shard. It makes one when a key is first asked for and keeps a
// bounded number of them. All methods are safe for concurrent use.
//
// When the group is full, a new key takes the place of the breaker that has
// been without an outcome for longest, at least IdleTime. A breaker in its cooldown is
// never dropped, nor one with a probe in flight, nor one whose mode an operator has
// changed. If none may go, the new key gets [Group.Overflow], a breaker that
// lets everything through: a flood of keys neither grows the group, nor opens it to
// calls that it holds back, nor makes strangers share a verdict.
//
// A key that does not equal itself, such as a NaN or a struct or array that holds one, could
// never be found again: it too gets Overflow, and nothing is kept for it.
//
// A dropped breaker goes on working for those that hold it, but the group
// answers with another one: ask for a key at each call, and keep the ticket,
// not the breaker. With Config.WindowCalls outcomes have no time; a breaker is then idle from when
// the group, looking for room, sees it again without a new outcome.
type Group[K comparable] struct {
	table atomic.Pointer[groupTable[K]]

	// Written by NewGroup only.
	config   GroupConfig[K] // with the defaults filled in
	clock    clock.Clock
	overflow *Breaker
	hasher   hasher[K]

	// fullUntil is 0, or the instant before which nothing may be dropped.
	fullUntil  atomic.Int64
	overflowed atomic.Uint64
	sawUnequal atomic.Bool // a key that does not equal itself

	configuring atomic.Int64 // runs of Configure that are under way

	// mu orders those who change the group. A lookup does not take it.
	mu            sync.Mutex
	entries       dueHeap[K]
	created       uint64
	evicted       uint64
	misconfigured uint64
}

// GroupStats tells what a group has done.
type GroupStats struct {
	Breakers      int    `json:"breakers"`      // kept now
	Created       uint64 `json:"created"`       // ever kept
	Evicted       uint64 `json:"evicted"`       // dropped to make room
	Misconfigured uint64 `json:"misconfigured"` // made from the base configuration because their own was faulty
	Overflowed    uint64 `json:"overflowed"`    // lookups that were answered with the overflow breaker
}

// NewGroup makes an empty group. The error, if any, joins every fault of the
// configuration.
func NewGroup[K comparable](c GroupConfig[K]) (*Group[K], error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	or(&c.Max, defaultGroupMax)
	or(&c.IdleTime, defaultGroupIdle)
	if c.Config.Clock == nil {
		c.Config.Clock = clock.System()
	}
	overflow, err := New(Config{
		Name:  groupName(c.Config.Name, "(overflow)"),
		Mode:  ForcedClosed,
		Clock: c.Config.Clock,
	})
	if err != nil {
		return nil, err
	}
	g := &Group[K]{config: c, clock: c.Config.Clock, overflow: overflow, hasher: newHasher[K]()}
	g.table.Store(newGroupTable[K](smallestTable))
	return g, nil
}

// Get returns the key's breaker, made now if there is none, or Overflow if
// there is no room or the key does not equal itself. A lookup of a key that is there takes no lock and
// allocates nothing.
func (g *Group[K]) Get(key K) *Breaker {
	hash := g.hasher.hash(key)
	t := g.table.Load()
	if e := t.find(hash, key); e != nil {
		return e.breaker
	}
	return g.getSlow(t, hash, key)
}

// getSlow is for a key that was not found in t.
func (g *Group[K]) getSlow(t *groupTable[K], hash uint64, key K) *Breaker {
	if same := key; key != same {
		return g.unequal(key)
	}
	now := g.clock.Now()
	// While t grew, a key that is there may have been missed.
	if until := g.fullUntil.Load(); until != 0 && int64(now) < until && g.table.Load() == t {
		g.overflowed.Add(1)
		return g.overflow
	}
	if b, ok := g.before(hash, key, now); ok {
		return b
	}
	made, fault := g.make(key)
	b, won := g.insert(hash, key, made)
	if won && fault != nil && g.config.OnError != nil {
		g.config.OnError(key, fault)
	}
	return b
}

// unequal answers for a key that does not equal itself, and tells of the first.
func (g *Group[K]) unequal(key K) *Breaker {
	g.overflowed.Add(1)
	if !g.sawUnequal.Swap(true) && g.config.OnError != nil {
		g.config.OnError(key, fmt.Errorf("atomicbreaker: Group key %v does not equal itself, as a NaN does not: it gets Overflow and is never refused; use keys without NaN", key))
	}
	return g.overflow
}

// before returns what makes it needless to make a breaker: somebody else's,
// or that there is no room.
func (g *Group[K]) before(hash uint64, key K, now time.Duration) (*Breaker, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.table.Load().find(hash, key); e != nil {
		return e.breaker, true
	}
	if len(g.entries) >= g.config.Max && g.idlest(now) == nil {
		g.overflowed.Add(1)
		return g.overflow, true
	}
	return nil, false
}

// insert keeps a breaker under its key, unless there is one by now or no room
// any more. It returns the breaker to use and whether it is the one made.
func (g *Group[K]) insert(hash uint64, key K, made *Breaker) (*Breaker, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.table.Load().find(hash, key); e != nil {
		return e.breaker, false
	}
	now := g.clock.Now()
	if len(g.entries) >= g.config.Max {
		victim := g.idlest(now)
		if victim == nil {
			g.overflowed.Add(1)
			return g.overflow, false
		}
		g.drop(victim)
		g.evicted++
	}
	e := &groupEntry[K]{key: key, hash: hash, breaker: made, seenAt: now, due: later(now, g.config.IdleTime)}
	if t := g.table.Load(); len(g.entries) >= len(t.buckets) {
		g.table.Store(t.grown())
	}
	g.table.Load().insert(e)
	g.entries.push(e)
	g.created++
	return made, true
}

// Remove drops a key's breaker, whatever its state, and reports whether there
// was one. The next Get makes a new one: closed, empty.
func (g *Group[K]) Remove(key K) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.table.Load().find(g.hasher.hash(key), key)
	if e == nil {
		return false
	}
	g.drop(e)
	return true
}

// drop takes an entry out; the lock is held.
func (g *Group[K]) drop(e *groupEntry[K]) {
	g.table.Load().remove(e)
	g.entries.remove(e)
	g.fullUntil.Store(0)
}

// idlest returns the entry that has been idle for longest, or nil and sets
// fullUntil if none may go. The lock is held.
//
// An entry's due instant is never after that from which it may go, and the
// longest idle is the first that may. So only the top of the heap need be
// looked at: what is found there to be due later moves down, and the first
// that is not is the one.
func (g *Group[K]) idlest(now time.Duration) *groupEntry[K] {
	for {
		e := g.entries[0]
		if e.due > now {
			g.fullUntil.Store(int64(e.due))
			return nil
		}
		r := e.breaker.rest()
		if r.stamp != e.stamp {
			e.stamp, e.seenAt = r.stamp, now
		}
		from := now - r.idle
		if e.stamp != 0 {
			from = max(from, e.seenAt)
		}
		due := later(from, g.config.IdleTime)
		if r.keep > 0 {
			due = max(due, later(now, r.keep))
		}
		if due > e.due {
			e.due = due
			g.entries.fix(e)
			continue
		}
		return e
	}
}

// All returns the keys and their breakers as they are when the iteration
// begins, in no order. The loop's body may use the group.
func (g *Group[K]) All() iter.Seq2[K, *Breaker] {
	return func(yield func(K, *Breaker) bool) {
		g.mu.Lock()
		entries := slices.Clone(g.entries)
		g.mu.Unlock()
		for _, e := range entries {
			if !yield(e.key, e.breaker) {
				return
			}
		}
	}
}

// Len returns the number of breakers kept.
func (g *Group[K]) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.entries)
}

// Overflow returns the breaker that is shared by keys for which there is no
// room. It is ForcedClosed: it counts, and refuses nobody.
func (g *Group[K]) Overflow() *Breaker { return g.overflow }

// Stats returns what the group has done so far.
func (g *Group[K]) Stats() GroupStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return GroupStats{
		Breakers:      len(g.entries),
		Created:       g.created,
		Evicted:       g.evicted,
		Misconfigured: g.misconfigured,
		Overflowed:    g.overflowed.Load(),
	}
}
