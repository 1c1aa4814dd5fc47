package simrivals

import (
	"reflect"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/sim"
	"github.com/atomicbreaker/breaker/sim/rivals"
)

func suiteRow(t *testing.T, id string) sim.Row {
	t.Helper()
	for _, r := range sim.Suite() {
		if r.ID() == id {
			return r
		}
	}
	t.Fatalf("the suite has no row %q", id)
	return sim.Row{}
}

// The recordings are what the pinned versions do in the suite of today, as far as
// rows that take little time can tell, and a run repeats.
func TestRecordingsAreCurrent(t *testing.T) {
	all, err := rivals.All()
	if err != nil {
		t.Fatal(err)
	}
	versions := modules(t)
	for i, r := range Rivals() {
		t.Run(r.Name, func(t *testing.T) {
			if i >= len(all) || all[i].Name != r.Name {
				t.Fatalf("no recording; go test ./simrivals -run Record -record makes it")
			}
			if got, want := all[i].Version, versions[r.Module]; got != want {
				t.Errorf("recorded at %s, go.mod has %s; record again", got, want)
			}
			for _, id := range []string{"09-10s/1", "05b/U"} {
				row := suiteRow(t, id)
				e, ok := all[i].Entry(&row)
				if !ok || e.Example == nil {
					t.Errorf("no recording of %s", id)
					continue
				}
				now := Play(t, row.Variants[0], r, seeds[0])
				if !reflect.DeepEqual(now.Seconds, e.Example.Seconds) {
					t.Errorf("%s goes otherwise than recorded; record again", id)
				}
			}
		})
	}
}

// While the dependency is dead, a second at whose ends a rival says that it is
// open sees no call but a probe or two: the state it tells is the one it acts on.
func TestStatesAgreeWithWhatIsAdmitted(t *testing.T) {
	for _, r := range Rivals() {
		t.Run(r.Name, func(t *testing.T) {
			result := Play(t, suiteRow(t, "01c/U").Variants[0], r, 1)
			open := 0
			dead := result.Seconds[result.Incident.From/time.Second : result.Incident.To/time.Second]
			for i := 1; i < len(dead); i++ {
				if dead[i-1].Open == 0 || dead[i].Open == 0 {
					continue
				}
				open++
				if dead[i].Sent > 2 {
					t.Errorf("%d s into the outage: open at both ends of a second, %d calls sent in it", i, dead[i].Sent)
				}
			}
			if tells := r.Name != "go-zero"; tells != (open > 0) {
				t.Errorf("open for %d seconds of an outage of 60 s", open)
			}
		})
	}
}
