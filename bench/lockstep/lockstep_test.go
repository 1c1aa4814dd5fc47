package lockstep_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/lockstep"
	"github.com/atomicbreaker/breaker/clock"
)

var (
	programs = flag.Int("programs", 400, "random programs to run")
	seed     = flag.Uint64("seed", 1, "seed of the random programs")
)

// Where in a program's header some settings are chosen, and its length.
const (
	slow      = 8
	predicate = 10
	cooldown  = 11
	probes    = 15
	quiet     = 18
	listener  = 21
	mode      = 24
	header    = 26
)

// random writes a program of up to 200 operations.
func random(r *rand.Rand) []byte {
	program := make([]byte, header+3*r.IntN(200))
	for i := range program {
		program[i] = byte(r.Uint32())
	}
	switch r.IntN(4) {
	case 0, 1:
		program[listener], program[mode] = 0, 0 // these hide other things
	case 2:
		recovering(r, program)
	}
	return program
}

// recovering rewrites a program into one that stays long in half-open: mostly
// successes, many calls in flight, little time and no operator.
func recovering(r *rand.Rand, program []byte) {
	clear(program[:slow])
	clear(program[predicate:cooldown])
	program[probes], program[quiet], program[listener], program[mode] = 0, 0, 0, 0
	if r.IntN(2) == 0 {
		program[slow] = 0
	}
	steps := program[header:]
	const (
		acquire = 0
		settle  = 10
		call    = 24
		landAll = 39
		advance = 41
		toTimer = 50
		trip    = 58
	)
	kinds := []byte{acquire, acquire, settle, settle, settle, settle, call, advance, toTimer, landAll}
	endings := []byte{0, 0, 0, 0, 0, 0, 1, 10, 15} // mostly Done(nil)
	for i := 0; i+3 <= len(steps); i += 3 {
		steps[i] = kinds[r.IntN(len(kinds))]
		steps[i+2] = endings[r.IntN(len(endings))]
		switch steps[i] {
		case advance:
			steps[i+1] %= 7
		case acquire:
			steps[i+1] |= 192
		case landAll:
			if r.IntN(4) > 0 {
				steps[i] = settle
			}
		}
	}
	if len(steps) >= 6 {
		copy(steps, []byte{trip, 0, 0, toTimer, 0, 0})
	}
}

func kinds() []lockstep.Implementation {
	return []lockstep.Implementation{lockstep.Mutex(), lockstep.RWMutex(), lockstep.Atomic()}
}

func fails(program []byte) bool { return lockstep.Run(program, kinds()...) != nil }

func check(t *testing.T, program []byte) {
	t.Helper()
	if err := lockstep.Run(program, kinds()...); err != nil {
		small := lockstep.Shrink(program, fails)
		t.Fatalf("%v\nprogram: %q", lockstep.Run(small, kinds()...), small)
	}
}

func TestAtomicAndLockedBreakersAgree(t *testing.T) {
	for n := range *programs {
		check(t, random(rand.New(rand.NewPCG(*seed, uint64(n)))))
	}
}

func FuzzAtomicAndLockedBreakersAgree(f *testing.F) {
	for n := range 20 {
		f.Add(random(rand.New(rand.NewPCG(2, uint64(n)))))
	}
	f.Fuzz(func(t *testing.T, program []byte) { check(t, program) })
}

// The largest probe window is reached by no program of bytes.
func TestAgreeUpToTheLargestProbeWindow(t *testing.T) {
	type breaker struct {
		lockstep.Breaker
		clock *clock.Manual
	}
	var all []breaker
	for _, kind := range kinds() {
		c := new(clock.Manual)
		b, err := kind.New(atomicbreaker.Config{Clock: c, Rand: func() float64 { return 0.5 }})
		if err != nil {
			t.Fatal(err)
		}
		b.Trip()
		c.Advance(b.RetryAfter())
		all = append(all, breaker{b, c})
	}
	for round := range 30 {
		for _, b := range all {
			var tickets []lockstep.Ticket
			for {
				ticket, err := b.Acquire()
				if err != nil || len(tickets) > 20000 {
					break
				}
				tickets = append(tickets, ticket)
			}
			b.clock.Advance(1000000)
			for _, ticket := range tickets {
				ticket.Done(context.Background(), nil)
			}
		}
		want := all[0].Snapshot()
		for i, b := range all {
			if got := b.Snapshot(); got != want {
				t.Fatalf("round %d, %s:\n%+v, want\n%+v", round, kinds()[i].Name, got, want)
			}
		}
		if want.State == atomicbreaker.StateClosed {
			return
		}
	}
	t.Error("not closed")
}
