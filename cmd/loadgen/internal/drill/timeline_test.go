package drill

import "testing"

func TestBarShowsEveryKind(t *testing.T) {
	for _, c := range []struct {
		counts counts
		want   string
	}{
		{counts{}, ""},
		{counts{OK: 300}, "██████████████████████████████"},
		{counts{OK: 100, Failed: 1, Refused: 100}, "██████████x··········"},
		{counts{OK: 30_000}, "████████████████████████████████████████████████████████████"},
	} {
		if got := bar(c.counts, 300); got != c.want {
			t.Errorf("bar of %+v is %q, want %q", c.counts, got, c.want)
		}
	}
}
