package drill

import (
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frametest"
)

// story is a drill as it would have gone, made by hand.
type story struct {
	*exercise
	config atomicbreaker.Config
	total  counts
	books  atomicbreaker.Snapshot
}

const (
	sClosed   = atomicbreaker.StateClosed
	sOpen     = atomicbreaker.StateOpen
	sHalfOpen = atomicbreaker.StateHalfOpen
)

func turned(at time.Duration, from, to atomicbreaker.State, c atomicbreaker.Counts) event {
	return event{At: at, transition: &atomicbreaker.Transition{From: from, To: to, Counts: c}}
}

// outageStory: 3 s of health, 4 s of death, back 2 s after the mend, and a
// breaker whose books balance.
func outageStory() *story {
	s := &story{exercise: &exercise{
		plan:   &plan{Rate: 100, Fault: dead, Healthy: 3 * time.Second, Outage: 4 * time.Second, After: 6 * time.Second, Timeout: time.Second},
		server: &faultyServer{}, wire: &wire{}, tally: newTally(), story: &timeline{}, broken: 3 * time.Second, mended: 7 * time.Second,
	}}
	s.story.events = []event{
		turned(3200*time.Millisecond, sClosed, sOpen, atomicbreaker.Counts{Calls: 320, Failures: 20}),
		turned(3700*time.Millisecond, sOpen, sHalfOpen, atomicbreaker.Counts{}),
		turned(3800*time.Millisecond, sHalfOpen, sOpen, atomicbreaker.Counts{Calls: 1, Failures: 1}),
		turned(7300*time.Millisecond, sOpen, sHalfOpen, atomicbreaker.Counts{}),
		turned(9*time.Second, sHalfOpen, sClosed, atomicbreaker.Counts{Calls: 100}),
	}
	s.total = counts{Sent: 1300, OK: 900, Failed: 21, Refused: 379}
	s.nearEnd = counts{Sent: 1200, OK: 800, Failed: 21, Refused: 379}
	s.wire.good.Store(900)
	s.wire.bad.Store(21)
	s.tally.byKind = [4]int{answered: 900, failed: 21, refusedOpen: 370, refusedHalfOpen: 9}
	s.books = atomicbreaker.Snapshot{Succeeded: 898, Failed: 20, Late: 3, RefusedOpen: 370, RefusedHalfOpen: 9, Opened: 2}
	return s
}

func (s *story) asFacts() facts {
	return facts{Plan: *s.plan, Total: s.total, Breaker: s.books, firstAnswer: s.mended + 300*time.Millisecond}
}

func (s *story) verdict() *frame.Report {
	r := frametest.Quiet()
	s.judge(r, rulesOf(s.config), s.asFacts())
	return r
}

func TestGoodStoryPasses(t *testing.T) {
	r := outageStory().verdict()
	if !r.Passed() {
		t.Errorf("checks %+v", r.Checks)
	}
	for name, want := range map[string]float64{
		"drill/opened": 20, "drill/failed_bound": 21, "drill/recovered_s": 2, "drill/refused_at_end": 0, "drill/false_openings": 0, "drill/conservation": 0,
	} {
		if got := frametest.Find(t, r, name); got.Value != want || got.Limit == nil {
			t.Errorf("%s: %+v, want value %v and a limit", name, got, want)
		}
	}
}

func TestEachFaultInTheStoryFailsItsVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(*story)
		failed string
	}{
		{"opened after too many failures", func(s *story) { s.story.events[0].transition.Counts.Failures = 500 }, "drill/opened"},
		{"never opened", func(s *story) { s.story.events = nil }, "drill/opened"},
		{"opened before the fault only", func(s *story) { s.story.events[0].At = time.Second }, "drill/opened"},
		{"tripped while all was well", func(s *story) { s.story.events[0].At = time.Second }, "drill/false_openings"},
		{"tripped again after it had closed", func(s *story) {
			s.story.events = append(s.story.events, turned(10*time.Second, sClosed, sOpen, atomicbreaker.Counts{}), turned(11*time.Second, sHalfOpen, sClosed, atomicbreaker.Counts{}))
		}, "drill/false_openings"},
		{"too many calls failed", func(s *story) { s.total.Failed = 200 }, "drill/failed_bound"},
		{"closed late", func(s *story) { s.story.events[4].At = 12 * time.Second }, "drill/recovered_s"},
		{"never closed", func(s *story) { s.story.events = s.story.events[:4] }, "drill/recovered_s"},
		{"refused a call at the end", func(s *story) { s.nearEnd.Refused-- }, "drill/refused_at_end"},
		{"lost a success", func(s *story) { s.books.Succeeded-- }, "drill/conservation"},
		{"counted a failure twice", func(s *story) { s.books.Failed++ }, "drill/conservation"},
		{"lost a refusal", func(s *story) { s.books.RefusedOpen-- }, "drill/conservation"},
		{"counted a refusal under the other kind", func(s *story) { s.books.RefusedOpen--; s.books.RefusedHalfOpen++ }, "drill/conservation"},
		{"counted successes as failures", func(s *story) { s.books.Succeeded -= 5; s.books.Failed += 5 }, "drill/conservation"},
		{"counted failures as successes", func(s *story) { s.books.Succeeded += 5; s.books.Failed -= 5 }, "drill/conservation"},
		{"ignored a call", func(s *story) { s.books.Succeeded--; s.books.Ignored++ }, "drill/conservation"},
	} {
		s := outageStory()
		c.spoil(s)
		if r := s.verdict(); frametest.Find(t, r, c.failed).Pass {
			t.Errorf("%s: %s passes: %+v", c.name, c.failed, frametest.Find(t, r, c.failed))
		}
	}
}

// TestStallsOfTheMachineExtendTheRecovery, once for each quiet time.
func TestStallsOfTheMachineExtendTheRecovery(t *testing.T) {
	limit := func(stalls ...time.Duration) float64 {
		s := outageStory()
		s.tally.watch(s.mended)
		for _, at := range stalls {
			s.tally.ended(answered, s.mended+at-stalled-1, s.mended+at, 0)
		}
		s.tally.ended(answered, s.mended+100*time.Millisecond, s.mended+100*time.Millisecond+stalled, 0) // just in time
		return *frametest.Find(t, s.verdict(), "drill/recovered_s").Limit
	}
	ms := time.Millisecond
	calm := limit()
	for want, stalls := range map[float64][]time.Duration{
		1: {500 * ms, 600 * ms, 999 * ms},
		2: {500 * ms, 1500 * ms, 2500 * ms}, // closed at 2 s
		0: {20 * ms},                        // due before the mend
	} {
		if got := limit(stalls...) - calm; got < want-0.001 || got > want+0.001 {
			t.Errorf("stalls at %v add %.3f s, want %v", stalls, got, want)
		}
	}
}

func TestRulesFollowTheDocumentedDefaults(t *testing.T) {
	r := rulesOf(atomicbreaker.Config{})
	for _, c := range []struct{ age, want time.Duration }{ // an eighth, between 0.5 s and 5 s, and a quarter of jitter
		{time.Second, 625 * time.Millisecond},
		{8 * time.Second, 1250 * time.Millisecond},
		{80 * time.Second, 6250 * time.Millisecond},
	} {
		if got := r.cooldown(c.age); got != c.want {
			t.Errorf("cooldown at age %v: %v, want %v", c.age, got, c.want)
		}
	}
	r = rulesOf(atomicbreaker.Config{ConsecutiveFailures: 7, Stripes: 1, Cooldown: atomicbreaker.Cooldown{Min: 20 * time.Second}, Recovery: atomicbreaker.Recovery{Quiet: 5 * time.Second}})
	if got := r.opening(&plan{Fault: dead}); got != 7 {
		t.Errorf("one stripe: opens after %v failures, want 7", got)
	}
	if r.cooldownMax != 20*time.Second || r.quiet != 5*time.Second {
		t.Errorf("rules %+v", r)
	}
}

func TestREADMEDocumentsEveryCheck(t *testing.T) {
	frametest.Documented(t, outageStory().verdict())
}
