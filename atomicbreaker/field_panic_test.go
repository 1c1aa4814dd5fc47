package atomicbreaker_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	ab "github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// A panic in the user's rule or classifier goes on to the caller, after the
// ticket was settled as a failure: no place is kept, and later calls are as
// ever. The rule's answer is then no.
//
// Field: S135, 1mb-dev/autobreaker commits 06d01c4, 282a003 (2026-01-23).
func TestFieldPanicInTheUsersRule(t *testing.T) {
	faulty := true
	bad := errors.New("bad")
	trouble := func() {
		if faulty {
			panic("user's trouble")
		}
	}
	c := streakConfig()
	c.ConsecutiveFailures = 4
	c.ReadyToTrip = func(ab.Counts) bool { trouble(); return true }
	p := examine(t, c)
	for range 3 {
		if got := panicOf(func() { p.call(ab.Failure) }); got != "user's trouble" {
			t.Fatalf("the caller saw %v, want the rule's panic", got)
		}
		p.is(ab.StateClosed)
	}
	p.books(settled{failed: 3})
	faulty = false
	p.call(ab.Success)
	p.call(ab.Failure)
	p.story("open(ready-to-trip)")

	for name, settle := range map[string]func(p *patient){
		"Done": func(p *patient) { p.acquire().Done(context.Background(), bad) },
		"Do":   func(p *patient) { p.Do(t.Context(), func(context.Context) error { return bad }) },
	} {
		c := streakConfig()
		c.Classify = func(error) ab.Outcome { trouble(); return ab.Failure }
		p := examine(t, c)
		faulty = true
		for range 3 {
			if got := panicOf(func() { settle(p) }); got != "user's trouble" {
				t.Fatalf("%s: the caller saw %v, want the classifier's panic", name, got)
			}
		}
		p.is(ab.StateOpen)
		p.at(5)
		panicOf(func() { settle(p) })
		p.is(ab.StateOpen) // the probe failed
		faulty = false
		p.at(10)
		p.call(ab.Success)
		p.is(ab.StateClosed)
	}
}

// moody is a clock that can be made to panic.
type moody struct {
	clock.Manual
	faulty bool
}

func (m *moody) Now() time.Duration {
	if m.faulty {
		panic("clock's trouble")
	}
	return m.Manual.Now()
}

// A clock that panics costs the call that reads it, which is a Failure in the
// totals. A probe's place comes back.
//
// Field: S135, 1mb-dev/autobreaker commits 06d01c4, 282a003 (2026-01-23).
func TestFieldPanicInTheClock(t *testing.T) {
	m := new(moody)
	c := streakConfig()
	c.Clock = m
	p := examineOn(t, &m.Manual, c)
	faulty := func(f func()) {
		t.Helper()
		m.faulty = true
		defer func() { m.faulty = false }()
		if panicOf(f) == nil {
			t.Error("the clock was not read")
		}
	}
	faulty(func() { p.call(ab.Failure) }) // the first outcome after idleness reads it
	p.trip()
	p.at(5)
	faulty(func() { p.Acquire() })
	p.places(0, 1)
	probe := p.acquire()
	faulty(func() { probe.Report(ab.Success) })
	p.places(0, 1)
	probe = p.acquire()
	faulty(func() { probe.Cancel() })
	p.places(0, 1)
	p.is(ab.StateHalfOpen)
	p.call(ab.Success)
	p.is(ab.StateClosed)
	p.books(settled{succeeded: 1, failed: 6})
}

// A panic in one listener does not keep the others from being told, nor the
// breaker from going on. It is counted.
//
// Field: S137, cep21/circuit#159 (2026-08-18).
func TestFieldPanicInAListener(t *testing.T) {
	var second []ab.State
	c := streakConfig()
	c.OnTransition = ab.Transitions(
		func(tr ab.Transition) {
			if tr.To == ab.StateOpen {
				panic("listener's trouble")
			}
		},
		func(tr ab.Transition) { second = append(second, tr.To) },
	)
	p := examine(t, c)
	p.trip()
	p.at(5)
	p.call(ab.Failure)
	p.at(10)
	p.call(ab.Success)
	p.story("open(streak) half-open(cooldown) open(probe-failed) half-open(cooldown) closed(recovered)")
	if len(second) != 5 {
		t.Errorf("the second listener heard of %v, want five changes", second)
	}
	if got := p.Snapshot().ListenerPanics; got != 2 {
		t.Errorf("%d panics counted, want 2", got)
	}
}

// A call that panics or ends its goroutine is a failure, and its caller sees
// its own panic.
//
// Field: S139, sony/gobreaker behaviour (test change #110); exaring/hoglet commit 0cbe028
// (2023-03-15).
func TestFieldPanickingCallsTrip(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := examine(t, streakConfig())
	for i := range 3 {
		p.is(ab.StateClosed)
		got := panicOf(func() {
			p.Do(cancelled, func(context.Context) error {
				if i == 2 {
					cancel() // a caller who leaves does not excuse it
				}
				panic(i)
			})
		})
		if got != i {
			t.Errorf("caller %d saw the panic %v", i, got)
		}
	}
	p.is(ab.StateOpen)

	p = examine(t, streakConfig())
	for range 3 {
		crowd(1, func(int) {
			ab.Do(t.Context(), p.Breaker, func(context.Context) (int, error) {
				runtime.Goexit()
				return 0, nil
			})
		})
	}
	p.is(ab.StateOpen)
	p.books(settled{failed: 3})
}
