package clock

import "testing"

// The system's clock measures from an instant that has a monotonic reading, so
// that no step of the wall clock shows.
//
// Field: S092
func TestFieldSystemMeasuresMonotonically(t *testing.T) {
	epoch := System().(system).epoch
	if epoch == epoch.Round(0) { // Round strips the monotonic reading
		t.Error("the epoch of the system's clock has no monotonic reading")
	}
}
