package simrivals

import (
	"reflect"
	"testing"

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

// A breaker that opens and never closes, one that cannot be open, and all that
// lies between: the states that rivals tell are those that they act on.
func TestStatesAgreeWithWhatIsAdmitted(t *testing.T) {
	for _, r := range Rivals() {
		t.Run(r.Name, func(t *testing.T) {
			result := Play(t, suiteRow(t, "01c/U").Variants[0], r, 1)
			openAllSecond := 0
			for i, s := range result.Seconds[1:] {
				before := result.Seconds[i]
				if before.Open == 1 && s.Open == 1 && s.HalfOpen == 0 && s.Sent > 2 {
					t.Errorf("second %d: open at both ends, %d calls sent", i+1, s.Sent)
				}
				if s.Open == 1 {
					openAllSecond++
				}
			}
			if tells := r.Name != "go-zero"; tells != (openAllSecond > 0) {
				t.Errorf("open for %d seconds of an outage of 60 s", openAllSecond)
			}
		})
	}
}
