package atomicbreaker

import (
	"sync/atomic"
)

// announcer tells the listener of changes, in order of generation and one at
// a time, without holding anything: whoever makes a change hangs a note into a
// lock-free list, finishes what it is doing and, if nobody is telling, tells.
// One who is telling takes what others add meanwhile, and what the listener
// itself causes.
type announcer struct {
	notes   atomic.Pointer[note]
	telling baton
	next    uint32 // the generation to tell of next; owned by who tells
	held    *note  // notes that came early, by generation; owned likewise
	panics  atomic.Uint64
}

type note struct {
	next       *note
	generation uint32
	silent     bool
	transition Transition
}

// hang notes a change, silently if it only closes the gap that a Reset of a closed
// breaker leaves in the generations. Whoever calls this calls tellAll later.
func (b *Breaker) hang(silent bool, t Transition) {
	if b.cfg().OnTransition == nil {
		return
	}
	n := &note{generation: t.Generation, silent: silent, transition: t}
	for {
		n.next = b.notes.Load()
		if b.notes.CompareAndSwap(n.next, n) {
			return
		}
	}
}

// tellAll announces what hangs, unless somebody is at it. [E7] A note hangs
// before the baton is asked for; who tells takes it up anew and then looks at
// the notes.
func (b *Breaker) tellAll() {
	if b.notes.Load() != nil && b.telling.take() {
		b.tell()
	}
}

// tell announces until no note has come since it looked.
func (b *Breaker) tell() {
	for {
		b.telling.look()
		for n := b.notes.Swap(nil); n != nil; {
			next := n.next
			b.hold(n)
			n = next
		}
		for b.held != nil && b.held.generation == b.next {
			n := b.held
			b.held = n.next
			b.next++
			if !n.silent {
				b.tellOne(n.transition)
			}
		}
		if b.telling.drop() {
			return
		}
	}
}

// hold sorts a note into those that wait for an earlier generation.
func (b *Breaker) hold(n *note) {
	at := &b.held
	for *at != nil && int32((*at).generation-n.generation) < 0 {
		at = &(*at).next
	}
	n.next, *at = *at, n
}

// tellOne calls the listener and contains its panic. A listener that ends its
// goroutine must not end the announcements with it.
func (b *Breaker) tellOne(t Transition) {
	returned := false
	defer func() {
		if returned {
			return
		}
		b.panics.Add(1)
		if recover() == nil { // runtime.Goexit
			go b.tell()
		}
	}()
	b.cfg().OnTransition(t)
	returned = true
}

// tellProbe calls the probes' listener and contains its panic.
func (b *Breaker) tellProbe(p Probe) {
	if b.cfg().OnProbe == nil {
		return
	}
	returned := false
	defer func() {
		if !returned {
			b.panics.Add(1)
			_ = recover()
		}
	}()
	b.cfg().OnProbe(p)
	returned = true
}
