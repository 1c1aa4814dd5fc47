package lockstep_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/atomicbreaker/breaker/bench/lockstep"
)

var (
	programs = flag.Int("programs", 400, "random programs to run")
	seed     = flag.Uint64("seed", 1, "seed of the random programs")
)

// random writes a program of up to 200 operations.
func random(r *rand.Rand) []byte {
	program := make([]byte, 24+3*r.IntN(200))
	for i := range program {
		program[i] = byte(r.Uint32())
	}
	if r.IntN(2) == 0 { // rarer modes and listeners of the user's hide other things
		clear(program[19:20])
		clear(program[22:23])
	}
	return program
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
