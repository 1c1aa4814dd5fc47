package property

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
)

// countingClock counts its readings and settings of timers.
type countingClock struct {
	*clock.Manual
	readings atomic.Int64
}

func (c *countingClock) Now() time.Duration {
	c.readings.Add(1)
	return c.Manual.Now()
}

// entry is a way into the breaker and what it may cost.
type entry struct {
	name     string
	prepare  func(b *atomicbreaker.Breaker, c *countingClock)
	call     func(b *atomicbreaker.Breaker)
	readings int64 // of the clock
}

var errFailed = errors.New("failed")

func toHalfOpen(b *atomicbreaker.Breaker, c *countingClock) {
	b.Trip()
	c.Advance(time.Second)
}

func report(o atomicbreaker.Outcome) func(b *atomicbreaker.Breaker) {
	return func(b *atomicbreaker.Breaker) {
		if t, err := b.Acquire(); err == nil {
			t.Report(o)
		}
	}
}

func acquire(b *atomicbreaker.Breaker) { _, _ = b.Acquire() }

var entries = []entry{
	{"Ready, closed", nil, func(b *atomicbreaker.Breaker) { b.Ready() }, 0},
	{"Acquire and Done, closed", nil, func(b *atomicbreaker.Breaker) {
		if t, err := b.Acquire(); err == nil {
			t.Done(context.Background(), nil)
		}
	}, 0},
	{"Success, closed", nil, report(atomicbreaker.Success), 0},
	{"Ignored, closed", nil, report(atomicbreaker.Ignored), 0},
	{"Cancel, closed", nil, func(b *atomicbreaker.Breaker) {
		if t, err := b.Acquire(); err == nil {
			t.Cancel()
		}
	}, 0},
	{"failure and success, closed", nil, func(b *atomicbreaker.Breaker) {
		report(atomicbreaker.Failure)(b)
		report(atomicbreaker.Success)(b)
		report(atomicbreaker.Success)(b)
	}, 0},
	{"Do, closed", nil, func(b *atomicbreaker.Breaker) {
		_ = b.Do(context.Background(), func(context.Context) error { return nil })
	}, 0},
	{"Ready, open", func(b *atomicbreaker.Breaker, _ *countingClock) { b.Trip() }, func(b *atomicbreaker.Breaker) { b.Ready() }, 0},
	{"Acquire, open", func(b *atomicbreaker.Breaker, _ *countingClock) { b.Trip() }, acquire, 0},
	{"Acquire, forced open", func(b *atomicbreaker.Breaker, _ *countingClock) { b.SetMode(atomicbreaker.ForcedOpen) }, acquire, 0},
	{"Ready, half-open", toHalfOpen, func(b *atomicbreaker.Breaker) { b.Ready() }, 0},
	{"Acquire, no place", func(b *atomicbreaker.Breaker, c *countingClock) { toHalfOpen(b, c); acquire(b) }, acquire, 0},
	{"a probe that is ignored", toHalfOpen, report(atomicbreaker.Ignored), 4},
	{"a late outcome", func(b *atomicbreaker.Breaker, _ *countingClock) {}, func(b *atomicbreaker.Breaker) {
		t, _ := b.Acquire()
		b.Reset()
		t.Report(atomicbreaker.Failure)
	}, 2},
}

func TestNoAllocationAndNoClock(t *testing.T) {
	for _, e := range entries {
		t.Run(e.name, func(t *testing.T) {
			c := &countingClock{Manual: new(clock.Manual)}
			b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: c})
			report(atomicbreaker.Success)(b) // begins the window
			if e.prepare != nil {
				e.prepare(b, c)
			}
			const runs = 100
			before := c.readings.Load()
			allocs := testing.AllocsPerRun(runs, func() { e.call(b) })
			if allocs != 0 {
				t.Errorf("%v allocations", allocs)
			}
			if got := c.readings.Load() - before; got > e.readings*(runs+1) {
				t.Errorf("%d readings of the clock in %d calls, want at most %d each", got, runs+1, e.readings)
			}
		})
	}
}

// TestQuestionsChangeNothing: ten thousand questions of every kind, then
// silence, leave the next answers as they would have been.
func TestQuestionsChangeNothing(t *testing.T) {
	for name, prepare := range map[string]func(*atomicbreaker.Breaker, *countingClock){
		"closed":                   func(*atomicbreaker.Breaker, *countingClock) {},
		"open":                     func(b *atomicbreaker.Breaker, _ *countingClock) { b.Trip() },
		"half-open":                toHalfOpen,
		"half-open, probe is out":  func(b *atomicbreaker.Breaker, c *countingClock) { toHalfOpen(b, c); acquire(b) },
		"half-open, probe is back": func(b *atomicbreaker.Breaker, c *countingClock) { toHalfOpen(b, c); report(atomicbreaker.Success)(b) },
	} {
		t.Run(name, func(t *testing.T) {
			later := func(ask bool) (all []atomicbreaker.Snapshot) {
				c := &countingClock{Manual: new(clock.Manual)}
				b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: c, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}})
				prepare(b, c)
				for range 10_000 {
					if ask {
						b.Ready()
						_ = b.State()
						_ = b.RetryAfter()
						_ = b.Snapshot()
					}
				}
				for range 80 {
					c.Advance(500 * time.Millisecond)
					if ask {
						b.Ready()
					}
					all = append(all, b.Snapshot())
				}
				acquire(b)
				return append(all, b.Snapshot())
			}
			asked, silent := later(true), later(false)
			for i := range asked {
				if asked[i] != silent[i] {
					t.Fatalf("after %d half-seconds %+v, without questions %+v", i, asked[i], silent[i])
				}
			}
		})
	}
}

// TestDroppedBreakerIsCollected in every state, with its timer running.
func TestDroppedBreakerIsCollected(t *testing.T) {
	for name, prepare := range map[string]func(*atomicbreaker.Breaker){
		"closed":      func(b *atomicbreaker.Breaker) { report(atomicbreaker.Success)(b) },
		"open":        func(b *atomicbreaker.Breaker) { b.Trip() },
		"forced open": func(b *atomicbreaker.Breaker) { b.SetMode(atomicbreaker.ForcedOpen) },
	} {
		t.Run(name, func(t *testing.T) {
			dropped := func() weak.Pointer[atomicbreaker.Breaker] {
				b := atomicbreaker.MustNew(atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Hour, Max: time.Hour}})
				prepare(b)
				return weak.Make(b)
			}()
			for range 100 {
				runtime.GC()
				if dropped.Value() == nil {
					return
				}
				runtime.Gosched()
			}
			t.Error("a breaker that nobody holds is not collected")
		})
	}
}

// TestPanicAndGoexitSettleAsFailure in Do, in every form.
func TestPanicAndGoexitSettleAsFailure(t *testing.T) {
	ctx := context.Background()
	for name, end := range map[string]func(){"panic": func() { panic(errFailed) }, "Goexit": runtime.Goexit} {
		for form, do := range map[string]func(b *atomicbreaker.Breaker){
			"method": func(b *atomicbreaker.Breaker) {
				_ = b.Do(ctx, func(context.Context) error { end(); return nil })
			},
			"function": func(b *atomicbreaker.Breaker) {
				_, _ = atomicbreaker.Do(ctx, b, func(context.Context) (int, error) { end(); return 0, nil })
			},
		} {
			t.Run(name+" in "+form, func(t *testing.T) {
				c := new(clock.Manual)
				b := atomicbreaker.MustNew(atomicbreaker.Config{Clock: c, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}})
				run := func() any {
					done := make(chan any)
					go func() {
						defer func() { done <- recover() }()
						do(b)
					}()
					return <-done
				}
				for range 2 { // closed, then as a probe
					value := run()
					if (name == "panic") != (value == error(errFailed)) {
						t.Errorf("the caller got %v", value)
					}
					b.Trip()
					c.Advance(500 * time.Millisecond)
				}
				if s := b.Snapshot(); s.Failed != 2 || s.State != atomicbreaker.StateOpen && s.State != atomicbreaker.StateHalfOpen {
					t.Errorf("%d failures, want 2", s.Failed)
				}
			})
		}
	}
}
