package atomicbreaker_test

// The field_*_test.go files hold what went wrong in circuit breakers in the
// field, as laws that this one keeps. The comment of each test states the law
// and, after "Field:", the scenario and the public reports that it was learnt
// from. verify/SCENARIOS.md is the table of all scenarios; a test beside it
// compares the two.

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// streakConfig trips on three failures in a row, is open for 5 s and closes on
// the success of one probe, which has 2 s.
func streakConfig() ab.Config {
	return ab.Config{
		FailureRate:         ab.Off,
		ConsecutiveFailures: 3,
		Cooldown:            ab.Cooldown{Min: 5 * time.Second, Max: 5 * time.Second, Factor: 1, Jitter: ab.Off},
		Recovery:            ab.Recovery{Probes: 1, Successes: 1, Concurrent: 1, ProbeTimeout: 2 * time.Second},
	}
}

// rateConfig is streakConfig with another rule: half of at least ten calls
// within 10 s.
func rateConfig() ab.Config {
	c := streakConfig()
	c.FailureRate = 0.5
	c.MinimumCalls = 10
	c.Window = 10 * time.Second
	c.ConsecutiveFailures = ab.Off
	return c
}

// countingConfig never trips: for looking at the window.
func countingConfig(window time.Duration, buckets int) ab.Config {
	c := streakConfig()
	c.ConsecutiveFailures = 1_000_000
	c.Deadline, c.Patience = ab.Off, ab.Off // nothing but the window needs a timer
	c.Window, c.Buckets = window, buckets
	return c
}

// A patient is a breaker on a clock that stands at zero, and its story.
type patient struct {
	*ab.Breaker
	t     testing.TB
	clock *clock.Manual

	mu   sync.Mutex
	told []ab.Transition
}

// examine makes a breaker of c on a clock of its own.
func examine(t testing.TB, c ab.Config) *patient {
	t.Helper()
	return examineOn(t, new(clock.Manual), c)
}

func examineOn(t testing.TB, m *clock.Manual, c ab.Config) *patient {
	t.Helper()
	p := &patient{t: t, clock: m}
	if c.Clock == nil {
		c.Clock = m
	}
	c.OnTransition = ab.Transitions(p.note, c.OnTransition)
	b, err := ab.New(c)
	if err != nil {
		t.Fatal(err)
	}
	p.Breaker = b
	return p
}

func (p *patient) note(tr ab.Transition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, tr)
}

// events returns what has been announced.
func (p *patient) events() []ab.Transition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[:len(p.told):len(p.told)]
}

// seconds is an instant or a length to the nanosecond.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// at moves the clock on to an instant in seconds.
func (p *patient) at(s float64) { p.atInstant(seconds(s)) }

func (p *patient) atInstant(d time.Duration) {
	p.t.Helper()
	if now := p.clock.Now(); d < now {
		p.t.Fatalf("test goes back from %v to %v", now, d)
	}
	p.clock.Advance(d - p.clock.Now())
}

// acquire returns a ticket that must be given.
func (p *patient) acquire() *ab.Ticket {
	p.t.Helper()
	ticket, err := p.Acquire()
	if err != nil {
		p.t.Fatalf("at %v: refused with %v, want admitted", p.clock.Now(), err)
	}
	return &ticket
}

// refused makes a call that must be refused for the one reason given.
func (p *patient) refused(kind error) {
	p.t.Helper()
	_, err := p.Acquire()
	if err == nil {
		p.t.Fatalf("at %v: admitted, want refused with %q", p.clock.Now(), kind)
	}
	for _, other := range []error{ab.ErrOpen, ab.ErrProbeLimit, ab.ErrForced} {
		want := other == kind || kind == ab.ErrForced && other == ab.ErrOpen
		if errors.Is(err, other) != want {
			p.t.Fatalf("at %v: refused with %q, want %q", p.clock.Now(), err, kind)
		}
	}
	if !ab.IsRejected(err) {
		p.t.Fatalf("%v is not recognised as a refusal", err)
	}
}

// call makes calls that must be admitted, one after the other.
func (p *patient) call(outcomes ...ab.Outcome) {
	p.t.Helper()
	for _, o := range outcomes {
		p.acquire().Report(o)
	}
}

// calls makes n calls with the same outcome.
func (p *patient) calls(n int, o ab.Outcome) {
	p.t.Helper()
	for range n {
		p.call(o)
	}
}

// trip opens the breaker by failures.
func (p *patient) trip() {
	p.t.Helper()
	for n := 0; p.State() == ab.StateClosed; n++ {
		if n == 100 {
			p.t.Fatal("100 failures do not open the breaker")
		}
		p.call(ab.Failure)
	}
	p.is(ab.StateOpen)
}

// is demands a state of everything that tells one.
func (p *patient) is(want ab.State) {
	p.t.Helper()
	s := p.Snapshot()
	if got := p.State(); got != want || s.State != want {
		p.t.Fatalf("at %v: state is %v and %v in the snapshot, want %v", p.clock.Now(), got, s.State, want)
	}
	if told := p.events(); len(told) > 0 && told[len(told)-1].To != want {
		p.t.Fatalf("at %v: state is %v and the last event says %v", p.clock.Now(), want, told[len(told)-1].To)
	}
}

// story compares all events with a text such as "open(streak) half-open(cooldown)".
func (p *patient) story(want string) {
	p.t.Helper()
	var b strings.Builder
	for _, e := range p.events() {
		fmt.Fprintf(&b, " %v(%v)", e.To, e.Reason)
	}
	if got := strings.TrimSpace(b.String()); got != want {
		p.t.Fatalf("the story is %q, want %q", got, want)
	}
}

// rolling demands counts of the rolling window.
func (p *patient) rolling(calls, failures uint64) {
	p.t.Helper()
	want := ab.Counts{Calls: calls, Failures: failures}
	if got := p.Snapshot().Rolling; got != want {
		p.t.Fatalf("at %v: rolling window is %+v, want %+v", p.clock.Now(), got, want)
	}
}

// places demands probes in flight and the most that there may be.
func (p *patient) places(inFlight, window int) {
	p.t.Helper()
	if s := p.Snapshot(); s.ProbesInFlight != inFlight || s.ProbeWindow != window {
		p.t.Fatalf("at %v: %d of %d probes in flight, want %d of %d",
			p.clock.Now(), s.ProbesInFlight, s.ProbeWindow, inFlight, window)
	}
}

// settled are the totals that every ticket ends in.
type settled struct{ succeeded, failed, ignored, cancelled, late uint64 }

func settledOf(b *ab.Breaker) settled {
	s := b.Snapshot()
	return settled{s.Succeeded, s.Failed, s.Ignored, s.Cancelled, s.Late}
}

func (s settled) sum() uint64 { return s.succeeded + s.failed + s.ignored + s.cancelled + s.late }

func (p *patient) books(want settled) {
	p.t.Helper()
	if got := settledOf(p.Breaker); got != want {
		p.t.Fatalf("at %v: the books say %+v, want %+v", p.clock.Now(), got, want)
	}
}

// chained demands that events follow on each other: each begins where the one
// before ended, in a later generation.
func chained(t testing.TB, told []ab.Transition) {
	t.Helper()
	from, generation := ab.StateClosed, uint32(0)
	for i, e := range told {
		if e.From != from || e.To == e.From || e.Generation <= generation {
			t.Fatalf("event %d is %v to %v in generation %d, after %v in generation %d",
				i, e.From, e.To, e.Generation, from, generation)
		}
		from, generation = e.To, e.Generation
	}
}

// within fails the test if f does not return: a hang would otherwise last as
// long as the test binary may.
func within(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("hangs")
	}
}

// crowd runs f on n goroutines that start together and waits for them.
func crowd(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// wantFaults demands that a Config is refused, with every text in the error.
func wantFaults(t testing.TB, c ab.Config, texts ...string) {
	t.Helper()
	b, err := ab.New(c)
	if err == nil || b != nil {
		t.Fatalf("accepted, want an error with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %q, want %q in it", err, text)
		}
	}
}

// reduced reports whether to do less: the race detector, which is on, makes
// calls ten times slower, or a short test was asked for.
var reduced = sync.OnceValue(func() bool {
	info, _ := debug.ReadBuildInfo()
	return testing.Short() || info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
})
