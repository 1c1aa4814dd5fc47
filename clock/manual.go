package clock

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Manual is a clock that moves only when [Manual.Advance] is called. The zero
// value stands at zero and is ready to use. It may be used from many
// goroutines and must not be copied.
type Manual struct {
	mu      sync.Mutex
	now     time.Duration
	target  time.Duration  // the sum of all advances; now has not reached it while timers run
	made    uint64         // how many appointments were made, to order equal instants
	pending []*manualTimer // appointments, earliest first
}

type manualTimer struct {
	clock *Manual
	f     func()
	at    time.Duration
	order uint64
	armed bool
}

// Now returns the time that the clock was advanced by so far.
func (m *Manual) Now() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock forward by d and runs, on the calling goroutine and
// in order of their instants, the timers that fall due, those set by these
// timers included. While a timer runs the clock shows the timer's instant.
// Timers for the same instant run in the order in which they were set.
// Advance(0) runs what is due now. It panics if d is negative. When several
// goroutines advance at once, each adds its d.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("clock: Manual.Advance by %v: time does not run backwards", d))
	}
	m.mu.Lock()
	m.target += d
	target := m.target
	for len(m.pending) > 0 && m.pending[0].at <= target {
		t := m.pending[0]
		m.pending = slices.Delete(m.pending, 0, 1)
		t.armed = false
		m.now = max(m.now, t.at)
		m.mu.Unlock()
		t.f()
		m.mu.Lock()
	}
	m.now = max(m.now, target)
	m.mu.Unlock()
}

// Next returns the instant of the earliest timer and whether there is one. A
// simulation uses it to jump from event to event.
func (m *Manual) Next() (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) == 0 {
		return 0, false
	}
	return m.pending[0].at, true
}

// Timers returns how many timers are running.
func (m *Manual) Timers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pending)
}

// AfterFunc makes an appointment. f runs inside the Advance that reaches it.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	t := &manualTimer{clock: m, f: f}
	t.Reset(d)
	return t
}

func (t *manualTimer) Reset(d time.Duration) bool {
	m := t.clock
	m.mu.Lock()
	defer m.mu.Unlock()
	was := t.remove()
	t.at = m.now + max(d, 0)
	if t.at < m.now { // so far away that the sum overflowed
		t.at = 1<<63 - 1
	}
	m.made++
	t.order = m.made
	t.armed = true
	i, _ := slices.BinarySearchFunc(m.pending, t, compareTimers)
	m.pending = slices.Insert(m.pending, i, t)
	return was
}

func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.remove()
}

// remove takes the timer off the list; the clock's lock is held.
func (t *manualTimer) remove() bool {
	if !t.armed {
		return false
	}
	t.armed = false
	i, _ := slices.BinarySearchFunc(t.clock.pending, t, compareTimers)
	t.clock.pending = slices.Delete(t.clock.pending, i, i+1)
	return true
}

func compareTimers(a, b *manualTimer) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
}
