package breakerpage

import "github.com/atomicbreaker/breaker/atomicbreaker"

// point is what one reading adds to a sparkline: calls since the reading
// before, and the state.
type point struct {
	ok, failed, refused uint32
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
