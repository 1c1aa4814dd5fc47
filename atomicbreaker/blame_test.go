package atomicbreaker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atomicbreaker/breaker/clock"
)

// ended is a context that can end, by leaving or by a deadline, when it is told.
type ended struct {
	context.Context
	err error
}

func (e *ended) Err() error            { return e.err }
func (e *ended) Done() <-chan struct{} { return make(chan struct{}) }

// usually is a breaker whose successes take so long, with samples of them.
func usually(t testing.TB, c Config, latency time.Duration) (*Breaker, *clock.Manual) {
	t.Helper()
	b, manual := sampling(t, c)
	traffic(b, manual, 10, 30*time.Second+2*latency, always(latency))
	if b.sampler.Load() != nil {
		require.Equal(t, latency, b.Snapshot().Latency.High)
	}
	return b, manual
}

// TestPatience is the table of what it says when a caller's context has ended.
func TestPatience(t *testing.T) {
	const ms = time.Millisecond
	learnt, fresh := 20*ms, time.Duration(0)
	for name, x := range map[string]struct {
		patience, usual, given time.Duration
		why                    error
		want                   Outcome
	}{
		"set, left too soon":           {100 * ms, fresh, 99 * ms, context.Canceled, Local},
		"set, left in time":            {100 * ms, fresh, 100 * ms, context.Canceled, Failure},
		"set, deadline too soon":       {100 * ms, fresh, 99 * ms, context.DeadlineExceeded, Local},
		"set, deadline in time":        {100 * ms, fresh, 100 * ms, context.DeadlineExceeded, Failure},
		"learnt, left too soon":        {0, learnt, 39 * ms, context.Canceled, Local},
		"learnt, left in time":         {0, learnt, 40 * ms, context.Canceled, Failure},
		"learnt, deadline too soon":    {0, learnt, 2 * ms, context.DeadlineExceeded, Local},
		"learnt, deadline in time":     {0, learnt, 500 * ms, context.DeadlineExceeded, Failure},
		"nothing learnt, left":         {0, fresh, 999 * ms, context.Canceled, Local},
		"nothing learnt, left late":    {0, fresh, time.Second, context.Canceled, Failure},
		"nothing learnt, deadline":     {0, fresh, 2 * ms, context.DeadlineExceeded, Failure},
		"off, left late":               {Off, fresh, time.Hour, context.Canceled, Local},
		"off, deadline":                {Off, fresh, 2 * ms, context.DeadlineExceeded, Failure},
		"set, above what was learnt":   {time.Second, learnt, 500 * ms, context.DeadlineExceeded, Local},
		"set, a long poll that is ill": {time.Minute, learnt, time.Minute, context.Canceled, Failure},
	} {
		t.Run(name, func(t *testing.T) {
			for _, state := range []State{StateClosed, StateHalfOpen} {
				c := Config{Patience: x.patience, Deadline: Off, Recovery: Recovery{ProbeTimeout: 2 * time.Hour},
					Classify: func(error) Outcome { panic("is not asked") }}
				b, manual := made(t, c)
				if x.usual > 0 {
					b, manual = usually(t, c, x.usual)
				}
				if state == StateHalfOpen {
					b.Trip()
					manual.Advance(b.RetryAfter())
				}
				before := b.Snapshot()
				ctx := &ended{Context: t.Context()}
				ticket, err := b.AcquireContext(ctx)
				require.NoError(t, err)
				manual.Advance(x.given)
				ctx.err = x.why
				require.True(t, ticket.Done(ctx, x.why))
				after := b.Snapshot()
				got := []uint64{after.Failed - before.Failed, after.Ignored - before.Ignored, after.Local - before.Local}
				require.Equal(t, map[Outcome][]uint64{Failure: {1, 0, 0}, Local: {0, 1, 1}}[x.want], got, state)
			}
		})
	}
}

// A call that is answered is a Success, whatever became of the context, and a refusal by
// another breaker is Ignored, however long it took.
func TestPatienceIsForErrorsOfTheDependency(t *testing.T) {
	other, _ := opened(t, Config{})
	refusal := error(refused(t, other, ErrOpen))
	b, manual := usually(t, Config{}, 20*time.Millisecond)
	for err, want := range map[error]counted{nil: {"succeeded": 1}, refusal: {"ignored": 1}} {
		ctx := &ended{Context: t.Context()}
		ticket, _ := b.AcquireContext(ctx)
		manual.Advance(time.Minute)
		ctx.err = context.Canceled
		require.Equal(t, want, delta(b, func() { ticket.Done(ctx, err) }))
	}
}

// impatient makes calls whose callers give up after a while, at a rate, in front of a dependency that
// answers after latency; by Do or Acquire they are not timed, but for the samples.
func impatient(b *Breaker, manual *clock.Manual, exact bool, rate float64, n int, given, latency time.Duration) (made int) {
	for made = 0; made < n && b.State() == StateClosed; made++ {
		ctx := &ended{Context: context.Background()}
		t, err := Ticket{}, error(nil)
		if exact {
			t, err = b.AcquireContext(ctx)
		} else {
			t, err = b.Acquire()
		}
		if err != nil {
			return made
		}
		manual.AfterFunc(min(given, latency), func() {
			if latency > given {
				ctx.err = context.Canceled
				t.Done(ctx, context.Canceled)
			} else {
				t.Done(ctx, nil)
			}
		})
		manual.Advance(time.Duration(float64(time.Second) / rate))
	}
	return made
}

// A dependency that hangs while its callers leave first opens: within their patience and twenty calls
// where calls are timed, and soon where only samples are.
func TestHungDependencyWhoseCallersLeaveOpens(t *testing.T) {
	for _, exact := range []bool{true, false} {
		b, manual := usually(t, Config{}, 20*time.Millisecond)
		traffic(b, manual, 50, time.Second, always(20*time.Millisecond))
		began := manual.Now()
		n := impatient(b, manual, exact, 50, 10_000, 300*time.Millisecond, time.Hour)
		require.NotEqual(t, 10_000, n)
		patience := 300 * time.Millisecond // they leave after that
		require.LessOrEqual(t, n, int((manual.Now()-began).Seconds()*50)+1)
		if exact {
			require.LessOrEqual(t, n, int(patience.Seconds()*50)+20+5, "with a tick")
		} else {
			require.LessOrEqual(t, n, 100)
		}
	}
}

// Callers who leave too soon open nothing, however many they are: of a quick dependency, or of
// a long poll of 30 s that they leave after 5 s.
func TestImpatientCallersOpenNothing(t *testing.T) {
	for _, exact := range []bool{true, false} {
		b, manual := usually(t, Config{}, 5*time.Millisecond)
		require.Equal(t, 3000, impatient(b, manual, exact, 300, 3000, 2*time.Millisecond, 5*time.Millisecond))
		require.Equal(t, ReasonNone, b.Snapshot().Reason)
		require.Positive(t, b.Snapshot().Local)

		b, manual = usually(t, Config{}, 30*time.Second)
		require.Equal(t, 1000, impatient(b, manual, exact, 5, 1000, 5*time.Second, 30*time.Second))
		require.Equal(t, ReasonNone, b.Snapshot().Reason)
	}
}

// A call that was answered is never a Failure by its caller's leaving.
func TestLeavingAfterTheAnswerIsLocal(t *testing.T) {
	for name, make := range situations {
		if name != "closed" && name != "half-open" && name != "timed" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b, manual := make(t, Config{Patience: time.Millisecond})
			ctx := &ended{Context: t.Context()}
			ticket, err := b.AcquireContext(ctx)
			require.NoError(t, err)
			require.True(t, ticket.Answered())
			require.False(t, ticket.Answered(), "once")
			manual.Advance(time.Hour)
			ctx.err = context.Canceled
			before := b.Snapshot()
			require.True(t, ticket.Done(ctx, context.Canceled))
			require.False(t, ticket.Answered())
			after := b.Snapshot()
			require.Equal(t, before.Failed, after.Failed)
			require.Equal(t, uint64(1), after.Ignored+after.Late-before.Ignored-before.Late)
		})
	}
}
