package atomicbreaker

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atomicbreaker/breaker/clock"
)

// failing is what came of a dependency of which a share of the calls fails.
type failing struct {
	calls, admitted, openings int
}

// failInPart makes calls at a rate for a while to a dependency that answers after latency and fails
// a share of them: by chance, or in strict turn.
func failInPart(rate, share float64, latency, length time.Duration, turn bool, seed uint64) failing {
	manual := new(clock.Manual)
	random := rand.New(rand.NewPCG(seed, 7))
	var x failing
	b := MustNew(Config{Clock: manual, Rand: random.Float64, Deadline: time.Second, OnTransition: func(tr Transition) {
		if tr.To == StateOpen {
			x.openings++
		}
	}})
	debt := 0.0
	for manual.Now() < length {
		x.calls++
		if t, err := b.Acquire(); err == nil {
			x.admitted++
			o := Success
			switch {
			case turn:
				if debt += share; debt >= 1 {
					debt--
					o = Failure
				}
			case random.Float64() < share:
				o = Failure
			}
			manual.AfterFunc(latency, func() { t.Report(o) })
		}
		gap := time.Duration(float64(time.Second) / rate)
		if !turn {
			gap = time.Duration(random.ExpFloat64() * float64(gap))
		}
		manual.Advance(gap)
	}
	return x
}

// A dependency that fails in part is cut off like one that is dead, however quick its
// answers are: a probe window bounds calls in flight, and with answers of 1 ms one in flight is a
// thousand a second.
func TestPartOfTheCallsFailing(t *testing.T) {
	for share, most := range map[float64]float64{0.5: 0.2, 0.55: 0.2, 0.66: 0.1, 0.9: 0.06} {
		for _, latency := range []time.Duration{time.Millisecond, 50 * time.Millisecond} {
			for _, rate := range []float64{9, 100, 2000} {
				for _, turn := range []bool{false, true} {
					name := fmt.Sprintf("%g of the calls, %v, %g calls a second, in turn %v", share, latency, rate, turn)
					minute, length := failInPart(rate, share, latency, time.Minute, turn, 1), 4.0
					x := failInPart(rate, share, latency, time.Duration(length)*time.Minute, turn, 1)
					require.Less(t, float64(x.admitted), most*float64(x.calls), name)
					later := float64(x.openings-minute.openings) / (length - 1)
					require.LessOrEqual(t, later, 15.0, name)
				}
			}
		}
	}
}
