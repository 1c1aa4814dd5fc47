package breakerwatch

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/stretchr/testify/require"
)

// TestAnOutageIsOneRecord however often the breaker probes, and though the
// events of its beginning are long gone.
func TestAnOutageIsOneRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		b := w.made(t, "b")
		require.Nil(t, w.Read(nil)[0].Outage)
		time.Sleep(time.Second)
		began := time.Now()
		call(t, b, 0, atomicbreaker.Failure)
		refusal(t, b)
		const reopened, wait = 600, cooldown + time.Millisecond
		for range reopened {
			time.Sleep(wait)
			call(t, b, 0, atomicbreaker.Failure)
			refusal(t, b)
		}
		require.Greater(t, w.Events(0)[0].Number, uint64(1), "the event of the opening is kept; the test is too short")

		r := w.Read(nil)[0]
		o := r.Outage
		require.NotNil(t, o)
		require.Equal(t, began, o.Began)
		require.Equal(t, atomicbreaker.ReasonStreak, o.Reason)
		require.EqualValues(t, 1, o.Counts.Failures)
		require.Equal(t, reopened*wait, o.Lasted(time.Now()))
		require.EqualValues(t, reopened, o.Reopened)
		require.EqualValues(t, reopened, o.ProbesFailed)
		require.EqualValues(t, reopened+1, o.Refused)
		require.False(t, o.Partial)
		require.Empty(t, w.Outages(0))
		require.EqualValues(t, 0, r.OpenedLately, "it opened 100 minutes ago")

		time.Sleep(wait)
		call(t, b, 0, atomicbreaker.Success)
		require.Nil(t, w.Read(nil)[0].Outage)
		past := w.Outages(0)
		require.Len(t, past, 1)
		require.EqualValues(t, 1, past[0].Number)
		require.Equal(t, time.Now(), past[0].Ended)
		require.Equal(t, atomicbreaker.ReasonRecovered, past[0].Ending)
		require.EqualValues(t, 1, past[0].ProbesSucceeded)
		require.Equal(t, (reopened+1)*wait, past[0].Lasted(time.Now().Add(time.Hour)))
		require.False(t, past[0].Gone)
		require.Empty(t, w.Outages(1))
	})
}

// TestAnOutageMetInTheMiddle begins with the state that it was met in, and the
// listener that comes later does not make two of it.
func TestAnOutageMetInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		b := atomicbreaker.MustNew(config("b")) // whose listeners tell nobody
		require.NoError(t, w.Add(b))
		began := time.Now()
		b.Trip()
		time.Sleep(cooldown / 2)
		o := w.Read(nil)[0].Outage
		require.Equal(t, began, o.Began)
		require.Equal(t, atomicbreaker.ReasonTripCalled, o.Reason)
		require.True(t, o.Partial)
		time.Sleep(cooldown)
		require.Equal(t, began, w.Read(nil)[0].Outage.Began, "half-open is the same outage")
		b.Reset()
		ended := time.Now()
		time.Sleep(time.Second)
		require.Nil(t, w.Read(nil)[0].Outage)
		require.Equal(t, ended, w.Outages(0)[0].Ended)
		require.Equal(t, atomicbreaker.ReasonResetCalled, w.Outages(0)[0].Ending)

		b.Trip()
		generation := w.Read(nil)[0].Generation
		w.Transition(atomicbreaker.Transition{Name: "b", From: atomicbreaker.StateClosed, To: atomicbreaker.StateOpen,
			Generation: generation, Reason: atomicbreaker.ReasonStreak})
		o = w.Read(nil)[0].Outage
		require.False(t, o.Partial, "the listener was told late")
		require.Equal(t, atomicbreaker.ReasonStreak, o.Reason)
		require.Len(t, w.Outages(0), 1)
	})
}

// TestTheOutageOfABreakerThatIsGone ends, and the next breaker of its name has
// none of it.
func TestTheOutageOfABreakerThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		group, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{Config: w.Config(config(""))})
		require.NoError(t, err)
		w.AddAll(Values(group.All()))
		call(t, group.Get("a"), 0, atomicbreaker.Failure)
		require.NotNil(t, w.Read(nil)[0].Outage)
		time.Sleep(time.Second)
		group.Remove("a")
		group.Get("a")
		require.Nil(t, w.Read(nil)[0].Outage)
		require.True(t, w.Outages(0)[0].Gone)

		call(t, group.Get("a"), 0, atomicbreaker.Failure)
		group.Remove("a")
		time.Sleep(time.Second)
		call(t, group.Get("a"), 0, atomicbreaker.Failure) // between two readings
		o := w.Read(nil)[0].Outage
		require.Equal(t, time.Now(), o.Began)
		require.Len(t, w.Outages(0), 2)

		group.Remove("a")
		w.Read(nil)
		w.Read(nil)
		require.Len(t, w.Outages(0), 3)
		require.True(t, w.Outages(2)[0].Gone)
	})
}

func TestOutagesThatAreOverAreBounded(t *testing.T) {
	var w Watch
	b := w.made(t, "b")
	for range 2*maxOutages + 1 {
		b.Trip()
		b.Reset()
	}
	// The breaker's worker may be the one that tells of the last changes.
	require.Eventually(t, func() bool {
		past := w.Outages(0)
		return len(past) > 0 && past[len(past)-1].Number == 2*maxOutages+1
	}, 10*time.Second, time.Millisecond)
	past := w.Outages(0)
	require.Len(t, past, maxOutages)
	require.EqualValues(t, 2*maxOutages+1, past[maxOutages-1].Number)
	require.EqualValues(t, maxOutages+2, past[0].Number)
}

// TestOpeningsOfTheLastQuarterOfAnHour leave it by the minute.
func TestOpeningsOfTheLastQuarterOfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		b := w.made(t, "b")
		for range 20 {
			b.Trip()
			b.Trip() // is nothing
			b.Reset()
			time.Sleep(time.Minute)
		}
		lately := func() uint64 { return w.Read(nil)[0].OpenedLately }
		require.EqualValues(t, 14, lately(), "the minute that runs has none")
		b.Trip()
		require.EqualValues(t, 15, lately())
		time.Sleep(10 * time.Minute)
		require.EqualValues(t, 5, lately())
		time.Sleep(time.Hour)
		require.Zero(t, lately())
	})
}

// TestTotalsGoOnWhereABreakerIsReplaced so that a rate does not take the new
// one for the old one.
func TestTotalsGoOnWhereABreakerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		group, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{Config: w.Config(config(""))})
		require.NoError(t, err)
		w.AddAll(Values(group.All()))
		time.Sleep(time.Minute)
		made := time.Now()
		group.Get("a")
		w.Read(nil)
		for n := range uint64(3) {
			for range 5 {
				call(t, group.Get("a"), 0, atomicbreaker.Success)
			}
			call(t, group.Get("a"), 0, atomicbreaker.Failure)
			refusal(t, group.Get("a"))
			time.Sleep(time.Second)
			r := w.Read(nil)[0]
			require.EqualValues(t, []uint64{5 * (n + 1), n + 1, n + 1, n + 1}, []uint64{r.Succeeded, r.Failed, r.RefusedOpen, r.Opened})
			require.Equal(t, time.Duration(n+1)*time.Second, r.TimeOpen)
			require.Equal(t, made, r.Counted)
			require.EqualValues(t, 1, r.Outage.Refused)
			group.Remove("a")
		}

		first, second := atomicbreaker.MustNew(w.Config(config("twin"))), atomicbreaker.MustNew(w.Config(config("twin")))
		call(t, first, 0, atomicbreaker.Success)
		order := []*atomicbreaker.Breaker{first, second}
		w.AddAll(func(yield func(*atomicbreaker.Breaker) bool) { _ = yield(order[0]) && yield(order[1]) })
		for range 10 {
			r := w.Read(nil)[0]
			require.LessOrEqual(t, r.Succeeded, uint64(1), "two that take turns add up")
			order[0], order[1] = order[1], order[0]
		}
	})
}

type status int

func (s status) Error() string       { return fmt.Sprint("status ", int(s)) }
func (s status) BreakerKind() string { return "status" }

type timeout struct{}

func (timeout) Error() string { return "slow" }
func (timeout) Timeout() bool { return true }

type broken struct{}

func (*broken) Error() string { panic("broken") }

func (*broken) Is(error) bool { panic("broken") }

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{errors.New("x"), KindOther}, {nil, KindOther}, {&broken{}, KindOther},
		{context.DeadlineExceeded, KindTimeout}, {os.ErrDeadlineExceeded, KindTimeout}, {timeout{}, KindTimeout},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, KindRefused},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, KindReset}, {io.ErrUnexpectedEOF, KindReset},
		{&net.DNSError{IsNotFound: true}, KindName}, {&net.DNSError{IsTimeout: true}, KindTimeout},
		{tls.RecordHeaderError{}, KindTLS}, {&tls.CertificateVerificationError{Err: errors.New("x")}, KindTLS},
		{syscall.EMFILE, KindLocal}, {context.Canceled, KindCancelled},
		{status(503), KindStatus}, {fmt.Errorf("outer: %w", status(503)), KindStatus},
	} {
		require.Equal(t, c.want, KindOf(c.err), "%#v", c.err)
	}
	seen := map[string]bool{}
	for _, k := range Kinds() {
		text, err := k.MarshalText()
		require.NoError(t, err)
		require.False(t, seen[string(text)] || string(text) == "")
		seen[string(text)] = true
	}
	_, err := Kind(allKinds).MarshalText()
	require.Error(t, err)
}

// TestErrorsAreToldByKindAndBounded: the breaker's own judgement stays.
func TestErrorsAreToldByKindAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w Watch
		c := config("b")
		c.ConsecutiveFailures = 3
		c.Classify = func(err error) atomicbreaker.Outcome {
			if errors.Is(err, io.EOF) {
				return atomicbreaker.Success
			}
			return atomicbreaker.Failure
		}
		b := atomicbreaker.MustNew(w.Errors(w.Config(c)))
		require.NoError(t, w.Add(b))
		do := func(err error) {
			_ = b.Do(t.Context(), func(context.Context) error { return err })
		}
		_, told := w.Read(nil)[0].Errors()
		require.False(t, told)
		do(io.EOF)
		do(nil)
		_, told = w.Read(nil)[0].Errors()
		require.False(t, told)

		do(syscall.ECONNREFUSED)
		first := time.Now()
		do(syscall.ECONNREFUSED)
		time.Sleep(time.Second)
		do(errors.New("\u202eevil\n" + strings.Repeat("é", 500)))
		r := w.Read(nil)[0]
		require.Equal(t, atomicbreaker.StateOpen, r.State)
		e, _ := r.Errors()
		require.EqualValues(t, 2, e.Counts[KindRefused])
		require.EqualValues(t, 1, e.Counts[KindOther])
		require.Equal(t, first.Add(time.Second), e.Last.Time)
		require.LessOrEqual(t, len(e.Last.Text), maxErrorText)
		require.True(t, utf8.ValidString(e.Last.Text))
		require.True(t, strings.HasPrefix(e.Last.Text, `\u202eevil\né`), e.Last.Text)
		require.Equal(t, e.Last, r.Outage.Error, "what opened it")

		text, err := json.Marshal(r)
		require.NoError(t, err)
		require.Contains(t, string(text), `"errors":{"kinds":{"other":1,"refused":2},"last":`)
		require.Contains(t, string(text), `"outage":{`)

		w.Failure("b", KindStatus, &broken{})
		e, _ = w.Read(nil)[0].Errors()
		require.Contains(t, e.Last.Text, "panics")
		w.Failure("b", allKinds, nil)
	})
}

// TestLimitsAreThoseOfTheConfiguration, with the defaults, and off where off.
func TestLimitsAreThoseOfTheConfiguration(t *testing.T) {
	var w Watch
	b := atomicbreaker.MustNew(w.Config(atomicbreaker.Config{Name: "b"}))
	strict := atomicbreaker.MustNew(w.Config(atomicbreaker.Config{
		Name: "strict", FailureRate: atomicbreaker.Off, ConsecutiveFailures: 3, SlowCallDuration: time.Second, SlowCallRate: 0.2, MinimumCalls: 50,
	}))
	stranger := atomicbreaker.MustNew(atomicbreaker.Config{Name: "stranger"})
	group, err := atomicbreaker.NewGroup(atomicbreaker.GroupConfig[string]{Config: w.Config(atomicbreaker.Config{Name: "hosts eu", FailureRate: 0.25})})
	require.NoError(t, err)
	require.NoError(t, w.Add(b, strict, stranger, group.Get("a b")))
	readings := w.Read(nil)
	require.Equal(t, &Limits{MinimumCalls: 10, FailureRate: 0.5, ConsecutiveFailures: 20, Sooner: true}, readings[0].Limits)
	require.Equal(t, &Limits{MinimumCalls: 50, SlowCallRate: 0.2, ConsecutiveFailures: 3}, readings[1].Limits)
	require.Nil(t, readings[2].Limits)
	require.Equal(t, 0.25, readings[3].Limits.FailureRate)

	near := readings[0].Limits.Near
	require.Zero(t, near(atomicbreaker.Counts{}))
	require.InDelta(t, 0.5, near(atomicbreaker.Counts{Calls: 100, Failures: 25}), 1e-9)
	require.InDelta(t, 0.5, near(atomicbreaker.Counts{Calls: 5, Failures: 5}), 1e-9, "half of the minimum")
	require.InDelta(t, 1, near(atomicbreaker.Counts{Calls: 100, Failures: 90}), 1e-9)
	require.InDelta(t, 0.5, readings[1].Limits.Near(atomicbreaker.Counts{Calls: 100, Failures: 90, Slow: 10}), 1e-9)

	for i := range maxLimits + 10 {
		w.Config(atomicbreaker.Config{Name: fmt.Sprint("n", i)})
	}
	n := 0
	for range w.limits.Range {
		n++
	}
	require.Equal(t, maxLimits, n)
}
