package sim

import "testing"

func TestLabFiguresAreExact(t *testing.T) {
	for _, row := range LabRows() {
		r := row.Lab.Run(row.Contender)
		for _, f := range row.Want {
			if v := r.Value(f.Metric); !f.Met(v) {
				t.Errorf("%s: %s is %d, want %d", row.Name, f.Metric, v, f.Want)
			}
		}
		t.Logf("%s: calls %d completed %d failed %d waiting %d over %d", row.Name, r.Calls, r.Completed, r.Failed, r.Waiting, r.Over)
	}
}
