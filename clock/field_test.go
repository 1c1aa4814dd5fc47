package clock

import "testing"

// The system's clock measures from an instant that has a monotonic reading, so
// that no step of the wall clock shows.
//
// Field: S092, exaring/hoglet#25 (2026-06-26); fabfuel/circuitbreaker#31 (2022-01-12);
// Shopify/semian commit 1268464 (2022-11-12).
func TestFieldSystemMeasuresMonotonically(t *testing.T) {
	epoch := System().(system).epoch
	if epoch == epoch.Round(0) { // Round strips the monotonic reading
		t.Error("the epoch of the system's clock has no monotonic reading")
	}
}
