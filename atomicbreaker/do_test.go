package atomicbreaker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// doers are the two forms of Do.
var doers = map[string]func(ctx context.Context, b *Breaker, f func(context.Context) error) error{
	"method": func(ctx context.Context, b *Breaker, f func(context.Context) error) error { return b.Do(ctx, f) },
	"function": func(ctx context.Context, b *Breaker, f func(context.Context) error) error {
		_, err := Do(ctx, b, func(ctx context.Context) (string, error) { return "", f(ctx) })
		return err
	},
}

// paths are breakers in which Do takes different ways.
var paths = map[string]func(t testing.TB, c Config) *Breaker{
	"closed": func(t testing.TB, c Config) *Breaker { b, _ := made(t, c); return b },
	"timed": func(t testing.TB, c Config) *Breaker {
		c.SlowCallDuration = time.Hour
		b, _ := made(t, c)
		return b
	},
	"last": func(t testing.TB, c Config) *Breaker { c.WindowCalls = 10; b, _ := made(t, c); return b },
	"probe": func(t testing.TB, c Config) *Breaker {
		c.Recovery = Recovery{Probes: 100, Successes: 50}
		b, manual := made(t, c)
		b.Trip()
		manual.Advance(b.RetryAfter())
		return b
	},
	"probe in shadow": func(t testing.TB, c Config) *Breaker {
		c.Mode = Shadow
		b, manual := made(t, c)
		b.Trip()
		manual.Advance(b.RetryAfter())
		require.Equal(t, StateHalfOpen, b.State())
		return b
	},
	"shadow": func(t testing.TB, c Config) *Breaker {
		c.Mode = Shadow
		b, _ := made(t, c)
		b.Trip()
		return b
	},
}

// eachDo runs f for both forms and all paths.
func eachDo(t *testing.T, c Config, f func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error)) {
	for form, do := range doers {
		for path, make := range paths {
			t.Run(form+"/"+path, func(t *testing.T) {
				b := make(t, c)
				f(t, b, func(ctx context.Context, call func(context.Context) error) error { return do(ctx, b, call) })
			})
		}
	}
}

// delta is what one call did to the counters.
func delta(b *Breaker, f func()) map[string]uint64 {
	x := b.Snapshot()
	f()
	y := b.Snapshot()
	d := make(map[string]uint64)
	for name, n := range map[string]uint64{
		"succeeded": y.Succeeded - x.Succeeded, "failed": y.Failed - x.Failed, "ignored": y.Ignored - x.Ignored,
		"cancelled": y.Cancelled - x.Cancelled, "late": y.Late - x.Late, "local": y.Local - x.Local, "refused": y.Refused() - x.Refused(), "slow": y.Slow - x.Slow,
	} {
		if n != 0 {
			d[name] = n
		}
	}
	return d
}

type counted = map[string]uint64

func TestDoSettlesByTheErrorOfTheFunction(t *testing.T) {
	inner, _ := opened(t, Config{})
	eachDo(t, Config{}, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
		for _, x := range []struct {
			err  error
			want counted
		}{
			{nil, counted{"succeeded": 1}},
			{errFailed, counted{"failed": 1}},
			{context.DeadlineExceeded, counted{"failed": 1}},
			{context.Canceled, counted{"failed": 1}}, // the caller's context lives
			{fmt.Errorf("upstream: %w", refused(t, inner, ErrOpen)), counted{"ignored": 1}},
		} {
			got := delta(b, func() {
				require.Equal(t, x.err, do(t.Context(), func(context.Context) error { return x.err }), "the error goes through unchanged")
			})
			require.Equal(t, x.want, got, "%v", x.err)
		}
	})
}

func TestDoLooksAtTheCallersContextFirst(t *testing.T) {
	asked := 0
	c := Config{Classify: func(error) Outcome { asked++; return Failure }}
	eachDo(t, c, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
		cancelled, cancel := context.WithCancelCause(t.Context())
		got := delta(b, func() {
			asked = 0
			err := do(cancelled, func(context.Context) error { cancel(errors.New("the user left")); return errFailed })
			require.Equal(t, errFailed, err)
		})
		require.Equal(t, counted{"ignored": 1, "local": 1}, got, "cancelled, whatever the error says")
		require.Zero(t, asked)

		again, cancelAgain := context.WithCancel(t.Context())
		got = delta(b, func() {
			require.NoError(t, do(again, func(context.Context) error { cancelAgain(); return nil }))
		})
		require.Equal(t, counted{"succeeded": 1}, got, "cancelled, but it was answered")

		over, cancelOver := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
		defer cancelOver()
		got = delta(b, func() {
			ticket := admitted(t, b)
			require.True(t, ticket.Done(over, errFailed))
		})
		require.Equal(t, counted{"failed": 1}, got, "a deadline is not leaving")
		require.Zero(t, asked)
	})
}

func TestDoWithAContextThatIsDoneDoesNothing(t *testing.T) {
	for _, why := range []error{context.Canceled, context.DeadlineExceeded} {
		eachDo(t, Config{}, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if why == context.DeadlineExceeded {
				ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
				defer cancel()
			}
			before := inside(b)
			require.Equal(t, why, do(ctx, func(context.Context) error { t.Error("called"); return nil }))
			require.Equal(t, before, inside(b))
		})
	}
}

func TestPanicInDoIsAFailureAndGoesOn(t *testing.T) {
	type value struct{ x int }
	eachDo(t, Config{}, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
		ctx, cancel := context.WithCancel(t.Context())
		got := delta(b, func() {
			require.PanicsWithValue(t, value{42}, func() {
				_ = do(ctx, func(context.Context) error { cancel(); panic(value{42}) })
			})
		})
		require.Equal(t, counted{"failed": 1}, got, "also when the context is cancelled")
		require.Zero(t, windowShown(b).inFlight)
	})
}

func TestGoexitInDoIsAFailureAndGoesOn(t *testing.T) {
	eachDo(t, Config{}, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
		got := delta(b, func() {
			alone(func() {
				_ = do(t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
				t.Error("the goroutine went on")
			})
		})
		require.Equal(t, counted{"failed": 1}, got)
		require.Zero(t, windowShown(b).inFlight)
	})
}

func TestPanicInClassifySettlesAsFailureAndGoesOn(t *testing.T) {
	c := Config{Classify: func(error) Outcome { panic("no such code") }}
	eachDo(t, c, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
		got := delta(b, func() {
			require.PanicsWithValue(t, "no such code", func() { _ = do(t.Context(), func(context.Context) error { return errFailed }) })
			ticket := admitted(t, b)
			require.PanicsWithValue(t, "no such code", func() { ticket.Done(context.Background(), errFailed) })
			require.False(t, ticket.Done(context.Background(), nil))
		})
		require.Equal(t, counted{"failed": 2}, got)
		require.Zero(t, windowShown(b).inFlight)
	})
}

func TestPanicInReadyToTripCountsTheOutcomeAndMeansNo(t *testing.T) {
	b, _ := made(t, Config{
		FailureRate: Off, ConsecutiveFailures: Off,
		ReadyToTrip: func(Counts) bool { panic("a fault of the rule") },
	})
	for form, do := range doers {
		got := delta(b, func() {
			require.PanicsWithValue(t, "a fault of the rule", func() {
				_ = do(t.Context(), b, func(context.Context) error { return errFailed })
			}, form)
			ticket := admitted(t, b)
			require.PanicsWithValue(t, "a fault of the rule", func() { ticket.Report(Failure) })
			require.False(t, ticket.Cancel())
		})
		require.Equal(t, counted{"failed": 2}, got)
	}
	require.Equal(t, StateClosed, b.State())
}

func TestUnknownOutcomeSettlesAsFailureAndPanics(t *testing.T) {
	for _, o := range []Outcome{4, 255} {
		text := fmt.Sprintf("atomicbreaker: unknown Outcome %d: want Success, Failure, Ignored or Local", o)
		c := Config{Classify: func(error) Outcome { return o }}
		eachDo(t, c, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
			got := delta(b, func() {
				require.PanicsWithValue(t, text, func() { _ = do(t.Context(), func(context.Context) error { return errFailed }) })
				ticket := admitted(t, b)
				require.PanicsWithValue(t, text, func() { ticket.Report(o) })
				require.False(t, ticket.Report(Success))
			})
			require.Equal(t, counted{"failed": 2}, got)
			require.Zero(t, windowShown(b).inFlight)
		})
	}
}

func TestDoReturnsTheRefusalAndDoesNotCall(t *testing.T) {
	for name, kind := range map[string]error{"open": ErrOpen, "half-open, full": ErrProbeLimit, "forced open": ErrForced} {
		for form, do := range doers {
			b, _ := situations[name](t, Config{})
			got := delta(b, func() {
				err := do(t.Context(), b, func(context.Context) error { t.Error("called"); return nil })
				require.ErrorIs(t, err, kind, form)
				require.True(t, IsRejected(err))
			})
			require.Equal(t, counted{"refused": 1}, got)
		}
	}
}

func TestDoReturnsTheValue(t *testing.T) {
	for path, make := range paths {
		b := make(t, Config{})
		v, err := Do(t.Context(), b, func(context.Context) (int, error) { return 42, errFailed })
		require.Equal(t, 42, v, path)
		require.Equal(t, errFailed, err)
	}
	b, _ := opened(t, Config{})
	v, err := Do(t.Context(), b, func(context.Context) (int, error) { return 42, nil })
	require.Zero(t, v, "a call that is not made returns the zero value")
	require.ErrorIs(t, err, ErrOpen)
}

// What a call returns may hang on its context, such as a response whose body
// is read later.
func TestDoPassesOnTheCallersContextInEveryState(t *testing.T) {
	eachDo(t, Config{}, func(t *testing.T, b *Breaker, do func(context.Context, func(context.Context) error) error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var held context.Context
		require.NoError(t, do(ctx, func(got context.Context) error { held = got; return nil }))
		require.True(t, held == ctx, "not one that is derived from it")
		require.NoError(t, held.Err())
	})
}

func TestProbeOfDoThatHangsIsGivenUpBySilence(t *testing.T) {
	for form, do := range doers {
		b, manual := halfOpened(t, Config{Recovery: Recovery{ProbeTimeout: 3 * time.Second}})
		err := do(t.Context(), b, func(ctx context.Context) error {
			require.Equal(t, 1, manual.Timers(), "the breaker's own")
			manual.Advance(3*time.Second - 1)
			require.Equal(t, StateHalfOpen, b.State())
			manual.Advance(1)
			require.NoError(t, ctx.Err(), form)
			return nil
		})
		require.NoError(t, err)
		s := b.Snapshot()
		require.Equal(t, []any{StateOpen, ReasonProbeTimeout, uint64(1), uint64(1)}, []any{s.State, s.Reason, s.Abandoned, s.Late})
	}
}

func TestNilArgumentsPanicBeforeAnythingIsAdmitted(t *testing.T) {
	fine := func(context.Context) error { return nil }
	for form, do := range doers {
		for _, b := range []*Breaker{nil, new(Breaker)} {
			require.PanicsWithValue(t, unmade, func() { _ = do(t.Context(), b, fine) }, form)
		}
		require.Contains(t, unmade, "New")
	}
	b, _ := halfOpened(t, Config{})
	before := inside(b)
	text := "atomicbreaker: Do with a nil context or function"
	require.PanicsWithValue(t, text, func() { _ = b.Do(t.Context(), nil) })
	require.PanicsWithValue(t, text, func() { _, _ = Do[int](t.Context(), b, nil) })
	//lint:ignore SA1012 that is what is tested
	require.PanicsWithValue(t, text, func() { _ = b.Do(nil, fine) })
	require.Equal(t, before, inside(b))
}

func TestNilAndZeroBreakerPanicNamingNew(t *testing.T) {
	for _, b := range []*Breaker{nil, new(Breaker)} {
		for name, use := range map[string]func(){
			"Ready":      func() { b.Ready() },
			"Acquire":    func() { _, _ = b.Acquire() },
			"State":      func() { b.State() },
			"Snapshot":   func() { b.Snapshot() },
			"RetryAfter": func() { b.RetryAfter() },
			"Name":       func() { _ = b.Name() },
			"Trip":       b.Trip,
			"Reset":      b.Reset,
			"SetMode":    func() { b.SetMode(Shadow) },
		} {
			require.PanicsWithValue(t, unmade, use, name)
		}
	}
}
