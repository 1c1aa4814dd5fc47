package breakerpage

import (
	"encoding/json"
	"strconv"

	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// What is sent to a viewer, as JSON:
//
//	whole    true if everything follows, and what the page has is to be forgotten
//	tick     number of the reading
//	now      its instant; all instants are milliseconds since 1970
//	interval, points   see Options; with whole
//	names    names by id, of the rows that are new
//	rows     the rows that are new or changed: id and the fields of shown, in order
//	gone     ids of the rows that are gone
//	rises    id, and calls that succeeded, failed, were refused and would have been
//	         since the last reading, of the rows where there were any
//	events   changes of state: number, instant, name, from, to, reason, calls, failures
//	outages  those that are over: number, name, began, ended, reason, ending, reopened,
//	         refused, gone
//	audit    commands: number, instant, user, breaker, action, mode, reason, until, result
//	held     modes set from the page: id, user, reason, until
//	next     milliseconds until the next reading, as far as is known
//	clashes, unrecorded   see breakerwatch.Stats
//
// It is written by hand: a board of thousands of busy breakers is sent every
// second.

// whole is everything.
func (p *Page) whole() []byte {
	b := &p.board
	out := append([]byte(nil), `{"whole":true,"interval":`...)
	out = strconv.AppendInt(out, p.options.Interval.Milliseconds(), 10)
	out = append(out, `,"points":`...)
	out = strconv.AppendInt(out, int64(p.options.Points), 10)
	out = b.appendRows(out, b.sorted(), func(*row) bool { return true })
	out = append(out, `,"rises":[],"gone":[],"events":`...)
	out = appendEvents(out, p.watch.Events(0))
	out = appendOutages(append(out, `,"outages":`...), p.watch.Outages(0))
	out = appendEntries(append(out, `,"audit":`...), p.holds.since(0))
	return p.appendEnd(out)
}

// tick is what the last reading changed.
func (p *Page) tick() []byte {
	b := &p.board
	out := b.appendRows([]byte(`{"whole":false`), b.changed, func(w *row) bool { return w.born == b.tick })
	out = append(out, `,"rises":[`...)
	first := len(out)
	for _, w := range b.changed {
		if w.point.ok|w.point.failed|w.point.refused|w.point.would != 0 {
			out = appendArray(out, first, int64(w.id), int64(w.point.ok), int64(w.point.failed), int64(w.point.refused), int64(w.point.would))
		}
	}
	out = append(out, `],"gone":[`...)
	first = len(out)
	for _, id := range b.gone {
		out = strconv.AppendInt(comma(out, first), int64(id), 10)
	}
	out = append(out, `],"events":`...)
	out = appendEvents(out, b.latest)
	out = appendOutages(append(out, `,"outages":`...), b.over)
	out = appendEntries(append(out, `,"audit":`...), b.audited)
	return p.appendEnd(out)
}

// appendRows appends rows, and the names of those that are new.
func (b *board) appendRows(out []byte, rows []*row, isNew func(*row) bool) []byte {
	out = append(out, `,"names":{`...)
	first := len(out)
	for _, w := range rows {
		if isNew(w) {
			out = append(comma(out, first), '"')
			out = strconv.AppendInt(out, int64(w.id), 10)
			out = append(out, `":`...)
			out = appendString(out, w.name)
		}
	}
	out = append(out, `},"rows":[`...)
	first = len(out)
	for _, w := range rows {
		s := &w.shown
		out = appendArray(out, first,
			int64(w.id), int64(s.state), int64(s.mode), int64(s.reason), s.since,
			int64(s.calls), int64(s.failures), int64(s.slow),
			int64(s.succeeded), int64(s.failed), int64(s.refused),
			int64(s.opened), s.openBefore, s.until,
			int64(s.inFlight), int64(s.window), truth(s.unprobed), int64(s.probesOK), int64(s.probesBad),
			s.lastOutcome, s.lastRefusal, int64(s.would),
			s.outage, int64(s.rule), int64(s.reopened), int64(s.lately),
			s.waiting, truth(s.alone), int64(s.members), s.near, s.usual, s.high, s.errorKind)
	}
	return append(out, ']')
}

func (p *Page) appendEnd(out []byte) []byte {
	b := &p.board
	out = append(out, `,"held":[`...)
	first := len(out)
	for _, h := range b.held {
		out = strconv.AppendInt(append(comma(out, first), '['), int64(h.id), 10)
		out = appendStrings(out, h.User, h.Reason)
		out = strconv.AppendInt(append(out, ','), millis(h.Until), 10)
		out = append(out, ']')
	}
	out = append(out, ']')
	for _, n := range []struct {
		key   string
		value int64
	}{
		{`,"tick":`, int64(b.tick)}, {`,"now":`, b.times[b.tick%uint64(len(b.times))]},
		{`,"next":`, p.wait.Milliseconds()},
		{`,"clashes":`, int64(b.stats.Clashes)}, {`,"unrecorded":`, int64(b.stats.Unrecorded)},
	} {
		out = strconv.AppendInt(append(out, n.key...), n.value, 10)
	}
	return append(out, '}')
}

// appendArray appends an array as the next element of one that began at first.
func appendArray(out []byte, first int, values ...int64) []byte {
	out = append(comma(out, first), '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, v, 10)
	}
	return append(out, ']')
}

// comma appends one unless nothing has been appended since first.
func comma(out []byte, first int) []byte {
	if len(out) > first {
		return append(out, ',')
	}
	return out
}

func truth(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// appendString appends a string in JSON's form, with what could end a script
// or a line in JavaScript escaped.
func appendString(out []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(out, `""`...) // cannot happen: any string can be encoded
	}
	return append(out, text...)
}

// appendStrings appends strings, each after a comma.
func appendStrings(out []byte, all ...string) []byte {
	for _, s := range all {
		out = appendString(append(out, ','), s)
	}
	return out
}

func appendInts(out []byte, all ...int64) []byte {
	for _, n := range all {
		out = strconv.AppendInt(append(out, ','), n, 10)
	}
	return out
}

func appendOutages(out []byte, outages []breakerwatch.Outage) []byte {
	out = append(out, '[')
	first := len(out)
	for _, o := range outages {
		out = strconv.AppendUint(append(comma(out, first), '['), o.Number, 10)
		out = appendStrings(out, o.Name)
		out = appendInts(out, millis(o.Began), millis(o.Ended), int64(o.Reason), int64(o.Ending), int64(o.Reopened), int64(o.Refused), truth(o.Gone))
		out = append(out, ']')
	}
	return append(out, ']')
}

func appendEntries(out []byte, entries []Entry) []byte {
	out = append(out, '[')
	first := len(out)
	for _, e := range entries {
		out = strconv.AppendUint(append(comma(out, first), '['), e.Number, 10)
		out = appendInts(out, millis(e.Time))
		out = appendStrings(out, e.User, e.Breaker, string(e.Action))
		out = appendInts(out, int64(e.Mode))
		out = appendStrings(out, e.Reason)
		out = appendInts(out, millis(e.Until))
		out = appendStrings(out, e.Result)
		out = append(out, ']')
	}
	return append(out, ']')
}
