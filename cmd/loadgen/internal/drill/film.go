package drill

import (
	"context"
	"sync"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// moments is about how many moments of a drill its picture is made of.
const moments = 240

// film is the drill in short moments, for its picture.
type film struct {
	tally   *tally
	breaker *atomicbreaker.Breaker
	every   time.Duration

	mu      sync.Mutex
	moments []moment
	last    counts
}

// moment is what a short time brought: calls by when they ended, and the breaker at
// its end.
type moment struct {
	From, End time.Duration
	counts
	State  atomicbreaker.State
	Window int
}

// record takes moments until ctx ends, and one more of what is left.
func (f *film) record(ctx context.Context, start time.Time) {
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.shoot(time.Since(start))
		case <-ctx.Done():
			f.shoot(time.Since(start))
			return
		}
	}
}

func (f *film) shoot(end time.Duration) {
	now, s := f.tally.counts(), f.breaker.Snapshot()
	f.mu.Lock()
	defer f.mu.Unlock()
	from := time.Duration(0)
	if n := len(f.moments); n > 0 {
		from = f.moments[n-1].End
	}
	f.moments = append(f.moments, moment{From: from, End: end, counts: now.minus(f.last), State: s.State, Window: s.ProbeWindow})
	f.last = now
}

func (f *film) all() []moment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moments
}
