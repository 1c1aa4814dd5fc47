package breakerpage

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// Entry is the record of a command: who did what, when, from where
// and why.
type Entry struct {
	Number  uint64             `json:"number"` // counts from 1, per page
	Time    time.Time          `json:"time"`
	User    string             `json:"user"` // as Options.User says; empty: unknown
	From    string             `json:"from"` // the address of the connection, which may be a proxy's
	Breaker string             `json:"breaker"`
	Action  Action             `json:"action"`
	Mode    atomicbreaker.Mode `json:"mode"` // of SetMode, otherwise auto
	Reason  string             `json:"reason"`
	Until   time.Time          `json:"until,omitzero"` // when the mode ends; zero: with another command
	Result  string             `json:"result"`         // done; refused, and why; or ended, when a mode's time is over
}

// maxEntries is how many entries are kept for the page.
const maxEntries = 256

func entryOf(c Command, user, from string, now time.Time, result string) Entry {
	e := Entry{Time: now, User: user, From: from, Breaker: c.Breaker, Action: c.Action, Mode: c.Mode, Reason: c.Reason, Result: result}
	if c.For > 0 {
		e.Until = now.Add(c.For)
	}
	return e
}

// user is who sends a request, bounded and printable.
func (p *Page) user(r *http.Request) string {
	if p.options.User != nil {
		return printableReason(p.options.User(r))
	}
	name, _, _ := r.BasicAuth()
	return printableReason(name)
}

// printableReason is a text of unknown origin, escaped and bounded.
func printableReason(text string) string {
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// audit keeps an entry for the page and hands it on.
func (p *Page) audit(e Entry) {
	e = p.holds.note(e)
	if p.options.Audit != nil {
		p.options.Audit(e)
		return
	}
	level := slog.LevelInfo
	if strings.HasPrefix(e.Result, "refused") {
		level = slog.LevelWarn
	}
	attrs := []any{"breaker", e.Breaker, "action", string(e.Action), "reason", e.Reason, "user", e.User, "from", e.From, "result", e.Result}
	if e.Action == SetMode {
		attrs = append(attrs, "mode", e.Mode.String())
		if !e.Until.IsZero() {
			attrs = append(attrs, "until", e.Until)
		}
	}
	slog.Log(context.Background(), level, "circuit breaker commanded", attrs...)
}

// holds are the modes that were set from the page, and the audit.
type holds struct {
	mu      sync.Mutex
	of      map[string]*hold
	entries []Entry // that of number n is at (n - 1) % maxEntries
	last    uint64
}

// hold is a mode that was set from the page.
type hold struct {
	Entry
	breaker *atomicbreaker.Breaker
	before  atomicbreaker.Mode
	timer   *time.Timer // nil: it has no end
}

// carryOut does what an entry says. The end of a mode comes even if the page
// is closed meanwhile; it changes nothing if the mode is another one by then.
func (h *holds) carryOut(b *atomicbreaker.Breaker, e Entry, audit func(Entry)) {
	switch e.Action {
	case Trip:
		b.Trip()
		return
	case Reset:
		b.Reset()
		return
	}
	h.hold(b, e, audit)
	b.SetMode(e.Mode)
}

// hold notes a mode that is about to be set, in place of an earlier one.
func (h *holds) hold(b *atomicbreaker.Breaker, e Entry, audit func(Entry)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := b.Snapshot().Mode
	if old := h.of[e.Breaker]; old != nil {
		if old.timer != nil {
			old.timer.Stop()
			if old.breaker == b && before == old.Mode {
				before = old.before
			}
		}
		delete(h.of, e.Breaker)
	}
	if e.Mode == atomicbreaker.Auto {
		return
	}
	if h.of == nil {
		h.of = map[string]*hold{}
	}
	held := &hold{Entry: e, breaker: b, before: before}
	h.of[e.Breaker] = held
	if !e.Until.IsZero() {
		held.timer = time.AfterFunc(time.Until(e.Until), func() { h.end(held, audit) })
	}
}

// end ends a hold whose time is over.
func (h *holds) end(held *hold, audit func(Entry)) {
	h.mu.Lock()
	if h.of[held.Breaker] != held {
		h.mu.Unlock()
		return
	}
	delete(h.of, held.Breaker)
	h.mu.Unlock()
	if held.breaker.Snapshot().Mode != held.Mode {
		return // somebody has set another one
	}
	held.breaker.SetMode(held.before)
	e := held.Entry
	e.Time, e.Mode, e.Until, e.Result = time.Now(), held.before, time.Time{}, "ended"
	audit(e)
}

// note numbers an entry and keeps it.
func (h *holds) note(e Entry) Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	e.Number = h.last
	if len(h.entries) < maxEntries {
		h.entries = append(h.entries, e)
	} else {
		h.entries[(e.Number-1)%maxEntries] = e
	}
	return e
}

// since returns the entries after number that are kept, in order.
func (h *holds) since(number uint64) []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Entry
	for n := max(number+1, h.last-uint64(len(h.entries))+1); n <= h.last; n++ {
		list = append(list, h.entries[(n-1)%maxEntries])
	}
	return list
}

// on returns the hold of a breaker, if its mode is still as it was set.
func (h *holds) on(name string, mode atomicbreaker.Mode, b *atomicbreaker.Breaker) (Entry, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.of[name]
	if held == nil || held.Mode != mode || held.breaker != b {
		return Entry{}, false
	}
	return held.Entry, true
}

// names returns whose modes were set. A hold without an end whose breaker is
// gone is forgotten.
func (h *holds) names(there func(string) bool) (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, held := range h.of {
		if held.timer == nil && !there(name) {
			delete(h.of, name)
			continue
		}
		names = append(names, name)
	}
	return names
}
