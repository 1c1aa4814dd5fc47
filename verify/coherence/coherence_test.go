//go:build !interleave

package coherence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/verify/internal/overlay"
)

// bounds are what a path may cost at any number of processors, in the worst of the
// seeds. Up to 16 processors it costs nothing for most seeds. Beyond, some
// goroutines fall on one stripe however they are dealt: with 4 stripes for each
// processor, at 64, a fifth share one, and with 2 for each, at 128, two fifths;
// each of those makes at most about two transfers for a call.
//
// When calls fail there is more: two who share a stripe and fail one after the
// other look like a run of failures, which is written to the one word of the
// streak, which every call reads.
var bounds = map[string]struct{ transfers, queue float64 }{
	"refused":              {1, 16},
	"closed":               {1.2, 16},
	"closed-10pct-failing": {2, 100},
	"half-open-refused":    {1, 16},
}

// flat reports, as an error, where the cost grows with the processors beyond a
// path's bounds.
func flat(results []Result, impl string) error {
	var faults []error
	for _, r := range results {
		if r.Impl != impl {
			continue
		}
		if b := bounds[r.Path]; r.Transfers > b.transfers || r.Queue > b.queue {
			faults = append(faults, fmt.Errorf("%v: want at most %g and %g", r, b.transfers, b.queue))
		}
	}
	for _, path := range Paths {
		for _, line := range []int{64, 128} {
			for n := 1; n <= 16; n *= 2 {
				all := values(results, path, impl, line, n, func(r Result) float64 { return r.Transfers })
				if len(all) > 0 && all[len(all)/2] > 0.01 {
					faults = append(faults, fmt.Errorf("%s, %s: %.2f transfers for each call with %d processors and lines of %d, want none", path, impl, all[len(all)/2], n, line))
				}
			}
		}
	}
	return errors.Join(faults...)
}

// TestBreakerIsFlatToManyProcessors: and the same test says of what shares a line,
// a lock or a counter that it is not.
func TestBreakerIsFlatToManyProcessors(t *testing.T) {
	results, err := Run(context.Background(), Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if err := flat(results, "atomic"); err != nil {
		t.Error(err)
	}
	for _, path := range Paths {
		for _, impl := range Impls {
			t.Logf("simulated, transfers for each call: %s, %s: 2 processors %s, 128 processors %s", path, impl,
				cell(results, path, impl, 64, 2, func(r Result) float64 { return r.Transfers }),
				cell(results, path, impl, 64, 128, func(r Result) float64 { return r.Transfers }))
			if impl == "atomic" {
				continue
			}
			var of []Result
			for _, r := range results {
				if r.Path == path {
					of = append(of, r)
				}
			}
			if flat(of, impl) == nil {
				t.Errorf("%s, %s: seems flat; the test is blind", path, impl)
			}
			queue := func(n int) float64 {
				all := values(results, path, impl, 64, n, func(r Result) float64 { return r.Queue })
				return all[len(all)/2]
			}
			if queue(128) < 4*queue(2) || queue(2) <= queue(1) {
				t.Errorf("%s, %s: transfers of the hottest line with 1, 2 and 128 processors: %g, %g, %g, want them to grow",
					path, impl, queue(1), queue(2), queue(128))
			}
		}
	}
}

// TestSharingIsSeen: breakers that share what ours does not.
func TestSharingIsSeen(t *testing.T) {
	for name, x := range map[string]struct {
		path string
		edit overlay.Edit
	}{
		"a plain field beside the word is written by refusals": {"refused", overlay.Edit{
			File: "atomicbreaker/breaker.go",
			Old:  "		case w&(phaseMask|modeMask) == phaseOpen: // and Auto\n",
			New:  "		case w&(phaseMask|modeMask) == phaseOpen: // and Auto\n			b.madeAt = min(b.madeAt, never)\n",
		}},
		"every refusal is counted in one word": {"refused", overlay.Edit{
			File: "ring/stripe.go",
			Old:  "	if mask == 0 {\n",
			New:  "	if mask < 256 {\n",
		}},
		"every success writes to the streak": {"closed", overlay.Edit{
			File: "atomicbreaker/ticket.go",
			Old:  "		n := s.Peek(ring.Success) // [E1 observe]\n",
			New:  "		b.streak.v.CompareAndSwap(0, 0)\n		n := s.Peek(ring.Success) // [E1 observe]\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			results, err := Run(context.Background(), Choice{Paths: x.path, Impls: "atomic", Processors: 16}, x.edit)
			if err != nil {
				t.Fatal(err)
			}
			err = flat(results, "atomic")
			if err == nil {
				t.Fatal("not seen")
			}
			lines := strings.Split(err.Error(), "\n")
			t.Log("seen: ", lines[len(lines)-1])
		})
	}
}
