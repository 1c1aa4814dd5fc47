package atomicbreaker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// fragile is a clock that panics, or ends the goroutine, at one of its uses.
type fragile struct {
	clock.Manual
	uses atomic.Int64 // left until it does; 0 is never
	end  func()
}

func (f *fragile) use() {
	if f.uses.Load() > 0 && f.uses.Add(-1) == 0 {
		f.end()
	}
}

func (f *fragile) Now() time.Duration { f.use(); return f.Manual.Now() }

func (f *fragile) AfterFunc(d time.Duration, call func()) clock.Timer {
	f.use()
	return &fragileTimer{f.Manual.AfterFunc(d, call), f}
}

type fragileTimer struct {
	clock.Timer
	f *fragile
}

// A timer that panics is contained: it is taken for one that is lost.
func (t *fragileTimer) Reset(d time.Duration) bool { t.fall(); return t.Timer.Reset(d) }
func (t *fragileTimer) Stop() bool                 { t.fall(); return t.Timer.Stop() }

func (t *fragileTimer) fall() {
	if t.f.uses.Load() > 0 {
		panic("timer")
	}
}

// returns runs f on a goroutine of its own and reports whether it returned.
func returns(f func()) (returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		f()
		returned = true
	}()
	<-done
	return returned
}

// G6. Whichever use of the clock or of the jitter source it is that does not
// return, the ticket is counted once, its place comes back, and the breaker
// goes on.
func TestClockThatPanicsLosesNoTicket(t *testing.T) {
	settle := map[string]func(*Ticket){
		"success": func(x *Ticket) { x.Done(context.Background(), nil) },
		"failure": func(x *Ticket) { x.Done(context.Background(), errFailed) },
		"after":   func(x *Ticket) { x.ReportAfter(Failure, time.Second) },
		"ignored": func(x *Ticket) { x.Report(Ignored) },
		"cancel":  func(x *Ticket) { x.Cancel() },
	}
	probe := func(b *Breaker, f *fragile) { b.Trip(); f.Advance(b.RetryAfter()) }
	hung := func(b *Breaker, f *fragile) { probe(b, f); _, _ = b.Acquire(); f.Advance(29 * time.Second) }
	for name, x := range map[string]struct {
		config  Config
		prepare func(*Breaker, *fragile)
		hung    int // probes that nobody settles
	}{
		"closed":       {Config{}, nil, 0},
		"timed":        {Config{SlowCallDuration: time.Second}, nil, 0},
		"trips":        {Config{ConsecutiveFailures: 1}, nil, 0},
		"last calls":   {Config{WindowCalls: 10, SlowCallDuration: time.Second}, nil, 0},
		"half-open":    {Config{}, probe, 0},
		"classic":      {Config{Recovery: Recovery{Probes: 1}}, probe, 0},
		"passes":       {Config{Mode: Shadow, SlowCallDuration: time.Second}, func(b *Breaker, _ *fragile) { b.Trip() }, 0},
		"probe beside": {Config{}, hung, 1},
	} {
		for how, settle := range settle {
			for end, f := range map[string]func(){"panic": func() { panic("clock") }, "Goexit": runtime.Goexit} {
				for use := int64(1); ; use++ {
					what := fmt.Sprintf("%s, %s: %s at use %d", name, how, end, use)
					manual := &fragile{end: f}
					c := x.config
					c.Clock, c.Rand = manual, func() float64 { manual.use(); return 0.5 }
					b := MustNew(c)
					if x.prepare != nil {
						x.prepare(b, manual)
					}
					manual.uses.Store(use)
					var got bool // a ticket
					var late time.Duration
					returned := returns(func() {
						ticket, err := b.Acquire()
						require.NoError(t, err, what)
						got = true
						late = manual.Manual.Now()
						settle(&ticket)
					})
					over := manual.uses.Swap(0) > 0 // the clock was not used so often
					require.Equal(t, over, returned, what)
					s := b.Snapshot()
					want := uint64(0)
					if got {
						want = 1
					}
					require.Equal(t, want, s.Succeeded+s.Failed+s.Ignored+s.Cancelled+s.Late, what)
					if s.State == StateHalfOpen {
						require.Equal(t, x.hung, s.ProbesInFlight, what)
					}
					require.GreaterOrEqual(t, manual.Manual.Now(), late)
					goesOn(t, b, manual, what)
					if over {
						break
					}
				}
			}
		}
	}
}

// goesOn fails if the breaker does not recover once calls succeed.
func goesOn(t *testing.T, b *Breaker, manual *fragile, what string) {
	t.Helper()
	for range 2 * lateEvery { // a timer may be lost: then one refusal in so many finds it out
		if ticket, err := b.Acquire(); err == nil {
			ticket.Report(Success)
		}
		manual.Advance(500 * time.Millisecond)
	}
	require.Equal(t, StateClosed, b.State(), what)
	b.Trip()
	require.Equal(t, StateOpen, b.State(), what)
	manual.Advance(10 * time.Second)
	require.Equal(t, StateHalfOpen, b.State(), "%s: its timer runs no more", what)
}

// A nil context settles the ticket of a failed call before it panics.
func TestDoneWithANilContext(t *testing.T) {
	for path, make := range paths {
		b := make(t, Config{})
		ticket := admitted(t, b)
		require.Equal(t, counted{"failed": 1}, delta(b, func() {
			require.PanicsWithValue(t, "atomicbreaker: Done with a nil context: pass the caller's context, or settle with Report", func() {
				//lint:ignore SA1012 that is what is tested
				ticket.Done(nil, errFailed)
			}, path)
		}))
		require.False(t, ticket.Cancel())
	}
	b, _ := made(t, Config{})
	require.Equal(t, counted{"succeeded": 1}, delta(b, func() {
		//lint:ignore SA1012 that is what is tested
		require.True(t, admitted(t, b).Done(nil, nil), "a success asks no context")
	}))
}

func TestDoWith(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	other, _ := opened(t, Config{Name: "other"})
	refusal := error(refused(t, other, ErrOpen))
	judge := func(status int, err error) Outcome {
		if err != nil || status >= 500 {
			return Failure
		}
		return Success
	}
	neverAsked := func(int, error) Outcome { t.Error("asked"); return Failure }
	classify := func(error) Outcome { t.Error("Classify was asked"); return Success }
	for path, make := range paths {
		t.Run(path, func(t *testing.T) {
			for name, x := range map[string]struct {
				judge  func(int, error) Outcome
				leaves bool
				status int
				err    error
				want   counted
			}{
				"good":                          {judge, false, 200, nil, counted{"succeeded": 1}},
				"bad without an error":          {judge, false, 503, nil, counted{"failed": 1}},
				"error":                         {judge, false, 0, errFailed, counted{"failed": 1}},
				"bad, to a caller who has left": {judge, true, 503, nil, counted{"failed": 1}},
				"error after leaving":           {neverAsked, true, 0, errFailed, counted{"ignored": 1, "local": 1}},
				"refused elsewhere":             {neverAsked, false, 0, refusal, counted{"ignored": 1}},
			} {
				b := make(t, Config{Classify: classify})
				ctx := &leaving{Context: t.Context()}
				require.Equal(t, x.want, delta(b, func() {
					status, err := DoWith(ctx, b, x.judge, func(got context.Context) (int, error) {
						require.True(t, got == context.Context(ctx), "the caller's own")
						ctx.left = x.leaves
						return x.status, x.err
					})
					require.Equal(t, []any{x.status, x.err}, []any{status, err})
				}), name)
			}
			for name, judge := range map[string]func(int, error) Outcome{
				"panics":  func(int, error) Outcome { panic("judge") },
				"exits":   func(int, error) Outcome { runtime.Goexit(); return Success },
				"unknown": func(int, error) Outcome { return 4 },
			} {
				b := make(t, Config{})
				require.Equal(t, counted{"failed": 1}, delta(b, func() {
					require.False(t, returns(func() {
						_, _ = DoWith(t.Context(), b, judge, func(context.Context) (int, error) { return 200, nil })
					}))
				}), name)
			}
			b := make(t, Config{})
			require.Equal(t, counted{"failed": 1}, delta(b, func() {
				require.PanicsWithValue(t, "f", func() {
					_, _ = DoWith(t.Context(), b, neverAsked, func(context.Context) (int, error) { panic("f") })
				})
			}))
			require.Equal(t, counted{}, delta(b, func() {
				_, err := DoWith(left, b, neverAsked, func(context.Context) (int, error) { t.Error("called"); return 0, nil })
				require.Equal(t, context.Canceled, err)
			}))
		})
	}
	_, err := DoWith(t.Context(), other, neverAsked, func(context.Context) (int, error) { t.Error("called"); return 0, nil })
	require.ErrorIs(t, err, ErrOpen)
	require.PanicsWithValue(t, "atomicbreaker: Do with a nil context or function", func() {
		_, _ = DoWith(t.Context(), other, nil, func(context.Context) (int, error) { return 0, nil })
	})
}

// leaving is a context that is cancelled when its owner says so.
type leaving struct {
	context.Context
	left bool
}

func (l *leaving) Err() error {
	if l.left {
		return context.Canceled
	}
	return nil
}

// A failover within an outer breaker: one backend refused, the other failed.
func TestFailoverWithinABreakerHidesNoFailure(t *testing.T) {
	first, _ := opened(t, Config{Name: "first"})
	outer, _ := made(t, Config{ConsecutiveFailures: 3})
	for range 3 {
		_ = outer.Do(t.Context(), func(ctx context.Context) error {
			refusal := first.Do(ctx, func(context.Context) error { return nil })
			return errors.Join(refusal, errFailed)
		})
	}
	require.Equal(t, StateOpen, outer.State())
}

// A jitter source that does not return on the timer's goroutine, here the one
// that advances the clock, stops neither the clock nor the breaker.
func TestJitterThatPanicsOnTheTimerStopsNothing(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("jitter") }, "Goexit": runtime.Goexit} {
		manual, faulty := &fragile{end: end}, false
		b := MustNew(Config{Clock: manual, Rand: func() float64 {
			if faulty {
				end()
			}
			return 0.5
		}})
		b.Trip()
		manual.Advance(b.RetryAfter())
		hung := admitted(t, b)
		faulty = true
		require.False(t, returns(func() { manual.Advance(31 * time.Second) }), "given up, and opened without its cooldown")
		faulty = false
		require.True(t, hung.Cancel())
		goesOn(t, b, manual, name)
	}
}
