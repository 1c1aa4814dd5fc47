package atomicbreaker

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// written is the algorithm as it is written down, one statement a line, with
// W in plain numbers. It has none of the packing, and no atomics.
type written struct {
	W, inf, cut   int
	alive         bool
	tally, credit int
	weight        int // T': what a success takes off the tally
	doubt         int // stays of this outage in which it answered and failed again
	top           int // in flight at the last cut at the door
	calls         int // since the last cut, of probes sent after it
	failures      int // of these
	closed, opens bool
}

// settle is what is written of one outcome; the ticket is of the current
// generation and was admitted beside others. slow: more than G times the fastest answer;
// held: and more than half of the callers' time; door: a failure quicker than any success; need: what was in
// flight in health at this latency.
func (s *written) settle(ticketCut int, o Outcome, a answer) {
	H := []int{5, 3, 2, 1}[s.doubt]
	used := s.inf
	s.inf--
	switch {
	case o == Ignored:
	case ticketCut != s.cut: // only the slot comes back
	case o == Success:
		s.alive = true
		s.tally = max(0, s.tally-s.weight)
		if 3*used >= s.W && !a.held {
			switch {
			case a.slow:
				s.credit++
			case s.cut == 0 && s.W < a.need:
				s.W += max(2, min(int(math.Sqrt(float64(a.need))), a.need-s.W))
			case s.cut == 0:
				s.W += 2
			case 8*s.W < 7*s.top:
				s.W++
			case 8*s.W <= 9*s.top:
				s.credit += 2
			default:
				s.credit += 8
			}
			s.W += s.credit / 64
			s.credit %= 64
		}
		if s.W > 16383 {
			s.closed = true
		}
	default:
		if !s.alive && s.cut == 0 {
			s.opens = true
			return
		}
		s.tally += 16 - s.weight
		if s.tally >= H*(16-s.weight) {
			s.tally, s.credit = 0, 0
			if !s.alive || s.W == 1 || a.others == 0 || s.cut > 0 && s.calls > 0 && 16*s.failures >= s.weight*s.calls {
				s.opens = true
				return
			}
			s.top, s.calls, s.failures = 0, 0, 0
			if s.W = min(s.W, a.others); a.door {
				s.top = a.others
				s.W = max(1, s.W*3/4)
			} else {
				s.W = max(1, s.W*5/8)
			}
			s.cut++
			if s.cut == 1<<16 {
				s.cut = 1 // 0 is skipped
			}
			s.alive = false
		}
	}
}

func TestJudgeIsTheWrittenAlgorithm(t *testing.T) {
	type load struct{ used, window, others int }
	var loads []load
	for _, window := range []int{1, 2, 3, 4, 5, 63, 64, 65, 16380, 16381, 16382, 16383} {
		for _, used := range []int{1, window/3 - 1, window / 3, window/3 + 1, window, window + 1} {
			for _, others := range []int{0, window / 2, window - 1, window + 1} {
				if used >= 1 && used <= maxInFlight {
					loads = append(loads, load{used, window, others})
				}
			}
		}
	}
	cases := 0
	weights := []int{1, 5, 8, 14, 15}
	for _, weight := range weights[:seeds(5)] {
		rule := recovery{weight: int16(weight)}
		for tally := range 5 * (16 - weight) {
			for _, credit := range []int{0, 7, 8, 55, 56, 63} {
				for _, cut := range []int{0, 1, 65535} {
					for _, alive := range []bool{false, true} {
						e := evidence{generation: 9, cut: uint16(cut), alive: alive, tally: uint8(tally), credit: uint8(credit)}
						for _, load := range loads {
							for _, a := range []answer{
								{}, {slow: true}, {slow: true, held: true}, {need: 3}, {need: 100}, {need: 10_000},
								{since: lull{top: 4}}, {since: lull{top: 63}}, {since: lull{top: 16_000}}, {failed: true}, {failed: true, door: true},
								{failed: true, since: lull{calls: 100, failures: 5}}, {failed: true, since: lull{calls: 100, failures: 100}},
							} {
								a.others = load.others
								e.doubt = uint8(cases % 4)
								want := written{W: load.window, inf: load.used, cut: cut, alive: alive, tally: tally, credit: credit, weight: weight,
									doubt: int(e.doubt), top: a.since.top, calls: int(a.since.calls), failures: int(a.since.failures)}
								o := Success
								if a.failed {
									o = Failure
								}
								want.settle(cut, o, a)
								if err := judgedAs(rule, e, load.used, load.window, a, want); err != nil {
									t.Fatalf("weight %d, %+v, %+v, %+v: %v", weight, e, load, a, err)
								}
								cases++
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

// judgedAs compares what the rule makes of an outcome with what is written.
func judgedAs(rule recovery, e evidence, used, window int, a answer, want written) error {
	next, does := rule.judge(e, used, window, a)
	w, stays := does.apply(pack(phaseHalfOpen, Auto, used, window, e.generation))
	switch {
	case want.opens:
		if stays || does.verdict != reopen {
			return fmt.Errorf("does not reopen")
		}
		return nil
	case want.closed:
		if stays || does.verdict == reopen {
			return fmt.Errorf("does not close at the limit of the window")
		}
		return nil
	case !stays:
		return fmt.Errorf("leaves half-open")
	}
	got := written{
		W: w.window(), inf: w.inFlight(), cut: int(next.cut), alive: next.alive,
		tally: int(next.tally), credit: int(next.credit), weight: want.weight,
		doubt: int(next.doubt), top: want.top, calls: want.calls, failures: want.failures,
	}
	if does.verdict == cut { // what the breaker notes then
		got.top, got.calls, got.failures = 0, 0, 0
		if does.door {
			got.top = does.others
		}
	}
	if got != want {
		return fmt.Errorf("is %+v, not %+v", got, want)
	}
	if again := evidenceOf(next.pack(), e.generation); again != next {
		return fmt.Errorf("does not fit its word: %+v comes back as %+v", next, again)
	}
	return nil
}

func TestWeightIsTheTripShareInSixteenths(t *testing.T) {
	for rate, want := range map[float64]int16{
		Off: 8, 0.5: 8, 1: 15, 0.01: 1, 1.0 / 32: 1, 0.09: 1, 0.1: 2, 0.3: 5, 0.6: 10, 0.9: 14, 0.95: 15, 1e-9: 1, 0.25: 4,
	} {
		c := Config{FailureRate: rate}.WithDefaults()
		require.Equal(t, want, newRecovery(c).weight, "rate %v", rate)
		if rate > 0 {
			require.Equal(t, min(max(int16(math.Round(16*rate)), 1), 15), newRecovery(c).weight, "rate %v", rate)
		}
	}
}

func TestEvidenceFitsItsWord(t *testing.T) {
	check := func(e evidence) {
		if got := evidenceOf(e.pack(), e.generation); got != e {
			t.Fatalf("%+v comes back as %+v", e, got)
		}
	}
	for _, generation := range boundaryGenerations {
		for cut := range 1 << 16 {
			check(evidence{generation: generation, cut: uint16(cut)})
			check(evidence{generation: generation, cut: uint16(cut), alive: true, tally: 127, credit: 63})
		}
		for tally := range uint8(128) {
			for credit := range uint8(64) {
				check(evidence{generation: generation, tally: tally, credit: credit})
				check(evidence{generation: generation, cut: 65535, alive: true, tally: tally, credit: credit})
			}
		}
		left := evidence{generation: generation, cut: 65535, alive: true, tally: 127, credit: 63}.pack()
		require.Equal(t, evidence{generation: generation + 1}, evidenceOf(left, generation+1), "an earlier generation's evidence counted")
	}
	require.Equal(t, evidence{}, evidenceOf(0, 0))
	require.Less(t, netFailures*(tallyOne-1), 1<<7, "the highest tally does not fit")
}

func TestTrialFitsItsWord(t *testing.T) {
	for succeeded := range uint16(1025) {
		for failed := range uint16(1025) {
			x := trial{generation: 3, succeeded: succeeded, failed: failed}
			if got := trialOf(x.pack(), 3); got != x {
				t.Fatalf("%+v comes back as %+v", x, got)
			}
		}
	}
	for _, generation := range boundaryGenerations {
		x := trial{generation, 65535, 65535}
		require.Equal(t, x, trialOf(x.pack(), generation))
		require.Equal(t, trial{generation: generation - 1}, trialOf(x.pack(), generation-1))
	}
}

// TestTrialDecidesOnTheVerdictThatDecides tries every configuration of the
// classic rule up to a size with every order of outcomes.
func TestTrialDecidesOnTheVerdictThatDecides(t *testing.T) {
	const most = 8
	for n := 1; n <= most; n++ {
		for k := 1; k <= n; k++ {
			for c := 1; c <= n; c++ {
				rule := recovery{probes: int16(n), successes: int16(k), concurrent: int16(c)}
				require.Equal(t, c, rule.firstWindow())
				for order := range 1 << n {
					oneTrial(t, rule, order)
				}
			}
		}
	}
	rule := newRecovery(Config{Recovery: Recovery{Probes: 1024}}.WithDefaults())
	require.Equal(t, 1024, rule.firstWindow())
	oneTrial(t, rule, 0)
}

// oneTrial settles probes one after the other; a bit of order is a failure.
func oneTrial(t *testing.T, rule recovery, order int) {
	t.Helper()
	n, k, c := int(rule.probes), int(rule.successes), int(rule.concurrent)
	var x trial
	w := pack(phaseHalfOpen, Auto, 0, rule.firstWindow(), 0)
	for settled := 1; ; settled++ {
		if left := n - settled + 1; w.window() != min(c, left) {
			t.Fatalf("%+v: %d in flight may be, with %d left to send", rule, w.window(), left)
		}
		w, _ = w.admit()
		failed := settled <= 62 && order>>(settled-1)&1 != 0
		var does effect
		x, does = rule.judgeTrial(x, failed)
		want := goOn
		switch {
		case int(x.succeeded) >= k:
			want = recovered
		case int(x.failed) > n-k:
			want = reopen
		}
		if does.verdict != want || int(x.succeeded+x.failed) != settled {
			t.Fatalf("%+v after %+v: %v, want %v", rule, x, does.verdict, want)
		}
		next, stays := does.apply(w)
		if stays != (want == goOn) {
			t.Fatalf("%+v after %+v: stays %t", rule, x, stays)
		}
		if !stays {
			return
		}
		w = next
		if settled >= n {
			t.Fatalf("%+v: undecided after all %d probes", rule, n)
		}
	}
}

func TestFirstGrowthTriplesAndLaterGrowthIsAnEighth(t *testing.T) {
	rule := recovery{weight: 8}
	e, w := evidence{}, pack(phaseHalfOpen, Auto, 0, 1, 0)
	roundTrip := func() int { // fills the window, then settles all
		for {
			next, ok := w.admit()
			if !ok {
				break
			}
			w = next
		}
		for w.inFlight() > 0 {
			var does effect
			e, does = rule.judge(e, w.inFlight(), w.window(), answer{})
			w, _ = does.apply(w)
		}
		return w.window()
	}
	// Growth stops in a round trip once less than a third of the window is in use.
	require.Equal(t, 3, roundTrip())
	before := 3
	for range 4 {
		got := roundTrip()
		require.Greater(t, got, before*3/2)
		require.LessOrEqual(t, got, before*3)
		before = got
	}
	for range netFailures {
		e, _ = rule.judge(e, 1, before, answer{failed: true, others: before})
	}
	require.Equal(t, uint16(1), e.cut)
	grown := roundTrip()
	require.Greater(t, grown, before)
	require.LessOrEqual(t, grown, before+before/8+1)
}

func TestSilenceWaitsForTheLongerOfQuietAndPace(t *testing.T) {
	require.EqualValues(t, 15, silence(5, 0, 10, 3))
	require.EqualValues(t, 15, silence(5, 3, 3, 10))
	require.EqualValues(t, 17, silence(5, 7, 3, 10), "the wait starts again when one was let in")
}
