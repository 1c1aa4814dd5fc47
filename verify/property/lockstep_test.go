package property

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/atomicbreaker/breaker/bench/lockstep"
)

func agree(program []byte) error {
	return lockstep.Run(program, lockstep.Atomic(), lockstep.Mutex(), lockstep.RWMutex())
}

// TestOperationStrings draws operation strings, and shrinks the one that the
// lock-free breaker and the locked ones answer differently.
func TestOperationStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		header := rapid.SliceOfN(rapid.Byte(), 26, 26).Draw(t, "configuration")
		steps := rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "operations")
		if err := agree(append(header, steps...)); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzOperationStrings is the same for go test -fuzz; its seeds are in
// testdata/fuzz.
func FuzzOperationStrings(f *testing.F) {
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 4096 {
			return
		}
		if err := agree(program); err != nil {
			t.Fatal(err)
		}
	})
}
