package locked

import "github.com/atomicbreaker/breaker/atomicbreaker"

// window is a rolling window: the newest cells of an endless row of numbered
// cells, and their sum. The cells of a window of time are its buckets; those
// of a window of calls hold one outcome each.
type window struct {
	cells  []atomicbreaker.Counts
	newest int64 // its number
	at     int   // its place in cells
	sum    atomicbreaker.Counts
}

// advance makes a later cell the newest. What was in the cells that thereby
// leave the window is forgotten.
func (w *window) advance(to int64) {
	for w.newest < to {
		if w.sum.Calls == 0 {
			w.newest = to // every cell is empty already
			return
		}
		w.newest++
		if w.at++; w.at == len(w.cells) {
			w.at = 0
		}
		oldest := &w.cells[w.at]
		w.sum.Calls -= oldest.Calls
		w.sum.Failures -= oldest.Failures
		w.sum.Slow -= oldest.Slow
		*oldest = atomicbreaker.Counts{}
	}
}

// add counts one outcome in the newest cell.
func (w *window) add(failed, slow bool) {
	count(&w.cells[w.at], failed, slow)
	count(&w.sum, failed, slow)
}

// forget empties the window.
func (w *window) forget() {
	if w.sum.Calls > 0 {
		clear(w.cells)
		w.sum = atomicbreaker.Counts{}
	}
}

func count(c *atomicbreaker.Counts, failed, slow bool) {
	c.Calls++
	if failed {
		c.Failures++
	}
	if slow {
		c.Slow++
	}
}
