package atomicbreaker

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

func TestGrantedLeaseMakesHalfOpen(t *testing.T) {
	l := new(fakeLease)
	b, manual, told := leased(t, l, Config{})
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, 1, l.asked)
	require.Equal(t, ReasonCooldown, lastReason(told))
	require.Equal(t, LeaseInfo{Held: true, Granted: 1}, b.Snapshot().Lease)

	recoverBy(t, b, manual)
	require.Equal(t, []LeaseNews{{Token: 1, Verdict: LeaseAnswered}, {Token: 1, Verdict: LeaseRecovered}}, l.told())
	require.Equal(t, LeaseInfo{Granted: 1}, b.Snapshot().Lease)
}

func TestBreakerWithoutLeaseTellsOfNone(t *testing.T) {
	b, _ := halfOpened(t, Config{})
	require.Zero(t, b.Snapshot().Lease)
	b.Warn(1, time.Hour) // nothing to keep it in
}

// Nobody who calls or looks asks the Lease.
func TestOnlyTheTimerAsksTheLease(t *testing.T) {
	l := new(fakeLease)
	b, manual := opened(t, Config{Lease: l})
	for range 1000 {
		refused(t, b, ErrOpen)
		b.Ready()
		b.Snapshot()
		b.RetryAfter()
	}
	require.Zero(t, l.asked)
	manual.Advance(500 * time.Millisecond)
	require.Equal(t, 1, l.asked)
}

func TestRefusedLeaseIsAskedAgainAfterItsWait(t *testing.T) {
	l := new(fakeLease)
	l.script = append(l.script, refuse(300*time.Millisecond), refuse(0), refuse(-time.Second), refuse(time.Hour), l.grant)
	b, manual, told := leased(t, l, Config{})
	asked := 1
	for _, wait := range []time.Duration{
		300 * time.Millisecond,
		500 * time.Millisecond, // 0 leaves it to Cooldown.Min
		500 * time.Millisecond,
		5 * time.Second, // never longer than Cooldown.Max
	} {
		require.Equal(t, StateOpen, b.State())
		require.Equal(t, asked, l.asked)
		require.Equal(t, wait, b.RetryAfter())
		require.True(t, b.Snapshot().Lease.Waiting)
		refused(t, b, ErrOpen)
		manual.Advance(wait - 1)
		require.Equal(t, asked, l.asked, "after %v", wait)
		manual.Advance(1)
		asked++
	}
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, ReasonCooldown, lastReason(told))
	require.Equal(t, LeaseInfo{Held: true, Granted: 1, Refused: 4}, b.Snapshot().Lease)
}

func TestJitterOnlyLengthensTheWaitForALease(t *testing.T) {
	l := new(fakeLease)
	l.script = append(l.script, refuse(time.Second))
	draws := []float64{0.5, 0, 0.5, 0.999}
	b, manual := opened(t, Config{Lease: l, Cooldown: Cooldown{Jitter: 0.5}, Rand: func() float64 {
		d := draws[0]
		draws = draws[1:]
		return d
	}})
	manual.Advance(500 * time.Millisecond)
	for _, want := range []time.Duration{time.Second, 1250 * time.Millisecond, 1499500 * time.Microsecond} {
		require.InDelta(t, want, b.RetryAfter(), float64(2*time.Microsecond))
		manual.Advance(b.RetryAfter())
		if len(draws) == 0 {
			return
		}
	}
}

// An error never keeps the breaker open, and does not go unsaid.
func TestFailedLeaseLetsTheBreakerProbeAlone(t *testing.T) {
	l := new(fakeLease)
	l.script = append(l.script, failing)
	b, manual, told := leased(t, l, Config{})
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, ReasonLeaseFailed, lastReason(told))
	require.Equal(t, LeaseInfo{Alone: true, Failed: 1, Error: errStore.Error()}, b.Snapshot().Lease)

	// Its cooldowns are its own too, and it has nothing to tell.
	for range 3 {
		calls(t, b, 1, Failure)
		require.Equal(t, StateOpen, b.State())
		manual.Advance(b.RetryAfter())
		require.Equal(t, StateHalfOpen, b.State())
	}
	require.Empty(t, l.told())
	l.script = nil
	calls(t, b, 1, Failure)
	manual.Advance(b.RetryAfter())
	require.Equal(t, LeaseInfo{Held: true, Granted: 1, Failed: 4, Error: errStore.Error()}, b.Snapshot().Lease)
}

func TestLeaseThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	l := newLaterLease()
	b, manual, told := leased(t, l, Config{LeaseTimeout: 20 * time.Millisecond})
	manual.Advance(20*time.Millisecond - 1)
	require.Equal(t, StateOpen, b.State())
	require.True(t, b.Snapshot().Lease.Waiting)
	require.Equal(t, time.Millisecond, b.RetryAfter())
	manual.Advance(1)
	require.Equal(t, StateHalfOpen, b.State())
	require.Equal(t, ReasonLeaseFailed, lastReason(told))
	require.True(t, b.Snapshot().Lease.Alone)
	require.Contains(t, b.Snapshot().Lease.Error, "LeaseTimeout")

	l.run()
	require.Zero(t, l.asked, "too late before it was asked")
	require.Equal(t, StateHalfOpen, b.State())
}

// A grant that comes after the wait for it is given back, and changes nothing.
func TestLateGrantIsGivenBack(t *testing.T) {
	l := new(fakeLease)
	answer := make(chan struct{})
	done := make(chan struct{})
	l.script = append(l.script, func(ctx context.Context) (LeaseAnswer, error) {
		<-answer
		return l.grant(ctx)
	})
	l.gone = func(f func()) { go func() { f(); done <- struct{}{} }() }
	b, manual, told := leased(t, l, Config{})
	waitUntil(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return l.asked == 1 })
	manual.Advance(10 * time.Millisecond)
	require.Equal(t, StateHalfOpen, b.State())
	seen := len(*told)
	close(answer)
	<-done
	<-done
	manual.Advance(time.Second)
	require.Equal(t, []LeaseNews{{Token: 1, Verdict: LeaseUnused}}, l.told())
	require.Len(t, *told, seen)
	require.False(t, b.Snapshot().Lease.Held)
}

// Whatever overtakes the question wins: the grant changes nothing and goes back.
func TestGrantIsFencedByTheGeneration(t *testing.T) {
	for name, x := range map[string]struct {
		overtake func(b *Breaker)
		want     State
	}{
		"Reset":            {(*Breaker).Reset, StateClosed},
		"Reset and Trip":   {func(b *Breaker) { b.Reset(); b.Trip() }, StateOpen},
		"ForcedOpen":       {func(b *Breaker) { b.SetMode(ForcedOpen) }, StateOpen},
		"ForcedClosed":     {func(b *Breaker) { b.SetMode(ForcedClosed) }, StateClosed},
		"forced and back":  {func(b *Breaker) { b.SetMode(ForcedOpen); b.SetMode(Auto) }, StateHalfOpen},
		"EndCooldown":      {func(b *Breaker) { require.True(t, b.EndCooldown()) }, StateHalfOpen},
		"EndCooldown, bad": {func(b *Breaker) { b.EndCooldown(); calls(t, b, 1, Failure) }, StateOpen},
	} {
		for when, early := range map[string]bool{"before the answer": true, "after the answer": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				l := newLaterLease()
				b, manual, _ := leased(t, l, Config{})
				l.mu.Lock()
				ask := l.waiting[0]
				l.waiting = nil
				l.mu.Unlock()
				// The answer is there and the worker has not looked, or has.
				if early {
					x.overtake(b)
					manual.Advance(0)
					ask()
				} else {
					ask()
					x.overtake(b)
				}
				generation := b.Snapshot().Generation
				manual.Advance(0)
				l.run()
				require.Equal(t, x.want, b.State())
				require.Equal(t, generation, b.Snapshot().Generation)
				require.False(t, b.Snapshot().Lease.Held)
				if early {
					require.Empty(t, l.told())
					require.Zero(t, l.asked)
				} else {
					require.Equal(t, []LeaseNews{{Token: 1}}, l.told())
				}
				if x.want == StateOpen && b.Snapshot().Mode == Auto {
					require.Greater(t, b.RetryAfter(), 400*time.Millisecond, "the new cooldown lasts")
				}
			})
		}
	}
}

func TestTripDoesNotOvertakeTheQuestion(t *testing.T) {
	l := newLaterLease()
	b, manual, _ := leased(t, l, Config{})
	b.Trip() // an open breaker is left as it is
	l.run()
	manual.Advance(0)
	require.Equal(t, StateHalfOpen, b.State())
	require.True(t, b.Snapshot().Lease.Held)
}

// What becomes of a lease is told, once.
func TestEveryEndOfALeaseIsTold(t *testing.T) {
	const cool = 500 * time.Millisecond
	for name, x := range map[string]struct {
		end  func(t *testing.T, b *Breaker, manual *clock.Manual)
		want []LeaseNews
	}{
		"failed": {func(t *testing.T, b *Breaker, _ *clock.Manual) { calls(t, b, 1, Failure) },
			[]LeaseNews{{Token: 1, Verdict: LeaseReopened, Cooldown: cool}}},
		"silent": {func(t *testing.T, b *Breaker, manual *clock.Manual) { admitted(t, b); manual.Advance(30 * time.Second) },
			[]LeaseNews{{Token: 1, Verdict: LeaseReopened, Cooldown: 3812500 * time.Microsecond}}},
		"reset":   {func(_ *testing.T, b *Breaker, _ *clock.Manual) { b.Reset() }, []LeaseNews{{Token: 1}}},
		"tripped": {func(_ *testing.T, b *Breaker, _ *clock.Manual) { b.Trip() }, []LeaseNews{{Token: 1}}},
		"forced":  {func(_ *testing.T, b *Breaker, _ *clock.Manual) { b.SetMode(ForcedOpen) }, []LeaseNews{{Token: 1}}},
		"answered, then forced": {func(t *testing.T, b *Breaker, m *clock.Manual) {
			calls(t, b, 3, Success)
			m.Advance(0)
			b.SetMode(ForcedClosed)
		}, []LeaseNews{{Token: 1, Verdict: LeaseAnswered}, {Token: 1}}},
		"overtaken twice": {func(_ *testing.T, b *Breaker, _ *clock.Manual) {
			b.Reset()
			b.SetMode(ForcedOpen)
			b.SetMode(Auto)
			b.Reset() // the worker has not looked, and finds the end of another half-open
		}, []LeaseNews{{Token: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := new(fakeLease)
			b, manual, _ := leased(t, l, Config{})
			x.end(t, b, manual)
			manual.Advance(0)
			require.Equal(t, x.want, l.told())
			require.False(t, b.Snapshot().Lease.Held)
		})
	}
}

func TestPanicsOfALeaseAreErrors(t *testing.T) {
	boom := func(context.Context) (LeaseAnswer, error) { panic("boom") }
	t.Run("Ask", func(t *testing.T) {
		l := new(fakeLease)
		l.script = append(l.script, boom)
		b, _, told := leased(t, l, Config{})
		require.Equal(t, StateHalfOpen, b.State())
		require.Equal(t, ReasonLeaseFailed, lastReason(told))
		require.Contains(t, b.Snapshot().Lease.Error, "panicked")
	})
	t.Run("Go", func(t *testing.T) {
		l := new(fakeLease)
		l.gone = func(func()) { panic("boom") }
		b, manual, told := leased(t, l, Config{})
		for range 2 * maxLeaseCalls {
			require.Equal(t, StateHalfOpen, b.State())
			require.Equal(t, ReasonLeaseFailed, lastReason(told))
			require.Contains(t, b.Snapshot().Lease.Error, "panicked", "not stuck: none of them runs")
			calls(t, b, 1, Failure)
			manual.Advance(b.RetryAfter())
		}
	})
	t.Run("Go, after it ran what it was given", func(t *testing.T) {
		l := new(fakeLease)
		l.gone = func(f func()) { f(); f(); panic("boom") }
		b, _, _ := leased(t, l, Config{})
		require.Equal(t, 1, l.asked)
		require.True(t, b.Snapshot().Lease.Held)
	})
	t.Run("Tell", func(t *testing.T) {
		l := new(fakeLease)
		l.tell = func(context.Context, LeaseNews) error { panic("boom") }
		b, manual, _ := leased(t, l, Config{})
		recoverBy(t, b, manual)
		require.Len(t, l.told(), 2)
		require.Equal(t, uint64(2), b.Snapshot().Lease.Failed)
	})
}

// Calls that do not come back are not joined by more and more.
func TestHangingLeaseIsCalledABoundedNumberOfTimes(t *testing.T) {
	l := newLaterLease() // nothing ever runs
	b, manual, told := leased(t, l, Config{})
	for range 5 * maxLeaseCalls {
		manual.Advance(10 * time.Millisecond)
		require.Equal(t, StateHalfOpen, b.State())
		require.Equal(t, ReasonLeaseFailed, lastReason(told))
		calls(t, b, 1, Failure)
		manual.Advance(b.RetryAfter())
	}
	require.Len(t, l.waiting, maxLeaseCalls)
	require.Contains(t, b.Snapshot().Lease.Error, "have not come back")
	l.run()
	calls(t, b, 1, Failure)
	manual.Advance(b.RetryAfter())
	l.run()
	manual.Advance(0)
	require.True(t, b.Snapshot().Lease.Held, "it is asked again when they have")
}

// On the system's clock the Lease is asked on a goroutine of its own, with a
// deadline, and nobody waits for it.
func TestBlockingLeaseIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(fakeLease)
		l.gone = func(f func()) { go f() }
		var waited time.Duration
		l.script = append(l.script, func(ctx context.Context) (LeaseAnswer, error) {
			began := time.Now()
			<-ctx.Done()
			waited = time.Since(began)
			return LeaseAnswer{}, ctx.Err()
		})
		b := MustNew(Config{ConsecutiveFailures: 1, Cooldown: Cooldown{Jitter: Off}, Lease: l, LeaseTimeout: 30 * time.Millisecond})
		calls(t, b, 1, Failure)
		time.Sleep(500*time.Millisecond + 29*time.Millisecond)
		synctest.Wait()
		require.Equal(t, StateOpen, b.State())
		refused(t, b, ErrOpen)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, StateHalfOpen, b.State())
		require.True(t, b.Snapshot().Lease.Alone)
		require.Equal(t, 30*time.Millisecond, waited)
		// No goroutine is left: the bubble would not end otherwise.
	})
}

func TestDroppedBreakerWithALeaseIsCollected(t *testing.T) {
	for state, bring := range realStates {
		t.Run(state, func(t *testing.T) {
			l := new(fakeLease)
			held := func() interface{ Value() *Breaker } { return weakly(bring(t, Config{Lease: l})) }()
			waitUntil(t, func() bool { runtime.GC(); return held.Value() == nil })
		})
	}
}

func TestEndCooldown(t *testing.T) {
	t.Run("open", func(t *testing.T) {
		var told []Transition
		b, manual := opened(t, Config{OnTransition: func(tr Transition) { told = append(told, tr) }})
		require.True(t, b.EndCooldown())
		require.Equal(t, StateHalfOpen, b.State(), "not closed: evidence decides")
		require.Equal(t, 1, b.Snapshot().ProbeWindow)
		require.Equal(t, ReasonEndCooldownCalled, told[len(told)-1].Reason)
		require.False(t, b.EndCooldown())
		manual.Advance(time.Second)
		recoverBy(t, b, manual)
		require.False(t, b.EndCooldown())
	})
	t.Run("forced", func(t *testing.T) {
		b, _ := opened(t, Config{})
		b.SetMode(ForcedOpen)
		require.False(t, b.EndCooldown())
		require.Equal(t, StateOpen, b.State())
	})
	t.Run("after a refusal", func(t *testing.T) {
		l := new(fakeLease)
		l.script = append(l.script, refuse(time.Second))
		b, manual, _ := leased(t, l, Config{})
		require.True(t, b.EndCooldown())
		manual.Advance(time.Minute)
		require.Equal(t, 1, l.asked)
		require.False(t, b.Snapshot().Lease.Held)
		calls(t, b, 1, Failure)
		manual.Advance(b.RetryAfter())
		require.Equal(t, 2, l.asked, "a new opening asks anew")
	})
}

func TestWarningLowersTheStreakForAWhile(t *testing.T) {
	c := tripAfter(20)
	c.Lease = new(fakeLease)
	fresh := func() (*Breaker, *clock.Manual) { return made(t, c) }

	b, _ := fresh()
	b.Warn(5, time.Minute)
	calls(t, b, 4, Failure)
	calls(t, b, 1, Success)
	calls(t, b, 4, Failure)
	require.Equal(t, StateClosed, b.State(), "a streak is still a streak")
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())
	require.Equal(t, ReasonStreak, b.Snapshot().Reason)

	b, manual := fresh()
	b.Warn(5, time.Minute)
	manual.Advance(time.Minute)
	calls(t, b, 19, Failure)
	require.Equal(t, StateClosed, b.State(), "the while is over")
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())

	b, _ = fresh()
	b.Warn(5, time.Minute)
	b.Warn(0, 0)
	calls(t, b, 19, Failure)
	require.Equal(t, StateClosed, b.State(), "it was called off")

	b, _ = fresh()
	b.Warn(-3, time.Minute)
	calls(t, b, 1, Failure)
	require.Equal(t, StateOpen, b.State())

	c.ConsecutiveFailures, c.FailureRate = Off, 1
	b, _ = fresh()
	b.Warn(1, time.Minute)
	calls(t, b, 5, Failure)
	require.Equal(t, StateClosed, b.State(), "there is no streak rule to lower")
}

func TestLeaseTimeoutNeedsALease(t *testing.T) {
	require.ErrorContains(t, Config{LeaseTimeout: time.Second}.Validate(), "LeaseTimeout is 1s but Lease is nil, want both or neither")
	require.Equal(t, 10*time.Millisecond, Config{Lease: new(fakeLease)}.WithDefaults().LeaseTimeout)
}

// settings leaves out no field but those that only New needs, and mixes none up.
func TestSettingsAreTheConfig(t *testing.T) {
	var c Config
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.Uint8:
			f.SetUint(uint64(i + 1))
		case reflect.Float64:
			f.SetFloat(float64(i + 1))
		case reflect.String:
			f.SetString("a name")
		}
	}
	c.Cooldown.Min, c.Recovery.Quiet = 77, 78
	s := c.settings()
	kept := reflect.ValueOf(s)
	only := map[string]bool{"Stripes": true, "Lease": true, "LeaseTimeout": true}
	for field, value := range v.Fields() {
		if only[field.Name] {
			continue
		}
		got := kept.FieldByName(field.Name)
		require.True(t, got.IsValid(), field.Name)
		if field.Type.Comparable() && field.Type.Kind() != reflect.Interface {
			require.Equal(t, value.Interface(), got.Interface(), field.Name)
		}
	}
}
