package ring

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASweepThatIsOvertakenTakesNothingOutOfALaterWindow(t *testing.T) {
	for name, overtake := range map[string]func(r *Ring, e Epoch){
		"by the next bucket": func(r *Ring, e Epoch) { require.True(t, r.Advance(e, 7)) },
		"by a generation":    func(r *Ring, e Epoch) { require.True(t, r.Wake(e, 2, 3)) },
		"by Forget":          func(r *Ring, e Epoch) { r.Forget() },
		"by waking": func(r *Ring, e Epoch) {
			require.True(t, r.Sleep(e, 4))
			require.True(t, r.Wake(r.Epoch(), 1, 5))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Buckets: 4, MaxCount: 1 << 30, Stripes: 1})
			require.True(t, r.Wake(r.Epoch(), 1, 3))
			e := r.Epoch()
			overtake(r, e)
			_, ok := r.Add(r.Epoch(), Failure)
			require.True(t, ok)
			r.Sweep(e) // by one who read the epoch before all that
			require.Equal(t, uint64(1), r.Sum(r.Epoch())[Failure])
			require.Equal(t, uint64(1), r.Totals()[Failure])
		})
	}
}
