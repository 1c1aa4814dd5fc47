package atomicbreaker

import (
	"container/heap"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// groupTable is a hash table of chains that is read without a lock. Those who
// change it hold the group's lock.
//
// A reader may stand on an entry that is being taken out or moved to a larger
// table. It then follows that entry's link, old or new, to the end of some chain: what it
// finds is or was there, and what it misses it looks for again under the lock. Links never
// form a circle: a moved entry links to moved ones only.
type groupTable[K comparable] struct {
	buckets []atomic.Pointer[groupEntry[K]] // a power of two
}

const smallestTable = 8

type groupEntry[K comparable] struct {
	key     K
	hash    uint64
	breaker *Breaker
	next    atomic.Pointer[groupEntry[K]]

	// Guarded by the group's lock.
	due    time.Duration // the heap's order; see Group.idlest
	place  int           // in the heap
	stamp  uint64        // see rest
	seenAt time.Duration // when the stamp was first seen
}

func newGroupTable[K comparable](size int) *groupTable[K] {
	return &groupTable[K]{buckets: make([]atomic.Pointer[groupEntry[K]], size)}
}

func (t *groupTable[K]) bucket(hash uint64) *atomic.Pointer[groupEntry[K]] {
	return &t.buckets[hash&uint64(len(t.buckets)-1)]
}

func (t *groupTable[K]) find(hash uint64, key K) *groupEntry[K] {
	for e := t.bucket(hash).Load(); e != nil; e = e.next.Load() {
		if e.hash == hash && e.key == key {
			return e
		}
	}
	return nil
}

func (t *groupTable[K]) insert(e *groupEntry[K]) {
	head := t.bucket(e.hash)
	e.next.Store(head.Load())
	head.Store(e)
}

func (t *groupTable[K]) remove(e *groupEntry[K]) {
	link := t.bucket(e.hash)
	for at := link.Load(); at != e; at = link.Load() {
		link = &at.next
	}
	link.Store(e.next.Load())
}

// grown moves the entries to a table of twice the size.
func (t *groupTable[K]) grown() *groupTable[K] {
	larger := newGroupTable[K](2 * len(t.buckets))
	for i := range t.buckets {
		for e := t.buckets[i].Load(); e != nil; {
			next := e.next.Load()
			larger.insert(e)
			e = next
		}
	}
	return larger
}

// hasher hashes keys with a seed of its own, so that nobody can choose keys
// that fall into one chain.
type hasher[K comparable] struct{ seed maphash.Seed }

func newHasher[K comparable]() hasher[K] { return hasher[K]{maphash.MakeSeed()} }

func (h hasher[K]) hash(key K) uint64 { return maphash.Comparable(h.seed, key) }

// dueHeap is a heap of entries, the earliest due on top.
type dueHeap[K comparable] []*groupEntry[K]

func (h *dueHeap[K]) push(e *groupEntry[K])   { heap.Push((*heapOf[K])(h), e) }
func (h *dueHeap[K]) remove(e *groupEntry[K]) { heap.Remove((*heapOf[K])(h), e.place) }
func (h *dueHeap[K]) fix(e *groupEntry[K])    { heap.Fix((*heapOf[K])(h), e.place) }

// heapOf is a dueHeap as package heap wants it.
type heapOf[K comparable] []*groupEntry[K]

func (h heapOf[K]) Len() int           { return len(h) }
func (h heapOf[K]) Less(i, j int) bool { return h[i].due < h[j].due }

func (h heapOf[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *heapOf[K]) Push(x any) {
	e := x.(*groupEntry[K])
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *heapOf[K]) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}
