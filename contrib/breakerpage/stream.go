package breakerpage

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

// viewer is an open page. It is sent every reading; one that does not keep up
// misses some and is then sent everything.
type viewer struct {
	out    chan []byte
	behind bool
	key    string // by which the page tells that it is alive; empty: it does not
	heard  time.Time
	ended  chan struct{} // closed when another takes its place
}

// deafAfter is how long a viewer may not have been heard of before another may
// take its place. A page tells that it is alive every 15 s.
const deafAfter = 45 * time.Second

// maxKey is how long the key of a viewer may be.
const maxKey = 64

// writeTimeout is how long a viewer may take to accept one message.
const writeTimeout = 10 * time.Second

// stream sends the board, and then what changes, as server-sent events.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy that would wait for more
	if r.Method == http.MethodHead {
		return
	}
	v := p.enter(r.URL.Query().Get("stream"), time.Now())
	if v == nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer p.leave(v)
	rc := http.NewResponseController(w)
	for {
		select {
		case message := <-v.out:
			if err := rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return
			}
			if _, err := w.Write(message); err != nil {
				return
			}
			if err := rc.Flush(); err != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-v.ended:
			return
		case <-p.closed:
			return
		}
	}
}

// enter admits a viewer, if there is room or one is not heard of any more,
// with everything as its first message.
func (p *Page) enter(key string, now time.Time) *viewer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.viewers) >= p.options.Viewers && !p.evict(now) {
		return nil
	}
	if len(key) > maxKey {
		key = ""
	}
	v := &viewer{out: make(chan []byte, 4), key: key, heard: now, ended: make(chan struct{})}
	v.out <- event(p.whole())
	p.viewers[v] = struct{}{}
	return v
}

// evict ends the viewer that has not been heard of for longest, if that is long
// enough: a stream that nobody reads must not keep an operator out. The lock is
// held.
func (p *Page) evict(now time.Time) bool {
	var deaf *viewer
	for v := range p.viewers {
		if deaf == nil || v.heard.Before(deaf.heard) {
			deaf = v
		}
	}
	if deaf == nil || now.Sub(deaf.heard) < deafAfter {
		return false
	}
	close(deaf.ended)
	delete(p.viewers, deaf)
	return true
}

// alive notes that a viewer is there.
func (p *Page) alive(w http.ResponseWriter, key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for v := range p.viewers {
		if v.key != "" && v.key == key {
			v.heard = time.Now()
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// state answers with what a stream begins with, for a page that finds no room.
func (p *Page) state(w http.ResponseWriter) {
	p.mu.Lock()
	out := p.whole()
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // to a browser that may have gone
}

func (p *Page) leave(v *viewer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.viewers, v)
}

// broadcast sends the last reading to all viewers. It waits for none.
func (p *Page) broadcast() {
	tick := event(p.tick())
	var whole []byte
	for v := range p.viewers {
		message := tick
		if v.behind {
			if len(v.out) > 0 {
				continue
			}
			if whole == nil {
				whole = event(p.whole())
			}
			message = whole
		}
		select {
		case v.out <- message:
			v.behind = false
		default:
			v.behind = true
		}
	}
}

// event frames a message. It has no line breaks: in JSON they are escaped.
func event(message []byte) []byte {
	out := make([]byte, 0, len(message)+len("data: \n\n"))
	out = append(out, "data: "...)
	out = append(out, message...)
	return append(out, "\n\n"...)
}

func appendEvents(out []byte, events []breakerwatch.Event) []byte {
	out = append(out, '[')
	first := len(out)
	for _, e := range events {
		out = append(comma(out, first), '[')
		out = strconv.AppendUint(out, e.Number, 10)
		out = append(out, ',')
		out = strconv.AppendInt(out, e.Time.UnixMilli(), 10)
		out = append(out, ',')
		out = appendString(out, e.Name)
		for _, n := range []uint64{uint64(e.From), uint64(e.To), uint64(e.Reason), e.Counts.Calls, e.Counts.Failures} {
			out = append(out, ',')
			out = strconv.AppendUint(out, n, 10)
		}
		out = append(out, ']')
	}
	return append(out, ']')
}

// maxHistories is how many sparklines can be asked for at once.
const maxHistories = 500

// history answers with the past of the rows that have come into sight: by id,
// the first tick and from there on the points up to the last reading.
func (p *Page) history(w http.ResponseWriter, ids string) {
	list := strings.Split(ids, ",")
	if len(list) > maxHistories {
		http.Error(w, "history of more than 500 breakers", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	b := &p.board
	out := strconv.AppendUint([]byte(`{"tick":`), b.tick, 10)
	out = append(out, `,"rows":{`...)
	first := len(out)
	for _, text := range list {
		id, err := strconv.Atoi(text)
		line := b.byID[id]
		if err != nil || line == nil {
			continue // gone meanwhile
		}
		out = append(comma(out, first), '"')
		out = strconv.AppendInt(out, int64(id), 10)
		out = append(out, `":`...)
		out = line.appendHistory(out, b.tick, uint64(len(b.times)))
	}
	p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(out, `}}`...)) // to a browser that may have gone
}

// appendHistory appends the first tick and the counts and state of each from
// there on.
func (w *row) appendHistory(out []byte, tick, points uint64) []byte {
	h := w.history
	if h == nil {
		h = &history{states: make([]uint8, points), born: w.born}
	}
	start := h.from(tick)
	out = strconv.AppendUint(append(out, '['), start, 10)
	for t := start; t <= tick; t++ {
		i := t % points
		var point [4]uint64
		if h.ok != nil {
			point = [4]uint64{uint64(h.ok[i]), uint64(h.failed[i]), uint64(h.refused[i]), uint64(h.states[i])}
		}
		for _, n := range point {
			out = strconv.AppendUint(append(out, ','), n, 10)
		}
	}
	return append(out, ']')
}
