package breakerpage

import (
	"math"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// point is what one reading adds to a sparkline: calls since the reading
// before, and the state.
type point struct {
	ok, failed, refused uint32
	would               uint32 // drawn nowhere
	state               atomicbreaker.State
}

// calm reports whether there is nothing to draw.
func (p point) calm() bool {
	return p.ok|p.failed|p.refused == 0 && p.state == atomicbreaker.StateClosed
}

// history is the points of the last readings, that of a tick at the tick
// modulo the length.
type history struct {
	ok, failed, refused []uint32
	states              []uint8
	born                uint64 // the tick of the first reading; before it there was no breaker
	active              uint64 // of the last that was not calm
}

func newHistory(points int, born uint64) *history {
	counts := make([]uint32, 3*points)
	return &history{
		ok: counts[:points], failed: counts[points : 2*points], refused: counts[2*points:],
		states: make([]uint8, points), born: born,
	}
}

func (h *history) set(tick uint64, p point) {
	i := tick % uint64(len(h.states))
	h.ok[i], h.failed[i], h.refused[i], h.states[i] = p.ok, p.failed, p.refused, uint8(p.state)
	if !p.calm() {
		h.active = tick
	}
}

// quiet reports whether all points are calm, so that they need not be kept.
func (h *history) quiet(tick uint64) bool { return tick-h.active >= uint64(len(h.states)) }

// from returns the first tick, up to one, of which there are points.
func (h *history) from(tick uint64) uint64 {
	if n := uint64(len(h.states)); tick >= n {
		return max(h.born, tick-n+1)
	}
	return max(h.born, 1)
}

// The past of an hour is kept in slots of 20 s.
const (
	hourSlots = 180
	hourSlot  = 20 * time.Second
)

// hour is the calls in each slot of the last hour, that of a slot at its
// number modulo the slots, and the state furthest from closed.
type hour struct {
	ok, failed, refused [hourSlots]uint32
	states              [hourSlots]uint8
	first, last         int64 // numbers of slots since 1970: the first there is, the one that runs
	active              int64 // the last that was not calm
}

// recordHour adds the point of the last reading to the hour, if there is
// anything to draw.
func (w *row) recordHour(now time.Time) {
	slot := now.UnixNano() / int64(hourSlot)
	h := w.hour
	if h == nil {
		if w.point.calm() {
			return
		}
		h = &hour{first: slot, last: slot}
		w.hour = h
	}
	for n := max(h.last+1, slot-hourSlots+1); n <= slot; n++ {
		i := n % hourSlots
		h.ok[i], h.failed[i], h.refused[i], h.states[i] = 0, 0, 0, 0
	}
	h.last = max(h.last, slot)
	i := h.last % hourSlots
	h.ok[i], h.failed[i], h.refused[i] = sum(h.ok[i], w.point.ok), sum(h.failed[i], w.point.failed), sum(h.refused[i], w.point.refused)
	h.states[i] = furthest(h.states[i], w.point.state)
	if !w.point.calm() {
		h.active = h.last
	}
	if h.last-h.active >= hourSlots {
		w.hour = nil
	}
}

func sum(a, b uint32) uint32 { return uint32(min(uint64(a)+uint64(b), math.MaxUint32)) }

// furthest is the state further from closed: half-open, then open.
func furthest(a uint8, b atomicbreaker.State) uint8 {
	if a == uint8(atomicbreaker.StateOpen) || b == atomicbreaker.StateClosed {
		return a
	}
	return uint8(b)
}

// jsonHour is the past of an hour, from the oldest slot on.
type jsonHour struct {
	From    time.Time     `json:"from"` // when the oldest slot began
	Every   time.Duration `json:"every_ns"`
	OK      []uint32      `json:"succeeded"`
	Failed  []uint32      `json:"failed"`
	Refused []uint32      `json:"refused"`
	States  []uint32      `json:"states"` // 0 closed, 1 open, 2 half-open
}

// json returns the hour, or nil if there is nothing in it.
func (h *hour) json() *jsonHour {
	if h == nil {
		return nil
	}
	from := max(h.first, h.last-hourSlots+1)
	j := &jsonHour{From: time.Unix(0, from*int64(hourSlot)).UTC(), Every: hourSlot}
	for n := from; n <= h.last; n++ {
		i := n % hourSlots
		j.OK, j.Failed, j.Refused = append(j.OK, h.ok[i]), append(j.Failed, h.failed[i]), append(j.Refused, h.refused[i])
		j.States = append(j.States, uint32(h.states[i]))
	}
	return j
}
