package rival

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A prepared subject admits or refuses as its row says, and its rows are either
// done or explained.
func TestEverySubjectDoesItsRowsOrSaysWhyNot(t *testing.T) {
	for _, s := range Subjects() {
		for _, row := range Rows() {
			t.Run(s.Key()+"/row="+string(row), func(t *testing.T) {
				p, err := s.Prepare(row)
				if errors.Is(err, ErrLacks) {
					if s.Lacks[row] == "" {
						t.Fatal("no reason given")
					}
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				const calls = 2000
				admitted := 0
				for i := range calls {
					op := p.Op
					if p.Tenth != nil && i%10 == 9 {
						op = p.Tenth
					}
					if op() {
						admitted++
					}
				}
				want := 0
				if p.Admitted {
					want = calls
				}
				if admitted != want && !(s.ByChance && !p.Admitted && admitted < calls/20) {
					t.Errorf("admitted %d of %d calls, want %d", admitted, calls, want)
				}
			})
		}
	}
}

// A breaker closed by too few failures stays closed: the adapter gave it its
// minimum or its rate.
func TestFailuresBelowTheRateDoNotTrip(t *testing.T) {
	for _, s := range Subjects() {
		t.Run(s.Key(), func(t *testing.T) {
			if _, lacks := s.Lacks[ClosedTenth]; lacks {
				t.Skip(s.Lacks[ClosedTenth])
			}
			in := s.Build(JobOf(ClosedTenth))
			defer in.Release()
			for i := range 1000 {
				call := in.Success
				if i%3 == 2 {
					call = in.Failure
				}
				if !call() {
					t.Fatalf("refused call %d at 33 %% failures", i)
				}
			}
		})
	}
}

func TestModulesOfSubjectsAreRequired(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Subjects() {
		if !strings.Contains(string(mod), s.Module+" v") {
			t.Errorf("%s: go.mod requires no version of %q", s.Key(), s.Module)
		}
	}
}
