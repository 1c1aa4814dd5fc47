package breakerhttp_test

import (
	"net/http"
	"testing"

	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
)

// What is in a PoolConfig when the pool is made holds, whatever becomes of the
// caller's slices.
func TestPoolKeepsItsOwnCopyOfItsConfig(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }
	statuses := []int{http.StatusTooManyRequests}
	r := newRig(t, false, breakerhttp.PoolConfig{Transport: breakerhttp.Transport{FailureStatuses: statuses}}, answer)
	statuses[0] = http.StatusTeapot
	resp, err := r.client.Get(r.front.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if s := r.pool.Backends()[0].Breaker().Snapshot(); s.Failed != 1 {
		t.Errorf("%d failures, want the answer 429 to be one", s.Failed)
	}
	r.pool.Backends()[0] = nil
	if r.pool.Backends()[0] == nil {
		t.Error("the slice that Backends returned is the pool's own")
	}
}
