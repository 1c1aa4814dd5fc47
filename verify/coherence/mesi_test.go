package coherence

import "testing"

// TestMESI walks every pair of a line's states and accesses for two processors,
// by what each access costs.
func TestMESI(t *testing.T) {
	type access struct {
		core   int
		writes bool
		asks   bool
	}
	const r, w = false, true
	for name, all := range map[string][]access{
		"own reads and writes":          {{0, r, false}, {0, r, false}, {0, w, false}, {0, r, false}},
		"a write to what nobody holds":  {{0, w, false}, {0, w, false}},
		"a read of what was written":    {{0, w, false}, {1, r, true}, {1, r, false}, {0, r, false}},
		"a write of what was written":   {{0, w, false}, {1, w, true}, {1, w, false}, {0, w, true}},
		"a read of what was only read":  {{0, r, false}, {1, r, true}, {2, r, true}, {0, r, false}},
		"an upgrade drops all others":   {{0, r, false}, {1, r, true}, {127, r, true}, {1, w, true}, {1, w, false}, {127, r, true}, {0, r, true}},
		"a lone holder asks nobody":     {{0, r, false}, {0, w, false}, {1, r, true}, {0, w, true}, {0, w, false}},
		"what is shared is not written": {{64, w, false}, {1, r, true}, {64, w, true}},
	} {
		c := newCaches(6)
		want := uint64(0)
		for i, a := range all {
			c.access(a.core, 0x1000+8*uintptr(i%8), 8, a.writes)
			if a.asks {
				want++
			}
			if c.transfers != want || c.hottest() != want {
				t.Errorf("%s, access %d: %d transfers, %d of the hottest line, want %d", name, i, c.transfers, c.hottest(), want)
			}
		}
		c.forget()
		if c.transfers != 0 || c.hottest() != 0 {
			t.Errorf("%s: %d transfers after forgetting", name, c.transfers)
		}
	}
}

func TestAccessesTouchTheLinesTheyLieIn(t *testing.T) {
	for _, x := range []struct {
		shift         uint
		address, size uintptr
		lines         int
	}{{6, 0, 64, 1}, {6, 60, 8, 2}, {6, 63, 1, 1}, {6, 64, 129, 3}, {7, 64, 64, 1}, {7, 64, 65, 2}} {
		c := newCaches(x.shift)
		c.access(0, x.address, x.size, false)
		if len(c.lines) != x.lines {
			t.Errorf("%d bytes at %d lie in %d lines of %d, want %d", x.size, x.address, len(c.lines), 1<<x.shift, x.lines)
		}
	}
}
