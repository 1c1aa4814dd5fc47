//go:build interleave

package coherence

import (
	"fmt"

	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

// After each round of calls by all processors the timers run that are due.
// Before anything is counted the ring comes to rest: it has added its stripes and
// dealt the goroutines anew as often as it ever will, its timer has had nothing
// to do for so many rounds, and each processor has made so many calls since: several
// times as many as there are refusals to one look at who else writes to a stripe.
// By then no stripe is new: of a stripe that has seen few calls, a failure reads all others,
// which takes one processor hundreds of times as long as a call.
const (
	quietRounds   = 10
	quietCalls    = 1000
	mostRounds    = 5000
	countedRounds = 12
)

// callsPerRound is how many calls each processor makes in a round: enough that two
// who share a stripe will hardly miss each other.
func callsPerRound(processors int) int { return max(4, 64/processors) }

// simulate runs one subject on so many processors. It returns the results for
// lines of 64 and 128 bytes, and for the atomic breaker also those of its packed
// twin.
func simulate(seed uint64, impl, path string, processors int) ([]Result, error) {
	var all stripes
	all.listen()
	s, err := newSubject(impl, path, processors)
	if err != nil {
		return nil, err
	}
	m := newMachine(seed, processors, s.call)
	names := []string{impl, impl}
	m.layouts = []layout{{nil, newCaches(6)}, {nil, newCaches(7)}}
	if impl == "atomic" {
		names = append(names, "packed", "packed")
		m.layouts = append(m.layouts, layout{all.packed, newCaches(6)}, layout{all.packed, newCaches(7)})
	}
	before, steps := s.settled(), atomic.Steps
	m.record()
	round := func() (quiet bool) {
		m.run(processors * callsPerRound(processors))
		accesses := m.accesses
		s.tick()
		return m.accesses == accesses
	}
	for quiet, n := 0, 0; quiet < quietRounds || m.fewest() < quietCalls; n++ {
		if n == mostRounds {
			return nil, fmt.Errorf("coherence: %s, %s, %d processors: not at rest after %d rounds", path, impl, processors, n)
		}
		quiet++
		if !round() {
			quiet = 0
			m.restart()
		}
	}
	for _, l := range m.layouts {
		l.caches.forget()
	}
	began := m.calls
	for range countedRounds {
		round()
	}
	var results []Result
	for i, l := range m.layouts {
		results = append(results, Result{
			Path: path, Impl: names[i], Line: 1 << l.caches.shift, Processors: processors,
			Transfers: float64(l.caches.transfers) / float64(m.calls-began),
			Queue:     float64(l.caches.hottest()) * float64(processors) / float64(m.calls-began),
		})
	}
	m.stop()
	switch got := s.settled() - before; {
	case atomic.Steps == steps:
		return nil, fmt.Errorf("coherence: nothing was recorded: this is not an instrumented build")
	case got != uint64(m.calls):
		return nil, fmt.Errorf("coherence: %s, %s: %d of %d calls were counted", path, impl, got, m.calls)
	}
	return results, nil
}
