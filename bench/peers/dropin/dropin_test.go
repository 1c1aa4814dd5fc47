package dropin_test

import (
	"flag"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/atomicbreaker/breaker/bench/peers/dropin"
)

var (
	programs = flag.Int("programs", 10_000, "random programs to run")
	seed     = flag.Uint64("seed", 1, "seed of the random programs")
)

// random writes a program of up to 120 steps. Half of them are short of the
// settings that are easily reached by chance.
func random(n uint64) []byte {
	r := rand.New(rand.NewPCG(*seed, n))
	program := make([]byte, 9+2*r.IntN(120))
	for i := range program {
		program[i] = byte(r.Uint32())
	}
	return program
}

// perBubble keeps the years that a bubble sees within those that time can count.
const perBubble = 100

func TestDropInAnswersAsTheOriginal(t *testing.T) { compare(t, dropin.Run) }

// Version 1 excludes no request: that, and what only rolling windows bring, is not seen.
func TestDropInV1AnswersAsTheOriginal(t *testing.T) { compare(t, dropin.RunV1, "Excluded") }

func compare(t *testing.T, run func([]byte, *dropin.Seen) error, unseen ...string) {
	var seen dropin.Seen
	for n := 0; n < *programs; n += perBubble {
		var wrong []byte
		synctest.Test(t, func(*testing.T) {
			for k := n; k < min(n+perBubble, *programs) && wrong == nil; k++ {
				if p := random(uint64(k)); run(p, &seen) != nil {
					wrong = p
				}
			}
		})
		if wrong != nil {
			report(t, run, wrong)
		}
	}
	t.Logf("%+v", seen)
	if *programs < 1000 {
		return
	}
	for v, i := reflect.ValueOf(seen), 0; i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; !slices.Contains(unseen, name) && v.Field(i).Int() < int64(*programs/100) {
			t.Errorf("%d programs have come by %s only %d times", *programs, name, v.Field(i).Int())
		}
	}
}

func report(t *testing.T, compare func([]byte, *dropin.Seen) error, program []byte) {
	t.Helper()
	run := func(p []byte) (err error) {
		synctest.Test(t, func(*testing.T) { err = compare(p, new(dropin.Seen)) })
		return err
	}
	small := dropin.Shrink(program, func(p []byte) bool { return run(p) != nil })
	t.Fatalf("%v\nprogram: %q", run(small), small)
}

func FuzzDropInAnswersAsTheOriginal(f *testing.F) {
	for n := range uint64(20) {
		f.Add(random(1<<40 + n))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 1000 {
			return
		}
		var err error
		synctest.Test(t, func(*testing.T) { err = dropin.Run(program, new(dropin.Seen)) })
		if err != nil {
			report(t, dropin.Run, program)
		}
	})
}
