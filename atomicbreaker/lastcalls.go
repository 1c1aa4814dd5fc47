package atomicbreaker

import (
	"time"

	"github.com/atomicbreaker/breaker/ring"
)

// countLast is countClosed for a window counted in calls.
//
// The compare-and-swap by which Add appends is where an outcome takes effect:
// it gives the outcome its place in the order, and it succeeds only on the window that
// was summed for it. So every failure and slow call is judged by exactly the
// window that it ends, before its settling returns and however late its recorder runs
// on: no trip is early, and none is lost between two recorders.
func (b *Breaker) countLast(gen uint32, k ring.Kind, slow bool, after time.Duration) {
	for {
		h := b.last.Head() // [E1 observe] before the word, like a cell
		w := b.load()
		if w.generation() != gen {
			b.ring.Count(countLate)
			return
		}
		if !b.last.Live(h, gen) {
			if b.last.Begin(h, gen) {
				b.kick() // the worker allows the first samples
			}
			b.ring.Narrow()
			continue
		}
		_, window, ok := b.last.Add(h, k == ring.Failure, slow)
		if !ok {
			continue
		}
		s := b.ring.AddTotal(k)
		if b.sampler.Load() == nil && b.cfg().watches {
			b.kick() // no window of time wakes the worker
		}
		if slow {
			b.ring.AddTotal(ring.Slow)
		}
		if k == ring.Success && !slow {
			b.endStreak(s, gen)
			return
		}
		run := b.noteBad(s, gen, k)
		if w.mode() != ForcedClosed || b.released(h) {
			b.judge(w, window, k, run, after)
		}
		return
	}
}

// released reports whether ForcedClosed has ended while an outcome was counted
// at h, and h is of the window that has begun since: then nobody else judges
// the outcome.
func (b *Breaker) released(h ring.Head) bool {
	return b.load().mode() != ForcedClosed && b.last.Same(h)
}
