package atomicbreaker

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/atomicbreaker/breaker/ring"
	"github.com/stretchr/testify/require"
)

// A litmus test is a tiny program of two goroutines, run many times, with a
// list of the outcomes that it may have. An outcome that is not on the list
// fails the test; one that is on the list and was never seen is logged.
//
// There is one for each edge in the code: search for its tag, [E1] and so on.
// Each is run as the code is, and once more with the order of one side turned
// round, which must show what is forbidden: else the test could not see it.
// The turned side stops between its two steps, and the other comes in between.
type litmus struct {
	allowed []string
	// prepare makes what a round works on and returns its two goroutines and
	// how it came out. If stop is not nil the second one is to be turned, and
	// to call it between its steps.
	prepare func(stop func()) (first, second func(), outcome func() string)
}

var litmusRounds = int(500 + seeds(2500))

func (l litmus) run(t *testing.T) {
	t.Helper()
	seen := make(map[string]int)
	for round := range litmusRounds {
		first, second, outcome := l.prepare(nil)
		race(round, first, second)
		o := outcome()
		if seen[o]++; !slices.Contains(l.allowed, o) {
			t.Fatalf("forbidden: %s", o)
		}
	}
	for _, outcome := range l.allowed {
		if seen[outcome] == 0 {
			t.Logf("allowed and never seen in %d rounds: %s", litmusRounds, outcome)
		}
	}

	var once sync.Once
	reached, done := make(chan struct{}), make(chan struct{})
	first, second, outcome := l.prepare(func() {
		once.Do(func() { close(reached); <-done })
	})
	var both sync.WaitGroup
	both.Go(second)
	<-reached
	first()
	close(done)
	both.Wait()
	require.NotContains(t, l.allowed, outcome(), "the wrong order shows nothing forbidden: the test is blind")
}

// race starts two goroutines at once, one or the other a little later from
// round to round.
func race(round int, goroutines ...func()) {
	var start atomic.Int64
	var done sync.WaitGroup
	for i, f := range goroutines {
		done.Go(func() {
			start.Add(1)
			for start.Load() < int64(len(goroutines)) {
				runtime.Gosched()
			}
			if delay := round % 64; round/64%len(goroutines) == i {
				for range delay * 8 {
					start.Load()
				}
			}
			f()
		})
	}
	done.Wait()
}

// E1: who records reads the cell and then the word. One who is overtaken by a
// generation counts nothing in its window and does not erase it.
func TestLitmusE1Window(t *testing.T) {
	litmus{
		allowed: []string{"late", "counted before the Reset"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, _ := made(t, Config{})
			calls(t, b, 1, Failure)
			old := admitted(t, b)
			first = func() { b.Reset(); calls(t, b, 1, Failure) }
			second = func() { old.Report(Failure) }
			if stop != nil {
				second = func() { recordWordFirst(b, old, stop) }
			}
			return first, second, func() string { return windowOfReset(b, Counts{Calls: 1, Failures: 1}) }
		},
	}.run(t)
}

func windowOfReset(b *Breaker, want Counts) string {
	switch s := b.Snapshot(); {
	case s.Rolling != want:
		return "the window of the new generation is not its own"
	case s.Late == 1:
		return "late"
	case s.Succeeded+s.Failed == 3:
		return "counted before the Reset"
	}
	return "nowhere"
}

// recordWordFirst is count with its two reads turned round.
func recordWordFirst(b *Breaker, ticket *Ticket, stop func()) {
	gen := ticket.claim.generation()
	for {
		if b.load().generation() != gen {
			b.ring.Count(countLate)
			return
		}
		stop()
		s := b.ring.Pick()
		n := s.Peek(ring.Failure)
		if ring.Live(n, gen) && s.Hit(ring.Failure, n) || s.Take(ring.Failure, n, gen) {
			return
		}
	}
}

// E1, of the last calls.
func TestLitmusE1Last(t *testing.T) {
	litmus{
		allowed: []string{"late", "counted before the Reset"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, _ := made(t, Config{WindowCalls: 8})
			calls(t, b, 1, Success)
			old := admitted(t, b)
			first = func() { b.Reset(); calls(t, b, 1, Success) }
			second = func() { old.Report(Failure) }
			if stop != nil {
				second = func() { recordLastWordFirst(b, old, stop) }
			}
			return first, second, func() string { return windowOfReset(b, Counts{Calls: 1}) }
		},
	}.run(t)
}

// recordLastWordFirst is countLast with its two reads turned round.
func recordLastWordFirst(b *Breaker, ticket *Ticket, stop func()) {
	gen := ticket.claim.generation()
	for {
		if b.load().generation() != gen {
			b.ring.Count(countLate)
			return
		}
		stop()
		h := b.last.Head()
		if !b.last.Live(h, gen) {
			b.last.Begin(h, gen)
			continue
		}
		if _, _, ok := b.last.Add(h, true, false); ok {
			b.ring.AddTotal(ring.Failure)
			return
		}
	}
}

// E2: an opening is published before the word shows it.
func TestLitmusE2Opening(t *testing.T) {
	manual := new(clock.Manual)
	litmus{
		allowed: []string{"not yet open", "open with its own end"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b := madeOn(t, Config{Clock: manual})
			b.Trip() // an outage of before, which has an end too
			b.Reset()
			manual.Advance(time.Hour)
			want := manual.Now() + 500*time.Millisecond
			saw := "not yet open"
			first = func() {
				for range 20 {
					w := b.load()
					if w.phase() != phaseOpen {
						continue
					}
					saw = "open with its own end"
					if end, ok := b.cooldownEnd(w); !ok || end != want {
						saw = "open with another end"
					}
					return
				}
			}
			second = b.Trip
			if stop != nil {
				second = func() {
					cool, wait, w := b.cool.v.Load(), b.wait.v.Load(), b.load()
					b.begin(w, w.to(phaseOpen, 0), ReasonTripCalled, manual.Now())
					stop()
					b.publishOpening(w, w.generation()+1, manual.Now(), cool, wait, &jitter{b: b}, 0)
				}
			}
			return first, second, func() string { return saw }
		},
	}.run(t)
}

// E3: a kick that comes while the worker works is not lost.
func TestLitmusE3Worker(t *testing.T) {
	litmus{
		allowed: []string{"the timer is set"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, manual := made(t, unwatched(Config{}))
			b.kick() // there is nothing to do: the worker is about to stop the timer
			second = func() { manual.Advance(0) }
			if stop != nil {
				second = func() {
					at := b.tick()
					stop()
					b.arm(at)
				}
			}
			return b.Trip, second, func() string {
				if manual.Timers() == 0 {
					return "open, and no timer is set"
				}
				return "the timer is set"
			}
		},
	}.run(t)
}

// E9: the worker says that nobody looks at the samples, then looks at the word
// once more; who takes a sample changes the word, then looks whether it says so.
func TestLitmusE9Samples(t *testing.T) {
	litmus{
		allowed: []string{"somebody looks"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, manual := made(t, Config{})
			calls(t, b, 1, Success)
			manual.Advance(longestTick) // the samples are allowed, and nobody has taken one since
			manual.Advance(longestTick)
			s, kicks := b.sampler.Load(), b.kicks.Load()
			var out *Ticket
			first = func() { out = admitted(t, b) }
			second = func() { b.watchClosed(b.load(), manual.Now()) }
			if stop != nil {
				second = func() {
					w := b.load()
					s.next = manual.Now()
					quiet := w.samples() == samplesPerTick && !s.out()
					stop()
					s.asleep.Store(quiet)
				}
			}
			s.asleep.Store(false)
			return first, second, func() string {
				defer out.Cancel()
				if s.asleep.Load() && b.kicks.Load() == kicks {
					return "a sample is out, and nobody looks"
				}
				return "somebody looks"
			}
		},
	}.run(t)
}

// E4: who settles a probe reads the evidence and then the word.
func TestLitmusE4Evidence(t *testing.T) {
	litmus{
		allowed: []string{"late", "judged before the Trip"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, manual := halfOpened(t, Config{Recovery: Recovery{Probes: 3, Successes: 3}})
			old := admitted(t, b)
			first = func() { // another episode, and a verdict in it
				b.Trip()
				manual.Advance(b.RetryAfter())
				calls(t, b, 1, Success)
			}
			second = func() { old.Report(Success) }
			if stop != nil {
				second = func() {
					gen := old.claim.generation()
					require.Equal(t, gen, b.load().generation())
					stop()
					before := b.evidence.Load()
					x, _ := b.cfg().recovery.judgeTrial(trialOf(before, gen), false)
					b.evidence.CompareAndSwap(before, x.pack())
				}
			}
			return first, second, func() string {
				s := b.Snapshot()
				x := trialOf(b.evidence.Load(), s.Generation)
				switch {
				case s.State != StateHalfOpen || s.Generation != 4:
					return "another state"
				case x.succeeded != 1 || x.failed != 0:
					return "the evidence of the new episode is not its own"
				case s.Late == 1:
					return "late"
				}
				return "judged before the Trip"
			}
		},
	}.run(t)
}

// E5: the admission that finds nobody in flight writes its instant before the
// word; who looks for silence reads the word before the instant.
func TestLitmusE5Silence(t *testing.T) {
	litmus{
		allowed: []string{"the probe is in flight"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, manual := halfOpened(t, Config{})
			manual.Advance(time.Hour) // of idleness: no silence of a probe
			first = func() { admitted(t, b) }
			second = func() {
				for range 5 {
					b.giveUp(manual.Now())
				}
			}
			if stop != nil {
				second = func() {
					since := b.silentSince(b.load())
					stop()
					w := b.load()
					if w.inFlight() > 0 && manual.Now()-since >= b.cfg().Recovery.ProbeTimeout {
						b.begin(w, w.to(phaseOpen, 0), ReasonTripCalled, manual.Now())
					}
				}
			}
			return first, second, func() string {
				if b.State() != StateHalfOpen {
					return "a new probe was given up"
				}
				return "the probe is in flight"
			}
		},
	}.run(t)
}

// E7: a note hangs before the baton is asked for; who tells looks at the notes
// before dropping the baton.
func TestLitmusE7Announcements(t *testing.T) {
	litmus{
		allowed: []string{"both told"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			var told atomic.Int64
			b, _ := made(t, Config{OnTransition: func(Transition) { told.Add(1) }})
			change := func(gen uint32) func() {
				return func() {
					b.hang(false, Transition{Generation: gen})
					b.tellAll()
				}
			}
			second = change(1)
			if stop != nil {
				second = func() {
					b.hang(false, Transition{Generation: 1})
					b.telling.take()
					b.telling.look()
					b.notes.Store(nil) // told
					told.Add(1)
					b.next++
					stop()
					b.telling.v.Store(batonFree) // whoever has asked
				}
			}
			return change(2), second, func() string {
				if told.Load() != 2 {
					return "a change was never told"
				}
				return "both told"
			}
		},
	}.run(t)
}

// The word: an admission that reads the state from one word and counts its
// probes in another sends two.
func TestLitmusAdmission(t *testing.T) {
	litmus{
		allowed: []string{"one probe"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, _ := halfOpened(t, Config{})
			var sent atomic.Int64
			acquire := func() {
				if _, err := b.Acquire(); err == nil {
					sent.Add(1)
				}
			}
			second = acquire
			if stop != nil {
				second = func() {
					if w := b.load(); w.inFlight() < w.window() {
						stop()
						b.word.Add(1 << inFlightShift)
						sent.Add(1)
					}
				}
			}
			return acquire, second, func() string {
				if sent.Load() != 1 {
					return "two probes"
				}
				return "one probe"
			}
		},
	}.run(t)
}

// The ticket: two who settle at once.
func TestLitmusSettling(t *testing.T) {
	litmus{
		allowed: []string{"the success", "the failure"},
		prepare: func(stop func()) (first, second func(), outcome func() string) {
			b, _ := made(t, Config{})
			ticket := admitted(t, b)
			first = func() { ticket.Report(Success) }
			second = func() { ticket.Report(Failure) }
			if stop != nil {
				second = func() {
					if ticket.settled.Load() == 0 {
						stop()
						ticket.settled.Store(1)
						ticket.settle(Failure, 0)
					}
				}
			}
			return first, second, func() string {
				switch s := b.Snapshot(); {
				case s.Succeeded+s.Failed != 1:
					return "both"
				case s.Succeeded == 1:
					return "the success"
				}
				return "the failure"
			}
		},
	}.run(t)
}

// TestEveryEdgeHasALitmusTest reads the tags out of the code.
func TestEveryEdgeHasALitmusTest(t *testing.T) {
	tested := tagsIn(t, ".", "func TestLitmusE", true)
	for tag := range tagsIn(t, "../ring", "func TestLitmusE", true) {
		tested[tag] = true
	}
	for _, dir := range []string{".", "../ring"} {
		for tag := range tagsIn(t, dir, "[E", false) {
			require.True(t, tested[tag], "edge E%s has no litmus test", tag)
		}
	}
	require.GreaterOrEqual(t, len(tested), 8)
}
