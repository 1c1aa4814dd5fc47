package locked_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/bench/locked"
	"github.com/atomicbreaker/breaker/bench/lockstep"
	"github.com/atomicbreaker/breaker/clock"
)

func TestAnnouncesOneAtATimeInOrderWhateverListenersDo(t *testing.T) {
	var b atomic.Pointer[lockstep.Breaker]
	depth := 0
	listener := func(e atomicbreaker.Transition) {
		if depth++; depth > 1 {
			t.Error("a listener was called inside a listener")
		}
		defer func() { depth-- }()
		switch breaker := *b.Load(); e.Generation {
		case 1:
			breaker.Reset() // 2
			breaker.Trip()  // 3
			_ = breaker.Snapshot()
		case 2:
			panic("listener")
		case 3:
			breaker.Reset() // 4
		}
	}
	each(t, config{OnTransition: listener}, func(t *testing.T, r *rig) {
		b.Store(&r.Breaker)
		r.Trip()
		r.reasons(atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonResetCalled, atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonResetCalled)
		if s := r.Snapshot(); s.ListenerPanics != 1 || s.Generation != 4 {
			t.Errorf("%+v", s)
		}
		r.Trip()
		if len(r.events) != 5 {
			t.Errorf("%d events", len(r.events))
		}
	})
}

func TestListenerThatEndsItsGoroutineLosesNoAnnouncement(t *testing.T) {
	each(t, config{OnTransition: func(e atomicbreaker.Transition) {
		if e.Generation == 1 {
			runtime.Goexit()
		}
	}}, func(t *testing.T, r *rig) {
		var wg sync.WaitGroup
		wg.Go(r.Trip)
		wg.Wait()
		r.Reset()
		r.reasons(atomicbreaker.ReasonTripCalled, atomicbreaker.ReasonResetCalled)
	})
}

func TestQuestionsChangeNothing(t *testing.T) {
	for _, s := range []atomicbreaker.State{closed, open, halfOpen} {
		each(t, config{}, func(t *testing.T, r *rig) {
			if s != closed {
				r.Trip()
			}
			if s == halfOpen {
				r.clock.Advance(r.RetryAfter())
			}
			before, timers := r.Snapshot(), r.clock.Timers()
			for range 10000 {
				r.Ready()
				r.State()
				r.RetryAfter()
				r.Snapshot()
			}
			if after := r.Snapshot(); after != before || r.clock.Timers() != timers {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	}
}

func TestIdleBreakerOwnsNoRunningTimer(t *testing.T) {
	each(t, config{}, func(t *testing.T, r *rig) {
		idle := func() {
			t.Helper()
			if n := r.clock.Timers(); n != 0 {
				t.Errorf("%d timers", n)
			}
		}
		idle()
		r.succeed(1)
		r.clock.Advance(10 * time.Second)
		idle()
		r.probing()
		idle()
		r.clock.Advance(time.Hour)
		r.admit().Cancel() // took the last place: a tick has to clear the flag
		r.clock.Advance(time.Second)
		idle()
		r.fail(1)
		r.Reset()
		idle()
	})
}

// countingClock counts readings.
type countingClock struct {
	clock.Manual
	readings int
}

func (c *countingClock) Now() time.Duration { c.readings++; return c.Manual.Now() }

func TestClockIsNotReadByRefusalsNorByOrdinaryCalls(t *testing.T) {
	for _, kind := range []lockstep.Implementation{lockstep.Mutex(), lockstep.RWMutex()} {
		c := new(countingClock)
		b, err := kind.New(config{Clock: c, ConsecutiveFailures: off, FailureRate: 1})
		if err != nil {
			t.Fatal(err)
		}
		free := func(what string, f func()) {
			t.Helper()
			before := c.readings
			f()
			if c.readings != before {
				t.Errorf("%s, %s: %d readings", kind.Name, what, c.readings-before)
			}
		}
		call := func() {
			for _, err := range []error{nil, errBroken} {
				ticket, _ := b.Acquire()
				ticket.Done(context.Background(), err)
			}
		}
		refused := func() {
			if _, err := b.Acquire(); err == nil {
				t.Error("admitted")
			}
			b.Ready()
			b.State()
		}
		call() // wakes the rolling window
		free("closed", call)
		b.Trip()
		free("open", refused)
		c.Advance(b.RetryAfter())
		if _, err := b.Acquire(); err != nil {
			t.Fatal(err)
		}
		free("half-open", refused)
		b.SetMode(atomicbreaker.ForcedOpen)
		free("forced", refused)
	}
}

func returnNil(context.Context) error { return nil }

func TestCallsDoNotAllocate(t *testing.T) {
	mutex, _ := locked.NewMutex(config{FailureRate: 1, ConsecutiveFailures: off, SlowCallDuration: time.Hour})
	rw, _ := locked.NewRWMutex(config{FailureRate: 1, ConsecutiveFailures: off, SlowCallDuration: time.Hour})
	calls := map[string]func(){
		"mutex/Done":    func() { t, _ := mutex.Acquire(); t.Done(context.Background(), nil) },
		"mutex/fail":    func() { t, _ := mutex.Acquire(); t.Done(context.Background(), errBroken) },
		"mutex/Report":  func() { t, _ := mutex.Acquire(); t.Report(atomicbreaker.Ignored) },
		"mutex/Cancel":  func() { t, _ := mutex.Acquire(); t.Cancel() },
		"mutex/reads":   func() { mutex.Ready(); mutex.State(); mutex.Snapshot(); mutex.RetryAfter() },
		"mutex/Do":      func() { _ = mutex.Do(t.Context(), returnNil) },
		"rwmutex/Done":  func() { t, _ := rw.Acquire(); t.Done(context.Background(), nil) },
		"rwmutex/fail":  func() { t, _ := rw.Acquire(); t.Done(context.Background(), errBroken) },
		"rwmutex/reads": func() { rw.Ready(); rw.State(); rw.Snapshot(); rw.RetryAfter() },
		"rwmutex/Do":    func() { _ = rw.Do(t.Context(), returnNil) },
	}
	measure := func(state string, skip ...string) {
		for name, call := range calls {
			if n := testing.AllocsPerRun(100, call); n != 0 && !contains(skip, name) {
				t.Errorf("%s, %s: %v allocations", name, state, n)
			}
		}
	}
	calls["mutex/Done"]() // an outcome other than failure, so that nothing trips
	calls["rwmutex/Done"]()
	measure("closed")
	mutex.SetMode(atomicbreaker.ForcedOpen)
	rw.SetMode(atomicbreaker.ForcedOpen)
	measure("forced open")
	mutex.SetMode(atomicbreaker.Shadow)
	rw.SetMode(atomicbreaker.Shadow)
	measure("half-open", "mutex/Do", "rwmutex/Do") // a probe's context
	mutex.Trip()
	rw.Trip()
	measure("open, shadow")
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

// Once every ticket is settled, the five totals add up to the tickets handed
// out and the refusals to those received, and the announcements tell one story
// without a gap.
func TestBooksBalanceUnderConcurrency(t *testing.T) {
	each(t, config{Window: 10 * ms, Buckets: 5, Recovery: atomicbreaker.Recovery{Quiet: 2 * ms, ProbeTimeout: 5 * ms}}, func(t *testing.T, r *rig) {
		var tickets, refusals atomic.Uint64
		var callers, operator sync.WaitGroup
		for g := range 4 {
			callers.Go(func() {
				for i := range 3000 {
					ticket, err := r.Acquire()
					if err != nil {
						refusals.Add(1)
						if i%7 == 0 {
							runtime.Gosched()
						}
						continue
					}
					tickets.Add(1)
					runtime.Gosched()
					switch (i + g) % 16 {
					case 0:
						ticket.Cancel()
					case 1:
						ticket.Report(atomicbreaker.Ignored)
					case 2, 3:
						ticket.Done(context.Background(), errBroken)
					default:
						ticket.Done(context.Background(), nil)
					}
					ticket.Done(context.Background(), nil)
				}
			})
		}
		var stop atomic.Bool
		operator.Go(func() {
			for i := 0; !stop.Load(); i++ {
				r.clock.Advance(ms)
				switch i % 50 {
				case 10:
					r.Trip()
				case 30:
					r.Reset()
				case 40:
					r.SetMode(atomicbreaker.Mode(i / 50 % 4))
				}
				r.Snapshot()
				runtime.Gosched()
			}
		})
		callers.Wait()
		stop.Store(true)
		operator.Wait()
		s := r.Snapshot()
		if got := s.Succeeded + s.Failed + s.Ignored + s.Cancelled + s.Late; got != tickets.Load() {
			t.Errorf("%d tickets settled of %d: %+v", got, tickets.Load(), s)
		}
		if got := s.Refused(); got != refusals.Load() {
			t.Errorf("%d refusals counted of %d: %+v", got, refusals.Load(), s)
		}
		state := closed
		for _, e := range r.events {
			if e.From != state {
				t.Fatalf("%+v does not follow %v", e, state)
			}
			state = e.To
		}
		if state != s.State {
			t.Errorf("announced %v, is %v", state, s.State)
		}
	})
}

func TestBreakerThatNobodyHoldsIsCollected(t *testing.T) {
	c := clock.System()
	b, err := locked.NewMutex(config{Clock: c, Cooldown: atomicbreaker.Cooldown{Min: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	b.Trip() // its timer runs for an hour
	w := weak.Make(b)
	b = nil
	for range 10 {
		runtime.GC()
		if w.Value() == nil {
			return
		}
	}
	t.Error("the timer keeps the breaker alive")
}

func TestBadConfigurationIsTheErrorOfValidate(t *testing.T) {
	c := config{Buckets: -3, MinimumCalls: -1}
	want := c.Validate()
	for _, kind := range []lockstep.Implementation{lockstep.Mutex(), lockstep.RWMutex()} {
		if _, err := kind.New(c); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", kind.Name, err, want)
		}
	}
}

func TestRWMutexCountsRefusalsOfBothLocks(t *testing.T) {
	c := new(clock.Manual)
	b, err := locked.NewRWMutex(config{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	b.Trip()
	c.Advance(b.RetryAfter())
	first, _ := b.Acquire()
	first.Done(context.Background(), nil)
	var probes [3]locked.RWMutexTicket
	for i := range probes {
		probes[i], _ = b.Acquire()
	}
	c.Advance(100 * ms)
	for range 5 {
		if _, err := b.Acquire(); !errors.Is(err, atomicbreaker.ErrProbeLimit) {
			t.Error(err)
		}
		c.Advance(180 * ms) // across a tick, after which a refusal has to set the flag
	}
	if s := b.Snapshot(); s.RefusedHalfOpen != 5 {
		t.Errorf("%+v", s)
	}
}
