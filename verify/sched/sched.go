// Package sched runs a handful of actors one atomic operation at a time. In an
// instrumented build of the breaker (see internal/overlay) every atomic
// operation is a point at which another actor may be let go on, so that a
// schedule is a sequence of choices: it can be enumerated, drawn from a seed,
// and run again.
package sched

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/atomicbreaker/breaker/verify/shim/atomic"
)

// maxSteps bounds one schedule: code without locks that takes more steps than
// this among a few actors does not end.
const maxSteps = 100_000

// Program is one run of some actors, made afresh for each schedule.
type Program struct {
	Actors []func()
	Step   func() error // asked before each step and at the end; may be nil
	End    func() error // asked when all actors have ended; may be nil
}

// actor is a coroutine that stops before each of its atomic operations.
type actor struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	over  bool
}

// machine runs one schedule. Only one machine may run at a time in a process.
type machine struct {
	actors  []*actor
	current *actor
	steps   int
}

func start(bodies []func()) *machine {
	m := &machine{}
	for _, body := range bodies {
		a := &actor{}
		a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
			a.yield = yield
			body()
		})
		m.actors = append(m.actors, a)
	}
	return m
}

// step lets an actor go on to its next atomic operation, or to its end.
func (m *machine) step(i int) {
	a := m.actors[i]
	m.current = a
	m.steps++
	atomic.Actor.Store(uint64(i))
	atomic.Hook = m.pause
	_, more := a.next()
	atomic.Hook = nil
	m.current = nil
	a.over = !more
}

func (m *machine) pause() { m.current.yield(struct{}{}) }

// Steps returns how many steps the schedule that runs has taken: the time of
// a history. It is for actors.
var Steps func() int

func (p *Program) run(choose func(m *machine, last int) int) (steps int, err error) {
	m := start(p.Actors)
	Steps = func() int { return m.steps }
	last := -1
	for {
		if p.Step != nil {
			if err := p.Step(); err != nil {
				m.abandon()
				return m.steps, fmt.Errorf("after %d steps: %w", m.steps, err)
			}
		}
		if m.done() {
			break
		}
		if m.steps > maxSteps {
			m.abandon()
			return m.steps, fmt.Errorf("after %d steps the actors have not ended", m.steps)
		}
		last = choose(m, last)
		m.step(last)
	}
	if p.End != nil {
		return m.steps, p.End()
	}
	return m.steps, nil
}

func (m *machine) done() bool {
	for _, a := range m.actors {
		if !a.over {
			return false
		}
	}
	return true
}

// abandon lets the actors of a schedule that has failed run to their ends, so
// that no coroutine is left behind.
func (m *machine) abandon() {
	for i, a := range m.actors {
		for n := 0; !a.over && n < maxSteps; n++ {
			m.step(i)
		}
	}
}

// Stats is what an exploration covered.
type Stats struct {
	Schedules int
	Steps     int
	Longest   int // steps of the longest schedule
}

func (s *Stats) add(steps int) {
	s.Schedules++
	s.Steps += steps
	s.Longest = max(s.Longest, steps)
}

// Explore runs every schedule with at most preemptions switches away from an
// actor that could go on. It stops at the first error, which tells the
// schedule. With a negative bound it runs every schedule there is.
func Explore(preemptions int, program func() Program) (Stats, error) {
	var stats Stats
	var path []branch // the choices of the present schedule
	for {
		depth, used := 0, 0
		p := program()
		steps, err := p.run(func(m *machine, last int) int {
			if depth == len(path) {
				path = append(path, branch{options: m.options(last, preemptions < 0 || used < preemptions)})
			}
			b := path[depth]
			depth++
			next := b.options[b.taken]
			if last >= 0 && !m.actors[last].over && next != last {
				used++
			}
			return next
		})
		stats.add(steps)
		if err != nil {
			return stats, fmt.Errorf("schedule %v: %w", taken(path), err)
		}
		for len(path) > 0 && path[len(path)-1].taken == len(path[len(path)-1].options)-1 {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return stats, nil
		}
		path[len(path)-1].taken++
	}
}

type branch struct {
	options []int
	taken   int
}

func taken(path []branch) (out []int) {
	for _, b := range path {
		out = append(out, b.options[b.taken])
	}
	return out
}

// options lists who may go on: the one who did first, the others only if they
// may preempt or he has ended.
func (m *machine) options(last int, preempt bool) []int {
	var all []int
	goesOn := last >= 0 && !m.actors[last].over
	if goesOn {
		all = append(all, last)
		if !preempt {
			return all
		}
	}
	for i, a := range m.actors {
		if !a.over && i != last {
			all = append(all, i)
		}
	}
	return all
}

// Random runs one schedule drawn from seed: before each step another actor is
// chosen with the given chance.
func Random(seed uint64, chance float64, p Program) (steps int, err error) {
	r := rand.New(rand.NewPCG(seed, 1))
	return p.run(func(m *machine, last int) int {
		options := m.options(last, true)
		if len(options) == 1 || last >= 0 && options[0] == last && r.Float64() >= chance {
			return options[0]
		}
		return options[r.IntN(len(options))]
	})
}
