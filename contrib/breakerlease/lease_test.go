package breakerlease

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

const (
	success = atomicbreaker.Success
	failure = atomicbreaker.Failure

	closed   = atomicbreaker.StateClosed
	open     = atomicbreaker.StateOpen
	halfOpen = atomicbreaker.StateHalfOpen
)

func TestGrantedLeaseMakesHalfOpen(t *testing.T) {
	l := new(fakeLease)
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
	require.Equal(t, halfOpen, b.State())
	require.Equal(t, 1, l.asked)
	require.Equal(t, atomicbreaker.ReasonEndCooldownCalled, b.Snapshot().Reason)
	require.Equal(t, Status{Held: true, Granted: 1}, status(t, b))

	recoverBy(t, b, manual)
	require.Equal(t, []News{{Token: Token{Number: 1}, Verdict: Answered}, {Token: Token{Number: 1}, Verdict: Recovered}}, l.told())
	require.Equal(t, Status{Granted: 1}, status(t, b))
}

func TestBreakerWithoutLeaseTellsOfNone(t *testing.T) {
	b := atomicbreaker.MustNew(atomicbreaker.Config{})
	_, ok := StatusOf(b, b.Snapshot())
	require.False(t, ok)
}

// Nobody who calls or looks asks the Lease.
func TestOnlyTheTimerAsksTheLease(t *testing.T) {
	l := new(fakeLease)
	b, manual := made(t, l, atomicbreaker.Config{}, Options{})
	b.Trip()
	for range 1000 {
		_, err := b.Acquire()
		require.ErrorIs(t, err, atomicbreaker.ErrOpen)
		b.Ready()
		b.Snapshot()
		b.RetryAfter()
		status(t, b)
	}
	require.Zero(t, l.asked)
	manual.Advance(cooldown)
	require.Equal(t, 1, l.asked)
}

func TestRefusedLeaseIsAskedAgainAfterItsWait(t *testing.T) {
	l := new(fakeLease)
	l.script = append(l.script, refuseFor(1, 300*time.Millisecond), refuseFor(2, 0), refuseFor(3, -time.Second), refuseFor(4, time.Hour), l.grant)
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{Patience: time.Minute})
	asked := 1
	for _, wait := range []time.Duration{
		300 * time.Millisecond,
		cooldown, // 0 leaves it to Cooldown.Min
		cooldown,
		5 * time.Second, // never longer than Cooldown.Max
	} {
		require.Equal(t, open, b.State())
		require.Equal(t, asked, l.asked)
		require.Equal(t, wait, b.RetryAfter())
		s := status(t, b)
		require.Equal(t, max(b.Snapshot().At-cooldown, 1), s.Waiting)
		require.Equal(t, "another", s.Holder)
		manual.Advance(wait - 1)
		require.Equal(t, asked, l.asked, "after %v", wait)
		manual.Advance(1)
		asked++
	}
	require.Equal(t, halfOpen, b.State())
	require.Equal(t, Status{Held: true, Granted: 1, Refused: 4}, status(t, b))
}

func TestJitterOnlyLengthensTheWaitForALease(t *testing.T) {
	l := new(fakeLease)
	l.script = append(l.script, refuse(time.Second))
	draws := []float64{0.5, 0, 0.5, 0.999}
	b, manual := made(t, l, atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Jitter: 0.5}, Rand: func() float64 {
		d := draws[0]
		draws = draws[1:]
		return d
	}}, Options{})
	b.Trip()
	manual.Advance(cooldown)
	for _, want := range []time.Duration{time.Second, 1250 * time.Millisecond, 1499500 * time.Microsecond} {
		require.InDelta(t, want, b.RetryAfter(), float64(2*time.Microsecond))
		if len(draws) == 0 {
			return
		}
		manual.Advance(b.RetryAfter())
	}
}

// An error never keeps the breaker open, and does not go unsaid.
func TestFailedLeaseLetsTheBreakerProbeAlone(t *testing.T) {
	l := new(fakeLease)
	l.script = append(l.script, failing)
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
	require.Equal(t, halfOpen, b.State())
	require.Equal(t, atomicbreaker.ReasonCooldown, b.Snapshot().Reason)
	require.Equal(t, Status{Alone: true, Failed: 1, Error: errStore.Error()}, status(t, b))

	// Its cooldowns are its own too, and failures are nobody's business.
	for range 3 {
		settle(t, b, 1, failure)
		require.Equal(t, open, b.State())
		require.True(t, status(t, b).Alone, "the last half-open episode was")
		manual.Advance(b.RetryAfter())
		require.Equal(t, halfOpen, b.State())
	}
	require.Empty(t, l.told())
	l.script = nil
	settle(t, b, 1, failure)
	manual.Advance(b.RetryAfter())
	require.Equal(t, Status{Held: true, Granted: 1, Failed: 4, Error: errStore.Error()}, status(t, b))
}

// Whoever has found out alone that the dependency is back tells the others.
func TestLoneProberTellsOfItsSuccess(t *testing.T) {
	l := new(fakeLease)
	l.script = append(l.script, failing)
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
	settle(t, b, 2, success)
	require.Equal(t, []News{{Alone: true, Verdict: Answered}}, l.told(), "once")
	manual.Advance(3 * time.Second)
	require.Equal(t, closed, b.State())
	require.Equal(t, []News{{Alone: true, Verdict: Answered}, {Alone: true, Verdict: Recovered}}, l.told())

	// One that others have told says nothing: they know.
	b.Trip()
	require.True(t, b.EndCooldown())
	recoverBy(t, b, manual)
	require.Len(t, l.told(), 2)
	require.False(t, status(t, b).Alone)
}

func TestLeaseThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	l := newLaterLease()
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{Timeout: 20 * time.Millisecond})
	manual.Advance(20*time.Millisecond - 1)
	require.Equal(t, open, b.State())
	require.Equal(t, 20*time.Millisecond-1, status(t, b).Waiting)
	require.Equal(t, time.Millisecond, b.RetryAfter())
	manual.Advance(1)
	require.Equal(t, halfOpen, b.State())
	require.True(t, status(t, b).Alone)
	require.Contains(t, status(t, b).Error, "Options.Timeout")

	l.run()
	require.Zero(t, l.asked, "too late before it was asked")
	require.Equal(t, halfOpen, b.State())
}

// A grant that comes after the wait for it is given back, and changes nothing.
func TestLateGrantIsGivenBack(t *testing.T) {
	l := new(fakeLease)
	answer := make(chan struct{})
	done := make(chan struct{})
	l.script = append(l.script, func(ctx context.Context) (Answer, error) {
		<-answer
		return l.grant(ctx)
	})
	l.gone = func(f func()) { go func() { f(); done <- struct{}{} }() }
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
	waitUntil(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.asked == 1 })
	manual.Advance(defaultTimeout)
	require.Equal(t, halfOpen, b.State())
	generation := b.Snapshot().Generation
	close(answer)
	<-done
	<-done
	manual.Advance(time.Second)
	require.Equal(t, []News{{Token: Token{Number: 1}, Verdict: Unused}}, l.told())
	require.Equal(t, generation, b.Snapshot().Generation)
	require.False(t, status(t, b).Held)
}

// Whatever overtakes the question wins: the grant changes nothing and goes back.
func TestGrantIsFencedByTheGeneration(t *testing.T) {
	for name, x := range map[string]struct {
		overtake func(b *atomicbreaker.Breaker)
		want     atomicbreaker.State
	}{
		"Reset":          {(*atomicbreaker.Breaker).Reset, closed},
		"Reset and Trip": {func(b *atomicbreaker.Breaker) { b.Reset(); b.Trip() }, open},
		"ForcedOpen":     {func(b *atomicbreaker.Breaker) { b.SetMode(atomicbreaker.ForcedOpen) }, open},
		"ForcedClosed":   {func(b *atomicbreaker.Breaker) { b.SetMode(atomicbreaker.ForcedClosed) }, closed},
		"forced and back": {func(b *atomicbreaker.Breaker) {
			b.SetMode(atomicbreaker.ForcedOpen)
			b.SetMode(atomicbreaker.Auto)
		}, halfOpen},
		"EndCooldown":      {func(b *atomicbreaker.Breaker) { b.EndCooldown() }, halfOpen},
		"EndCooldown, bad": {func(b *atomicbreaker.Breaker) { b.EndCooldown(); settle(t, b, 1, failure) }, open},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLaterLease()
			b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
			x.overtake(b)
			generation := b.Snapshot().Generation
			l.run()
			manual.Advance(0)
			l.run()
			require.Equal(t, x.want, b.State())
			require.Equal(t, generation, b.Snapshot().Generation)
			require.False(t, status(t, b).Held)
			require.Equal(t, []News{{Token: Token{Number: 1}}}, l.told())
			require.Zero(t, status(t, b).Granted)
			if s := b.Snapshot(); x.want == open && s.Mode == atomicbreaker.Auto {
				require.Greater(t, b.RetryAfter(), 400*time.Millisecond, "the new cooldown lasts")
			}
		})
	}
}

func TestTripDoesNotOvertakeTheQuestion(t *testing.T) {
	l := newLaterLease()
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
	b.Trip() // an open breaker is left as it is
	l.run()
	manual.Advance(0)
	require.Equal(t, halfOpen, b.State())
	require.True(t, status(t, b).Held)
}

// What becomes of a lease is told, once.
func TestEveryEndOfALeaseIsTold(t *testing.T) {
	for name, x := range map[string]struct {
		end  func(t *testing.T, b *atomicbreaker.Breaker, manual *clock.Manual)
		want []News
	}{
		"failed": {func(t *testing.T, b *atomicbreaker.Breaker, _ *clock.Manual) { settle(t, b, 1, failure) },
			[]News{{Token: Token{Number: 1}, Verdict: Reopened, Cooldown: cooldown}}},
		"silent": {func(t *testing.T, b *atomicbreaker.Breaker, manual *clock.Manual) {
			_, err := b.Acquire()
			require.NoError(t, err)
			manual.Advance(30 * time.Second)
		}, []News{{Token: Token{Number: 1}, Verdict: Reopened, Cooldown: 3812500 * time.Microsecond}}},
		"reset":   {func(_ *testing.T, b *atomicbreaker.Breaker, _ *clock.Manual) { b.Reset() }, []News{{Token: Token{Number: 1}}}},
		"tripped": {func(_ *testing.T, b *atomicbreaker.Breaker, _ *clock.Manual) { b.Trip() }, []News{{Token: Token{Number: 1}}}},
		"forced": {func(_ *testing.T, b *atomicbreaker.Breaker, _ *clock.Manual) { b.SetMode(atomicbreaker.ForcedOpen) },
			[]News{{Token: Token{Number: 1}}}},
		"answered, then forced": {func(t *testing.T, b *atomicbreaker.Breaker, _ *clock.Manual) {
			settle(t, b, 3, success)
			b.SetMode(atomicbreaker.ForcedClosed)
		}, []News{{Token: Token{Number: 1}, Verdict: Answered}, {Token: Token{Number: 1}}}},
		"overtaken twice": {func(_ *testing.T, b *atomicbreaker.Breaker, _ *clock.Manual) {
			b.Reset()
			b.SetMode(atomicbreaker.ForcedOpen)
			b.SetMode(atomicbreaker.Auto)
			b.Reset()
		}, []News{{Token: Token{Number: 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := new(fakeLease)
			b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
			x.end(t, b, manual)
			manual.Advance(0)
			require.Equal(t, x.want, l.told())
			require.False(t, status(t, b).Held)
		})
	}
}

func TestPanicsOfALeaseAreErrors(t *testing.T) {
	boom := func(context.Context) (Answer, error) { panic("boom") }
	t.Run("Ask", func(t *testing.T) {
		l := new(fakeLease)
		l.script = append(l.script, boom)
		b, _ := leased(t, l, atomicbreaker.Config{}, Options{})
		require.Equal(t, halfOpen, b.State())
		require.Contains(t, status(t, b).Error, "panicked")
		require.True(t, status(t, b).Alone)
	})
	t.Run("Go", func(t *testing.T) {
		l := new(fakeLease)
		l.gone = func(func()) { panic("boom") }
		b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
		for range 2 * maxCalls {
			require.Equal(t, halfOpen, b.State())
			require.Contains(t, status(t, b).Error, "panicked", "not stuck: none of them runs")
			settle(t, b, 1, failure)
			manual.Advance(b.RetryAfter())
		}
	})
	t.Run("Go, after it ran what it was given", func(t *testing.T) {
		l := new(fakeLease)
		l.gone = func(f func()) { f(); f(); panic("boom") }
		b, _ := leased(t, l, atomicbreaker.Config{}, Options{})
		require.Equal(t, 1, l.asked)
		require.True(t, status(t, b).Held)
	})
	t.Run("Tell", func(t *testing.T) {
		l := new(fakeLease)
		l.tell = func(context.Context, News) error { panic("boom") }
		b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
		recoverBy(t, b, manual)
		require.Len(t, l.told(), 2)
		require.Equal(t, uint64(2), status(t, b).Failed)
		require.Zero(t, b.Snapshot().ListenerPanics)
	})
	t.Run("Ask ends its goroutine", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := new(fakeLease)
			l.gone = func(f func()) { go f() }
			l.script = append(l.script, func(context.Context) (Answer, error) { runtime.Goexit(); return Answer{}, nil })
			b, err := New(atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}}, l, Options{})
			require.NoError(t, err)
			for range 2 * maxCalls {
				b.Reset()
				b.Trip()
				time.Sleep(cooldown + defaultTimeout)
				synctest.Wait()
				require.Equal(t, halfOpen, b.State())
				require.Equal(t, errLate.Error(), status(t, b).Error)
			}
		})
	})
}

// Calls that do not come back are not joined by more and more.
func TestHangingLeaseIsCalledABoundedNumberOfTimes(t *testing.T) {
	l := newLaterLease() // nothing ever runs
	b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
	for range 5 * maxCalls {
		manual.Advance(defaultTimeout)
		require.Equal(t, halfOpen, b.State())
		require.True(t, status(t, b).Alone)
		settle(t, b, 1, failure)
		manual.Advance(b.RetryAfter())
	}
	require.Len(t, l.waiting, maxCalls)
	require.Contains(t, status(t, b).Error, "have not come back")
	l.run()
	settle(t, b, 1, failure)
	manual.Advance(b.RetryAfter())
	l.run()
	manual.Advance(0)
	require.True(t, status(t, b).Held, "it is asked again when they have")
}

// On the system's clock the Lease is asked on a goroutine of its own, with a
// deadline, and nobody waits for it.
func TestBlockingLeaseIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(fakeLease)
		l.gone = func(f func()) { go f() }
		var waited time.Duration
		l.script = append(l.script, func(ctx context.Context) (Answer, error) {
			began := time.Now()
			<-ctx.Done()
			waited = time.Since(began)
			return Answer{}, ctx.Err()
		})
		b, err := New(atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off}}, l, Options{Timeout: 30 * time.Millisecond})
		require.NoError(t, err)
		b.Trip()
		time.Sleep(cooldown + 29*time.Millisecond)
		synctest.Wait()
		require.Equal(t, open, b.State())
		_, err = b.Acquire()
		require.ErrorIs(t, err, atomicbreaker.ErrOpen)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, halfOpen, b.State())
		require.True(t, status(t, b).Alone)
		time.Sleep(30 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 60*time.Millisecond, waited)
		// No goroutine is left: the bubble would not end otherwise.
	})
}

// A lease that stays where it is keeps a breaker from probing for
// Cooldown.Max, or for Patience; one that moves on may do so for longer.
func TestRefusalsAreBounded(t *testing.T) {
	t.Run("Cooldown.Max", func(t *testing.T) {
		l := new(fakeLease)
		l.script = append(l.script, refuse(time.Hour))
		b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
		manual.Advance(5*time.Second - 1)
		require.Equal(t, open, b.State())
		manual.Advance(1)
		require.Equal(t, halfOpen, b.State())
		require.True(t, status(t, b).Alone)
		require.Contains(t, status(t, b).Error, "in the way for 5s")
	})
	t.Run("Patience", func(t *testing.T) {
		l := new(fakeLease)
		l.script = append(l.script, refuse(300*time.Millisecond))
		b, manual := leased(t, l, atomicbreaker.Config{}, Options{Patience: time.Second})
		manual.Advance(time.Second - 1)
		require.Equal(t, open, b.State())
		require.Equal(t, uint64(4), status(t, b).Refused)
		manual.Advance(1)
		require.Equal(t, halfOpen, b.State())
	})
	t.Run("a token that is not known", func(t *testing.T) {
		l := new(fakeLease)
		l.script = append(l.script, refuseFor(0, time.Second), refuseFor(7, time.Second), refuseFor(0, time.Second))
		b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
		manual.Advance(5 * time.Second)
		require.Equal(t, halfOpen, b.State())
	})
	t.Run("a fleet that goes on", func(t *testing.T) {
		l := new(fakeLease)
		for token := range uint64(1000) {
			l.script = append(l.script, refuseFor(1+token, 100*time.Millisecond))
		}
		b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
		manual.Advance(time.Minute - 1)
		require.Equal(t, open, b.State())
		require.Equal(t, 600, l.asked)
		manual.Advance(1)
		require.Equal(t, halfOpen, b.State(), "the core's own bound")
	})
}

func TestDroppedBreakerWithALeaseIsCollected(t *testing.T) {
	for name, use := range map[string]func(b *atomicbreaker.Breaker){
		"new":       func(*atomicbreaker.Breaker) {},
		"open":      (*atomicbreaker.Breaker).Trip,
		"half-open": func(b *atomicbreaker.Breaker) { b.Trip(); b.EndCooldown() },
	} {
		t.Run(name, func(t *testing.T) {
			l := new(fakeLease)
			held := func() weak.Pointer[atomicbreaker.Breaker] {
				b, err := New(atomicbreaker.Config{}, l, Options{})
				require.NoError(t, err)
				use(b)
				return weak.Make(b)
			}()
			waitUntil(t, func() bool { runtime.GC(); _, kept := seats.Load(held); return held.Value() == nil && !kept })
		})
	}
	t.Run("refused", func(t *testing.T) {
		l := new(fakeLease)
		l.script = append(l.script, refuse(time.Second))
		held := func() weak.Pointer[atomicbreaker.Breaker] {
			b, manual := leased(t, l, atomicbreaker.Config{}, Options{})
			manual.Advance(time.Second)
			require.Equal(t, 2, l.asked)
			return weak.Make(b)
		}()
		waitUntil(t, func() bool { runtime.GC(); return held.Value() == nil })
	})
}

// Join takes no hook of the user's away, and one Config is for one breaker.
func TestJoinChainsTheHooks(t *testing.T) {
	l := new(fakeLease)
	var order []string
	waits := []time.Duration{time.Second}
	manual := new(clock.Manual)
	c, err := Join(atomicbreaker.Config{
		Clock: manual, Cooldown: atomicbreaker.Cooldown{Jitter: atomicbreaker.Off},
		BeforeProbe: func(atomicbreaker.CooldownOver) time.Duration {
			order = append(order, "before")
			if len(waits) == 0 {
				return 0
			}
			wait := waits[0]
			waits = waits[1:]
			return wait
		},
		OnTransition: func(t atomicbreaker.Transition) { order = append(order, t.To.String()) },
		OnProbe:      func(p atomicbreaker.Probe) { order = append(order, p.Outcome.String()) },
	}, l, Options{})
	require.NoError(t, err)
	b := atomicbreaker.MustNew(c)
	_, takesPart := StatusOf(b, b.Snapshot())
	require.False(t, takesPart)
	b.Trip()
	manual.Advance(cooldown)
	require.Zero(t, l.asked, "the user's own BeforeProbe comes first")
	manual.Advance(time.Second)
	require.True(t, status(t, b).Held)
	settle(t, b, 1, failure)
	require.Equal(t, []string{"open", "before", "before", "half-open", "failure", "open"}, order)

	second := atomicbreaker.MustNew(c)
	second.Trip()
	manual.Advance(cooldown)
	require.Equal(t, halfOpen, second.State())
	_, takesPart = StatusOf(second, second.Snapshot())
	require.False(t, takesPart)
	require.Contains(t, status(t, b).Error, "second breaker")
}

// A Config that is joined twice asks the Lease that was joined last.
func TestBreakerHasOneLease(t *testing.T) {
	first, second := new(fakeLease), new(fakeLease)
	manual := new(clock.Manual)
	c, err := Join(atomicbreaker.Config{Clock: manual}, first, Options{})
	require.NoError(t, err)
	b, _ := made(t, second, c, Options{})
	b.Trip()
	manual.Advance(cooldown)
	require.True(t, status(t, b).Held)
	require.Equal(t, []int{0, 1}, []int{first.asked, second.asked})
}

func TestFaultsOfTheOptionsAreAllTold(t *testing.T) {
	_, err := New(atomicbreaker.Config{FailureRate: 7}, nil, Options{Timeout: time.Minute, Patience: 1})
	for _, want := range []string{
		"the Lease is nil, want one", "Options.Timeout is 1m0s, want 1ms to 10s", "Options.Patience is 1ns, want 1ms to 24h", "FailureRate",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = Join(atomicbreaker.Config{}, new(fakeLease), Options{Timeout: -1})
	require.ErrorContains(t, err, "Options.Timeout is -1ns")
}
