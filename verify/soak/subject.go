package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// subject is a breaker that is soaked, and the books that are kept of it.
type subject struct {
	name string
	b    *atomicbreaker.Breaker
	m    *clock.Manual
	seed uint64

	faults atomic.Uint32 // out of 100 calls
	books
	resets  uint64
	last    atomicbreaker.Snapshot
	rounds  uint64
	hearing hearing
}

// books are what the workers were answered.
type books struct{ admitted, refused, settled, calls uint64 }

func (b *books) add(c books) {
	b.admitted += c.admitted
	b.refused += c.refused
	b.settled += c.settled
	b.calls += c.calls
}

func newSubjects(seed uint64) ([]*subject, error) {
	short := atomicbreaker.Cooldown{Min: 10 * time.Millisecond, Max: 200 * time.Millisecond}
	configs := []struct {
		name string
		c    atomicbreaker.Config
	}{
		{"defaults", atomicbreaker.Config{}},
		{"one probe", atomicbreaker.Config{Cooldown: short, Recovery: atomicbreaker.Recovery{Probes: 1, ProbeTimeout: 5 * time.Millisecond}}},
		{"three of five probes, window of calls", atomicbreaker.Config{WindowCalls: 100, Cooldown: short,
			Recovery: atomicbreaker.Recovery{Probes: 5, Successes: 3, Concurrent: 2}}},
		{"slow calls, short buckets", atomicbreaker.Config{Window: 20 * time.Millisecond, Buckets: 10, SlowCallDuration: 3 * time.Millisecond,
			Cooldown: short, Recovery: atomicbreaker.Recovery{Quiet: 20 * time.Millisecond, ProbeTimeout: 50 * time.Millisecond}}},
		{"streak of two, many stripes", atomicbreaker.Config{FailureRate: atomicbreaker.Off, ConsecutiveFailures: 2, Stripes: 64, Cooldown: short}},
		{"predicate, shadow", atomicbreaker.Config{Mode: atomicbreaker.Shadow, Cooldown: short,
			ReadyToTrip: func(c atomicbreaker.Counts) bool { return c.Calls > 50 && c.FailureRate() > 0.3 }}},
	}
	var all []*subject
	for i, k := range configs {
		s := &subject{name: k.name, m: new(clock.Manual), seed: seed + uint64(i)<<32}
		k.c.Name, k.c.Clock, k.c.OnTransition = k.name, s.m, s.hearing.hear
		b, err := atomicbreaker.New(k.c)
		if err != nil {
			return nil, err
		}
		s.b = b
		all = append(all, s)
	}
	return all, nil
}

// hearing checks announcements as they come.
type hearing struct {
	told, opened, gaps uint64
	to                 atomicbreaker.State
	generation         uint32
	inside             atomic.Int32
	fault              error
}

func (h *hearing) hear(t atomicbreaker.Transition) {
	switch {
	case h.inside.Add(1) != 1:
		h.fault = errors.New("two announcements at once")
	case t.From != h.to || t.To == t.From:
		h.fault = fmt.Errorf("announced %v to %v after %v", t.From, t.To, h.to)
	case int32(t.Generation-h.generation) <= 0:
		h.fault = fmt.Errorf("announced generation %d after %d", t.Generation, h.generation)
	}
	h.gaps += uint64(t.Generation - h.generation - 1)
	h.told++
	if t.To == atomicbreaker.StateOpen {
		h.opened++
	}
	h.to, h.generation = t.To, t.Generation
	h.inside.Add(-1)
	if h.told%17 == 0 {
		panic("a listener that panics")
	}
}

// round has workers call, while one goroutine lets time pass and gives
// commands, and then checks the breaker at rest.
func (s *subject) round(each int) (calls uint64, err error) {
	s.rounds++
	workers := 2*runtime.GOMAXPROCS(0) + 1
	kept := make([]books, workers)
	var work, rule sync.WaitGroup
	for w := range workers {
		work.Go(func() { kept[w] = s.worker(rand.New(rand.NewPCG(s.seed+s.rounds, uint64(w))), each) })
	}
	var over atomic.Bool
	rule.Go(func() { s.ruler(rand.New(rand.NewPCG(s.seed+s.rounds, 1<<40)), &over) })
	work.Wait()
	over.Store(true)
	rule.Wait()
	for _, k := range kept {
		s.add(k)
		calls += k.calls
	}
	return calls, s.rest()
}

// ruler moves the clock, in steps and in jumps, changes how many calls fail,
// and gives commands. The clock may jump by hours.
func (s *subject) ruler(r *rand.Rand, over *atomic.Bool) {
	for !over.Load() {
		switch p := r.IntN(1000); {
		case p < 700:
			s.m.Advance(time.Duration(r.IntN(20_000)) * time.Microsecond)
		case p < 780:
			s.m.Advance(time.Duration(r.IntN(2000)) * time.Millisecond)
		case p < 785:
			s.m.Advance(time.Duration(r.IntN(48)) * time.Hour)
		case p < 900:
			s.faults.Store([...]uint32{0, 0, 1, 10, 60, 100}[r.IntN(6)])
		case p < 920:
			s.b.SetMode(atomicbreaker.Mode(r.IntN(4)))
		case p < 945:
			s.b.SetMode(atomicbreaker.Auto)
		case p < 960:
			s.b.Trip()
		case p < 970:
			s.b.Reset()
			s.resets++
		default:
			_ = s.b.Snapshot()
			_ = s.b.RetryAfter()
		}
		for range r.IntN(6) {
			runtime.Gosched()
		}
	}
}

var errFault = errors.New("fault")

// worker makes calls and settles them, some at once, some later, some by Do,
// some never.
func (s *subject) worker(r *rand.Rand, calls int) (k books) {
	var held []*atomicbreaker.Ticket
	for range calls {
		k.calls++
		if r.IntN(32) == 0 {
			runtime.Gosched()
		}
		switch p := r.IntN(1000); {
		case p < 900:
			t, err := s.b.Acquire()
			if err != nil {
				k.refused++
				continue
			}
			k.admitted++
			k.settled += s.settle(r, &t)
		case p < 960:
			s.do(r, &k)
		case p < 990 && len(held) < 64:
			t, err := s.b.Acquire()
			if err != nil {
				k.refused++
				continue
			}
			k.admitted++
			held = append(held, &t)
		case len(held) > 0:
			i := r.IntN(len(held))
			t := held[i]
			held = append(held[:i], held[i+1:]...)
			if r.IntN(50) > 0 { // otherwise never
				k.settled += s.settle(r, t)
			}
		default:
			s.b.Ready()
		}
	}
	for _, t := range held[:len(held)/2] {
		k.settled += s.settle(r, t)
	}
	return k
}

// settle settles a ticket, now and then twice, and returns how often it was
// told that it did.
func (s *subject) settle(r *rand.Rand, t *atomicbreaker.Ticket) (won uint64) {
	count := func(yes bool) {
		if yes {
			won++
		}
	}
	switch p := r.Uint32N(100); {
	case p < 2:
		count(t.Report(atomicbreaker.Ignored))
	case p < 4:
		count(t.Cancel())
	case p >= 100-s.faults.Load():
		count(t.Done(context.Background(), errFault))
	default:
		count(t.Done(context.Background(), nil))
	}
	if r.IntN(64) == 0 {
		count(t.Report(atomicbreaker.Failure))
	}
	return won
}

// do makes a call by Do that may fail, panic or end by a cancelled context.
func (s *subject) do(r *rand.Rand, k *books) {
	p, ran := r.IntN(100), false
	ctx := context.Background()
	defer func() {
		_ = recover()
		if ran {
			k.admitted++
			k.settled++
		} else {
			k.refused++
		}
	}()
	_ = s.b.Do(ctx, func(context.Context) error {
		ran = true
		switch {
		case p < 3:
			panic("a call that panics")
		case uint32(p) >= 100-s.faults.Load():
			return errFault
		}
		return nil
	})
}

func (s *subject) summary() string {
	x := s.last
	return fmt.Sprintf("%-40s %d opened, %d s, %d f, %d ignored, %d cancelled, %d late, %d abandoned, %d refused, %d let through by Shadow",
		s.name, x.Opened, x.Succeeded, x.Failed, x.Ignored, x.Cancelled, x.Late, x.Abandoned, x.Refused(), x.WouldRefuse)
}
