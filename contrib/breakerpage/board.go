package breakerpage

import (
	"math"
	"slices"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// board is what the page shows, and what a reading changed of it.
type board struct {
	tick     uint64 // readings so far
	times    []int64
	readings []breakerwatch.Reading
	rows     map[string]*row
	byID     map[int]*row
	nextID   int
	events   uint64 // the number of the last one that has been sent
	outages  uint64 // likewise, of those that are over
	entries  uint64 // likewise, of the audit

	// Of the last reading.
	changed []*row
	gone    []int
	latest  []breakerwatch.Event
	over    []breakerwatch.Outage
	audited []Entry
	held    []held
	stats   breakerwatch.Stats
}

// row is one breaker. Its id is the page's own: names can be long.
type row struct {
	id      int
	name    string
	reading *breakerwatch.Reading // the last one
	breaker *atomicbreaker.Breaker
	seen    uint64 // the tick of the last reading that met it
	born    uint64 // and of the first
	shown   shown
	last    shown // as of the reading before
	until   cooldown
	episode episode
	waits   waits
	history *history // nil while there is nothing to draw
	hour    *hour    // likewise
	point   point    // of the last reading
}

// shown is what the page shows of a breaker in its row. Instants are
// milliseconds since 1970; 0 is never.
type shown struct {
	state       atomicbreaker.State
	mode        atomicbreaker.Mode
	reason      atomicbreaker.Reason
	since       int64
	calls       uint64 // in the rolling window
	failures    uint64
	slow        uint64
	succeeded   uint64 // in all
	failed      uint64
	refused     uint64
	opened      uint64
	openBefore  int64 // milliseconds open, this time left out
	until       int64 // end of the cooldown
	inFlight    int
	window      int
	unprobed    bool
	probesOK    uint64 // in this half-open episode
	probesBad   uint64
	lastOutcome int64
	lastRefusal int64
	would       uint64               // would have been refused but for shadow mode
	outage      int64                // since when the outage lasts, 0: none does
	rule        atomicbreaker.Reason // that began it
	reopened    uint64               // in this outage
	lately      uint64               // openings in the last quarter of an hour
	waiting     int64                // since when it waits for its lease, 0: it does not
	alone       bool                 // it goes without its lease
	members     int                  // of its lease, 0: unknown
	near        int64                // of the way to the limits of the rates, in thousandths; -1: they are not known
	usual       int64                // latency of successes in microseconds, 0: unknown
	high        int64                // what 95 of 100 of them do not exceed
	errorKind   int64                // of the last error, from 1; 0: none is known
}

// waits is since when a generation waits for its lease, told once for each.
type waits struct {
	generation uint32
	since      int64
}

// held is a mode that was set from the page.
type held struct {
	id int
	Entry
}

// cooldown is the end of a generation's cooldown, told once for each so that it
// does not tremble with the clocks.
type cooldown struct {
	generation uint32
	end        int64
}

// episode is how many probes there were when a half-open generation was first
// read, or had been before if the breaker was open by then.
type episode struct {
	generation uint32
	state      atomicbreaker.State
	ok, bad    uint64
}

func newBoard(points int) board {
	return board{times: make([]int64, points), rows: map[string]*row{}, byID: map[int]*row{}}
}

func (b *board) sample(watch *breakerwatch.Watch, holds *holds, now time.Time) {
	b.tick++
	b.times[b.tick%uint64(len(b.times))] = now.UnixMilli()
	b.changed, b.gone = b.changed[:0], b.gone[:0]
	clear(b.readings)
	b.readings = watch.Read(b.readings[:0])
	for i := range b.readings {
		r := &b.readings[i]
		line := b.rows[r.Name]
		if line == nil {
			b.nextID++
			line = &row{id: b.nextID, name: r.Name, born: b.tick}
			b.rows[r.Name], b.byID[line.id] = line, line
		}
		line.reading = r
		line.take(b, r, now)
		if line.shown != line.last || line.born == b.tick {
			b.changed = append(b.changed, line)
		}
	}
	b.stats = watch.Stats()
	if len(b.rows) > len(b.readings) {
		for name, line := range b.rows {
			if line.seen != b.tick {
				delete(b.rows, name)
				delete(b.byID, line.id)
				b.gone = append(b.gone, line.id)
			}
		}
	}
	b.latest = watch.Events(b.events)
	if n := len(b.latest); n > 0 {
		b.events = b.latest[n-1].Number
	}
	b.over = watch.Outages(b.outages)
	if n := len(b.over); n > 0 {
		b.outages = b.over[n-1].Number
	}
	b.audited = holds.since(b.entries)
	if n := len(b.audited); n > 0 {
		b.entries = b.audited[n-1].Number
	}
	b.held = b.held[:0]
	for _, name := range holds.names(func(name string) bool { return b.rows[name] != nil }) {
		if line := b.rows[name]; line != nil {
			if e, ok := holds.on(name, line.shown.mode, line.breaker); ok {
				b.held = append(b.held, held{line.id, e})
			}
		}
	}
	slices.SortFunc(b.held, func(x, y held) int { return x.id - y.id })
}

// take brings a row up to date.
func (w *row) take(b *board, r *breakerwatch.Reading, now time.Time) {
	replaced := w.breaker != nil && w.breaker != r.Breaker
	w.last, w.breaker, w.seen = w.shown, r.Breaker, b.tick
	w.shown = shown{
		state: r.State, mode: r.Mode, reason: r.Reason, since: millis(r.Changed),
		calls: r.Rolling.Calls, failures: r.Rolling.Failures, slow: r.Rolling.Slow,
		succeeded: r.Succeeded, failed: r.Failed, refused: r.Refused(), would: r.WouldRefuse,
		opened: r.Opened, openBefore: r.TimeOpen.Milliseconds(),
		inFlight: r.ProbesInFlight, window: r.ProbeWindow, unprobed: r.Unprobed,
		lastOutcome: millis(r.LastOutcome), lastRefusal: millis(r.LastRefusal),
		lately: r.OpenedLately, alone: r.Lease.Alone, members: r.Lease.Members,
		waiting: w.waits.of(r, now),
		usual:   r.Latency.Usual.Microseconds(), high: r.Latency.High.Microseconds(),
	}
	w.shown.near = -1
	if r.Limits != nil {
		w.shown.near = int64(math.Round(1000 * r.Limits.Near(r.Rolling)))
	}
	if o := r.Outage; o != nil {
		w.shown.outage, w.shown.rule, w.shown.reopened = millis(o.Began), o.Reason, o.Reopened
	}
	if e, ok := r.Errors(); ok {
		w.shown.errorKind = int64(e.Last.Kind) + 1
	}
	if r.State == atomicbreaker.StateOpen {
		w.shown.openBefore = (r.TimeOpen - (r.At - r.Since)).Milliseconds()
		w.shown.until = w.until.of(r, now)
	}
	w.shown.probesOK, w.shown.probesBad = w.episode.of(r)
	w.point = point{state: r.State}
	if w.born != b.tick && !replaced {
		w.point.ok = rise(w.last.succeeded, w.shown.succeeded)
		w.point.failed = rise(w.last.failed, w.shown.failed)
		w.point.refused = rise(w.last.refused, w.shown.refused)
		w.point.would = rise(w.last.would, w.shown.would)
	}
	w.record(b)
	w.recordHour(now)
}

// record keeps the point, if there is anything to draw.
func (w *row) record(b *board) {
	if w.history == nil {
		if w.point.calm() {
			return
		}
		w.history = newHistory(len(b.times), w.born)
	}
	w.history.set(b.tick, w.point)
	if w.history.quiet(b.tick) {
		w.history = nil
	}
}

func (w *waits) of(r *breakerwatch.Reading, now time.Time) int64 {
	if r.Lease.Waiting == 0 {
		return 0
	}
	if w.since == 0 || w.generation != r.Generation {
		*w = waits{r.Generation, now.Add(-r.Lease.Waiting).UnixMilli()}
	}
	return w.since
}

func (c *cooldown) of(r *breakerwatch.Reading, now time.Time) int64 {
	if r.RetryAfter == 0 {
		return 0
	}
	if c.end == 0 || c.generation != r.Generation {
		*c = cooldown{r.Generation, now.Add(r.RetryAfter).UnixMilli()}
	}
	return c.end
}

// of returns the probes judged well and badly in the half-open episode that a
// breaker is in. Those before the first reading of it may be counted with the
// episode before, unless there was a reading while the breaker was open.
func (e *episode) of(r *breakerwatch.Reading) (ok, bad uint64) {
	p, _ := r.Probes()
	if e.generation != r.Generation || e.state != r.State {
		wasOpen := e.state == atomicbreaker.StateOpen
		e.generation, e.state = r.Generation, r.State
		if r.State != atomicbreaker.StateHalfOpen || !wasOpen {
			e.ok, e.bad = p.Succeeded, p.Failed+p.Slow
		}
	}
	if r.State != atomicbreaker.StateHalfOpen {
		e.ok, e.bad = p.Succeeded, p.Failed+p.Slow
	}
	return p.Succeeded - e.ok, p.Failed + p.Slow - e.bad
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func rise(from, to uint64) uint32 {
	if to < from {
		return 0
	}
	return uint32(min(to-from, math.MaxUint32))
}

// sorted returns all rows in the order in which they came.
func (b *board) sorted() []*row {
	all := make([]*row, 0, len(b.rows))
	for _, line := range b.rows {
		all = append(all, line)
	}
	slices.SortFunc(all, func(x, y *row) int { return x.id - y.id })
	return all
}
