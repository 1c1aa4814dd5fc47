package locked

import "github.com/atomicbreaker/breaker/atomicbreaker"

// window is a rolling window: the newest cells of an endless row of numbered
// cells, and their sum. The cells of a window of time are its buckets; those
// of a window of calls hold one outcome each.
type window struct {
	cells  []atomicbreaker.Counts
	newest int64
	sum    atomicbreaker.Counts
}

// advance makes a later cell the newest. What was in the cells that thereby
// leave the window is forgotten.
func (w *window) advance(to int64) {
	for n := int64(len(w.cells)); w.newest < to; {
		if w.sum.Calls == 0 {
			w.newest = to // every cell is empty already
			return
		}
		w.newest++
		oldest := &w.cells[w.newest%n]
		w.sum.Calls -= oldest.Calls
		w.sum.Failures -= oldest.Failures
		w.sum.Slow -= oldest.Slow
		*oldest = atomicbreaker.Counts{}
	}
}

// add counts one outcome in the newest cell.
func (w *window) add(failed, slow bool) {
	count(&w.cells[w.newest%int64(len(w.cells))], failed, slow)
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
