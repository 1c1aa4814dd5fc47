package breakerlease

import (
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// team is the breakers of one name in this process.
type team struct {
	name string
	out  atomic.Int32 // calls of the Store that are under way

	mu      sync.Mutex
	members []weak.Pointer[atomicbreaker.Breaker]
	heard   Token     // of the last verdict acted upon, or of the last lease that the Store has told of
	verdict uint64    // the last of that one
	hinted  time.Time // when the last hint was acted upon that no token fences
}

func (f *Fleet) team(name string) *team {
	if t, ok := f.teams.Load(name); ok {
		return t.(*team)
	}
	t, _ := f.teams.LoadOrStore(name, &team{name: name})
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

// learn notes which epoch the Store is in: what it says itself is beyond doubt.
func (t *team) learn(token Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if token.Epoch != "" && token.Epoch != t.heard.Epoch {
		t.heard, t.verdict = Token{Epoch: token.Epoch}, 0
	}
}

const (
	// maxAhead is by how many leases a verdict may be ahead of the last one
	// heard: a hundred a second for three hours. What is further ahead, by mistake, must not
	// make this process deaf to what comes after.
	maxAhead = 1 << 20

	// hintEvery is how often a hint is acted upon that no token fences.
	hintEvery = time.Second
)

// news reports whether to act upon a verdict, and whether it is one of a lease
// newer than the last. A verdict that was found out without a lease, under an epoch
// that is not this Store's, or far ahead is only a hint: a good one counts,
// now and then.
func (t *team) news(m message, now time.Time) (act, fenced bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	order := uint64(m.verdict())
	if !m.alone && t.heard.Epoch == "" {
		t.heard.Epoch = m.token.Epoch
	}
	last := t.heard
	if !m.alone && m.token.Epoch == last.Epoch && (last.Number == 0 || m.token.Number <= last.Number+maxAhead) {
		if m.token.Number < last.Number || m.token.Number == last.Number && order <= t.verdict {
			return false, true
		}
		t.heard, t.verdict = m.token, order
		return true, true
	}
	if m.verdict() == Reopened || now.Sub(t.hinted) < hintEvery {
		return false, false
	}
	t.hinted = now
	return true, false
}

// act does what a verdict says to the breakers of its name. It is a hint: it
// makes nobody closed.
func (f *Fleet) act(t *team, m message) {
	if m.verdict() == Unused {
		return
	}
	act, _ := t.news(m, time.Now())
	if !act {
		return
	}
	t.each(func(b *atomicbreaker.Breaker) {
		switch {
		case b == m.teller:
		case m.verdict() != Reopened:
			b.EndCooldown()
		case f.o.OpenWithOthers:
			// A forced one would remember it, like an operator's command.
			if m := b.Snapshot().Mode; m == atomicbreaker.Auto || m == atomicbreaker.Shadow {
				b.Trip()
			}
		}
	})
}
