package sim

import (
	"slices"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// There is no chance in the lab: every figure holds to the unit.
func TestLabFiguresAreExact(t *testing.T) {
	oneGoroutine(t)
	names := map[string]bool{}
	for _, row := range LabRows() {
		if names[row.Name] {
			t.Errorf("two rows are called %s", row.Name)
		}
		names[row.Name] = true
		r := row.Lab.Run(row.Contender)
		for _, f := range row.Want {
			if v := r.Value(f.Metric); !f.Met(v) {
				t.Errorf("%s: %s is %d, want %d", row.Name, f.Metric, v, f.Want)
			}
		}
	}
	if len(names) < 45 {
		t.Errorf("only %d rows", len(names))
	}
}

// From tick 21 on the classic breaker goes round in six ticks: four of
// refusals, one with a probe, one closed. 21 calls of the 30 that arrive are
// served, so that nine more wait after each round, for ever.
func TestLabCycleOfTheClassicBreaker(t *testing.T) {
	oneGoroutine(t)
	ticks := Lab{Ticks: 3000, Base: 5, Surge: 40, Overloaded: true}.Run(oneProbe()).Ticks
	for at, want := range map[int]int{300: 777, 306: 786, 312: 795} {
		if got := ticks[at].Waiting; got != want {
			t.Errorf("%d wait at the end of tick %d, want %d", got, at, want)
		}
	}
	for from := 24; from+6 <= len(ticks); from += 6 {
		var calls []int
		completed := 0
		for _, tick := range ticks[from : from+6] {
			completed += tick.Completed
			if tick.Calls > 0 {
				calls = append(calls, tick.Calls)
			}
		}
		if completed != 21 || len(calls) != 2 || slices.Min(calls) != 1 {
			t.Fatalf("ticks %d to %d: %d completed, calls %v; want 21, and a probe and a burst", from, from+5, completed, calls)
		}
		if grown := ticks[from+5].Waiting - ticks[from-1].Waiting; grown != 9 {
			t.Fatalf("ticks %d to %d: %d more wait, want 9", from, from+5, grown)
		}
	}
}

func TestLabDeliversABurstAfterEachClose(t *testing.T) {
	ticks := Lab{Ticks: 400, Base: 5, Surge: 40, Overloaded: true}.Run(oneProbe()).Ticks
	var bursts []int
	for i := 11; i < len(ticks) && len(bursts) < 5; i++ {
		if ticks[i-1].State == atomicbreaker.StateClosed {
			bursts = append(bursts, ticks[i].Calls)
		}
	}
	if want := []int{259, 373, 382, 391, 400}; !slices.Equal(bursts, want) {
		t.Errorf("bursts %v, want %v", bursts, want)
	}
}

// The formula of the lab: what a classic breaker lets through on average.
func TestLabThroughputIsAsComputed(t *testing.T) {
	oneGoroutine(t)
	for cooldown := 4; cooldown <= 8; cooldown++ {
		ticks := Lab{Ticks: 3000, Base: 5, Surge: 40, Overloaded: true}.
			Run(labClassic(seconds(cooldown), 0.5, atomicbreaker.Recovery{Probes: 1})).Ticks
		completed, rounds := 0, 100
		for _, tick := range ticks[len(ticks)-rounds*(cooldown+1):] {
			completed += tick.Completed
		}
		if want := rounds * (LabCapacity + 1); completed != want {
			t.Errorf("cooldown %d: %d completed in %d rounds, want %d", cooldown, completed, rounds, want)
		}
	}
}
