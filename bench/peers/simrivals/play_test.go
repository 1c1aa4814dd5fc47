package simrivals

import (
	"reflect"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/sim"
)

func row(t *testing.T, id string) *sim.Scenario {
	t.Helper()
	for _, r := range sim.Suite() {
		if r.ID() == id {
			return r.Variants[len(r.Variants)/2]
		}
	}
	t.Fatalf("the suite has no row %q", id)
	return nil
}

func TestPlay(t *testing.T) {
	for _, r := range Rivals() {
		for _, id := range []string{"01b/U", "03/U", "04/U", "11/U"} {
			start := time.Now()
			a := Play(t, row(t, id), r, 1)
			took := time.Since(start)
			m := a.Metrics()
			t.Logf("%-18s %s: t95 %d, failed %d, trips %d, took %v %v", r.Name, id, a.T95(), a.All().Failed, a.Trips, took, m)
			if b := Play(t, row(t, id), r, 1); !reflect.DeepEqual(a, b) {
				t.Errorf("%s, %s: two runs of one seed differ", r.Name, id)
			}
		}
	}
}
