package peers

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/bench/peers/rival"
)

// With a limit of one, no probe of ours overlaps another and none comes before
// its cooldown is over, however hard the callers press.
func TestNoProbeOverlapsOrComesEarly(t *testing.T) {
	for _, s := range rival.Subjects() {
		if !strings.HasPrefix(s.Impl, "ours") {
			continue
		}
		for _, probe := range []time.Duration{0, 50 * time.Microsecond} {
			t.Run(fmt.Sprintf("%s/probe=%v", s.Key(), probe), func(t *testing.T) {
				r, err := Stress(s, 500*time.Millisecond, probe)
				if errors.Is(err, rival.ErrLacks) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				if r.Early != 0 || r.Overlapping != 0 || r.Worst != 1 || r.Shortest < StressCooldown {
					t.Errorf("got %+v, want none early, none overlapping, one at most, and no gap under %v", r, StressCooldown)
				}
			})
		}
	}
}

// The stress sees what it looks for: a breaker that admits every caller.
func TestStressSeesEarlyAndOverlappingProbes(t *testing.T) {
	var refusals atomic.Int64
	in := rival.Instance{
		Failure: func() bool { return refusals.Add(1) < 100 },
		Probe:   func(body func()) bool { body(); return true },
	}
	r, err := stress(in, 200*time.Millisecond, 50*time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	if r.Early == 0 || r.Overlapping == 0 || r.Worst < 2 || r.Shortest >= StressCooldown {
		t.Errorf("got %+v of a breaker without any limit", r)
	}
}
