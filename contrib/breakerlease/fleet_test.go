package breakerlease_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
	"github.com/stretchr/testify/require"
)

// member is one process of a fleet with one breaker.
type member struct {
	*atomicbreaker.Breaker
	fleet *breakerlease.Fleet
}

func join(t *testing.T, s breakerlease.Store, o breakerlease.FleetOptions, c atomicbreaker.Config) *member {
	t.Helper()
	o.Store = s
	f, err := breakerlease.NewFleet(o)
	require.NoError(t, err)
	if c.Name == "" {
		c.Name = "x"
	}
	c.Cooldown.Jitter = atomicbreaker.Off
	b, err := f.New(c)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return &member{b, f}
}

func (m *member) status() breakerlease.Status {
	s, _ := breakerlease.StatusOf(m.Breaker, m.Snapshot())
	return s
}

func (m *member) settle(t *testing.T, o atomicbreaker.Outcome) {
	t.Helper()
	ticket, err := m.Acquire()
	require.NoError(t, err)
	require.True(t, ticket.Report(o))
	synctest.Wait()
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// inBubble runs a test with a store in memory, on a clock that moves when all sleep.
func inBubble(t *testing.T, f func(t *testing.T, store *leasetest.Memory)) {
	synctest.Test(t, func(t *testing.T) { f(t, new(leasetest.Memory)) })
}

var longOpen = atomicbreaker.Config{Cooldown: atomicbreaker.Cooldown{Min: time.Hour, Max: time.Hour}}

const cooldown = 500 * time.Millisecond

func TestOneProbesForAll(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		all := make([]*member, 10)
		for i := range all {
			all[i] = join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		}
		after(30 * time.Second) // all have said hello
		count := func(state atomicbreaker.State) (n int) {
			for _, m := range all {
				if m.State() == state {
					n++
				}
			}
			return n
		}
		for _, m := range all {
			m.Trip()
		}
		after(cooldown)
		require.Equal(t, 1, count(atomicbreaker.StateHalfOpen))
		var holder, waiter *member
		for _, m := range all {
			if m.status().Held {
				holder = m
			} else {
				waiter = m
			}
		}
		require.NotEmpty(t, waiter.status().Holder)
		require.Equal(t, 10, waiter.status().Members)

		// It is renewed while a probe is out, and not longer.
		ticket, err := holder.Acquire()
		require.NoError(t, err)
		after(2 * time.Second)
		require.Equal(t, 1, count(atomicbreaker.StateHalfOpen))
		require.Equal(t, 2*time.Second, waiter.status().Waiting)

		// A failure: the next one probes when the lease has run out.
		require.True(t, ticket.Report(atomicbreaker.Failure))
		synctest.Wait()
		require.Equal(t, 0, count(atomicbreaker.StateHalfOpen))
		after(120 * time.Millisecond)
		require.Equal(t, 1, count(atomicbreaker.StateHalfOpen))
		require.NotEqual(t, atomicbreaker.StateHalfOpen, holder.State())

		// A success: all.
		for _, m := range all {
			if m.State() == atomicbreaker.StateHalfOpen {
				m.settle(t, atomicbreaker.Success)
				break
			}
		}
		require.Equal(t, 10, count(atomicbreaker.StateHalfOpen))
	})
}

// A lease that lives for too long, by mistake or from others, is none.
func TestLongLeaseStrandsNobody(t *testing.T) {
	t.Run("left by somebody else", func(t *testing.T) {
		inBubble(t, func(t *testing.T, store *leasetest.Memory) {
			_, err := store.Acquire(t.Context(), breakerlease.Request{Name: "x", TTL: time.Hour, Limit: 2 * time.Hour})
			require.NoError(t, err)
			var log bytes.Buffer
			m := join(t, store, breakerlease.FleetOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}, atomicbreaker.Config{})
			m.Trip()
			after(cooldown)
			require.Equal(t, atomicbreaker.StateHalfOpen, m.State())
			require.True(t, m.status().Held)
			require.Contains(t, log.String(), "replaced a lease")
		})
	})
	t.Run("members with a TTL of an hour", func(t *testing.T) {
		inBubble(t, func(t *testing.T, store *leasetest.Memory) {
			slow := join(t, store, breakerlease.FleetOptions{TTL: time.Hour}, atomicbreaker.Config{})
			m := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
			after(time.Second)
			slow.Trip()
			after(100 * time.Millisecond)
			m.Trip()
			after(cooldown - 100*time.Millisecond)
			require.True(t, slow.status().Held)
			slow.settle(t, atomicbreaker.Failure)
			after(cooldown + 5*time.Second*3/2) // waits for a lease are jittered, upwards
			require.Equal(t, atomicbreaker.StateHalfOpen, m.State(), "within Cooldown.Max, not after an hour")
			runtime.KeepAlive(slow)
		})
	})
	t.Run("a holder that is renewed and does nothing", func(t *testing.T) {
		inBubble(t, func(t *testing.T, store *leasetest.Memory) {
			holder := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
			m := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
			holder.Trip()
			after(10 * time.Millisecond)
			m.Trip()
			after(cooldown - 10*time.Millisecond)
			_, err := holder.Acquire() // hangs
			require.NoError(t, err)
			after(5*time.Second - 100*time.Millisecond)
			require.Equal(t, atomicbreaker.StateOpen, m.State(), "%+v %v", m.status(), m.Snapshot().Reason)
			after(200 * time.Millisecond)
			require.Equal(t, atomicbreaker.StateHalfOpen, m.State())
			require.True(t, m.status().Alone)
			require.Contains(t, m.status().Error, "in the way")
			runtime.KeepAlive(holder) // one that nobody holds gives its lease back
		})
	})
}

func verdict(kind, epoch, number string) string {
	return "v=2&from=another&kind=" + kind + "&name=x&epoch=" + epoch + "&number=" + number
}

// Verdicts that lie, by mistake or of another epoch, make nobody deaf.
func TestStrayVerdicts(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		m := join(t, store, breakerlease.FleetOptions{OpenWithOthers: true}, longOpen)
		after(time.Second)
		say := func(text string) atomicbreaker.State {
			require.NoError(t, store.Publish(t.Context(), text))
			synctest.Wait()
			return m.State()
		}
		reopen := func() { m.Reset(); m.Trip() }
		const open, halfOpen = atomicbreaker.StateOpen, atomicbreaker.StateHalfOpen
		for i, x := range []struct {
			text string
			want atomicbreaker.State
		}{
			{verdict("answered", "e1", "5"), halfOpen},
			{verdict("answered", "e1", "5"), open}, // twice
			{verdict("recovered", "e1", "5"), halfOpen},
			{verdict("answered", "e1", "4"), open},                    // older
			{verdict("answered", "e1", "4000000000000"), halfOpen},    // a hint
			{verdict("answered", "e1", "4000000000001"), open},        // too soon for another
			{verdict("answered", "e1", "6"), halfOpen},                // and it is not deaf
			{verdict("answered", "e1", "99999999999999999999"), open}, // no number
			{verdict("answered", "", "7"), open},
			{verdict("unheard-of", "e1", "7"), open},
			{strings.Replace(verdict("answered", "e1", "7"), "v=2", "v=3", 1), open},
			{strings.Replace(verdict("answered", "e1", "7"), "name=x", "name=y", 1), open},
			{"rubbish;%zz", open},
			{strings.Repeat("x", 10_000), open},
		} {
			reopen()
			require.Equal(t, x.want, say(x.text), "%d: %s", i, x.text)
		}
		// Another epoch is only a hint, until the store itself is in it.
		after(time.Second)
		reopen()
		require.Equal(t, halfOpen, say(verdict("answered", "e2", "1")))
		reopen()
		require.Equal(t, open, say(verdict("answered", "e2", "2")))
		require.Equal(t, halfOpen, say(verdict("answered", "e1", "7")))
		m.Reset()
		after(time.Second)
		require.Equal(t, atomicbreaker.StateClosed, say(verdict("reopened", "e2", "9")), "a hint opens nobody")
		require.Equal(t, open, say(verdict("reopened", "e1", "8")))
	})
}

// A store that comes back empty begins a new epoch, and is heard at once.
func TestStoreThatComesBackEmpty(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		one := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		other := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		after(time.Second)
		for range 20 {
			one.Trip()
			after(cooldown)
			one.Reset()
			after(time.Millisecond)
		}
		store.Lose()
		one.Trip()
		after(10 * time.Millisecond)
		other.Trip()
		after(cooldown + 10*time.Millisecond)
		require.True(t, one.status().Held)
		one.settle(t, atomicbreaker.Success)
		require.Equal(t, atomicbreaker.StateHalfOpen, other.State())
	})
}

// Who recovers alone tells those that wait.
func TestLoneRecoveryIsHeard(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		lone := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		other := join(t, store, breakerlease.FleetOptions{}, longOpen)
		after(time.Second)
		store.Fail(errors.New("read only"))
		lone.Trip()
		other.Trip()
		after(cooldown + 25*time.Millisecond)
		require.True(t, lone.status().Alone)
		store.Fail(nil)
		lone.settle(t, atomicbreaker.Success)
		require.Equal(t, atomicbreaker.StateHalfOpen, other.State())
	})
}

// A store that is slower than a breaker waits makes it probe alone; what it
// grants too late goes back.
func TestSlowStore(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		m := join(t, store, breakerlease.FleetOptions{TTL: 5 * time.Second}, atomicbreaker.Config{})
		after(time.Second)
		store.Delay(200 * time.Millisecond)
		m.Trip()
		after(cooldown + 25*time.Millisecond)
		require.Equal(t, atomicbreaker.StateHalfOpen, m.State())
		require.True(t, m.status().Alone)
		after(400 * time.Millisecond)
		store.Delay(0)
		a, err := store.Acquire(t.Context(), breakerlease.Request{Name: "x", TTL: time.Second, Limit: time.Hour})
		require.NoError(t, err)
		require.True(t, a.Granted)
		require.Equal(t, uint64(2), a.Token.Number, "the first was granted, and given back")
	})
}

// A store that stands still costs a breaker the Timeout at each cooldown, a
// bounded number of goroutines, and Close next to nothing.
func TestStoreThatStandsStill(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		m := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		after(time.Second)
		store.Pause()
		for range 50 {
			m.Reset()
			m.Trip()
			after(cooldown + 25*time.Millisecond)
			require.Equal(t, atomicbreaker.StateHalfOpen, m.State())
			require.True(t, m.status().Alone)
		}
		began := time.Now()
		m.fleet.Close()
		require.LessOrEqual(t, time.Since(began), 50*time.Millisecond)
		store.Resume()
	})
}

// stubborn is a Store whose Acquire does not end with its context, as a client
// does not that looks at deadlines only.
type stubborn struct {
	*leasetest.Memory
	until chan struct{}
}

func (s stubborn) Acquire(context.Context, breakerlease.Request) (breakerlease.Acquired, error) {
	<-s.until
	return breakerlease.Acquired{}, errors.New("too late")
}

func TestCloseDoesNotWaitForAStubbornStore(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		s := stubborn{store, make(chan struct{})}
		m := join(t, s, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		m.Trip()
		after(cooldown + 25*time.Millisecond)
		require.True(t, m.status().Alone)
		began := time.Now()
		time.AfterFunc(time.Minute, func() { close(s.until) })
		m.fleet.Close()
		require.LessOrEqual(t, time.Since(began), 50*time.Millisecond)
		after(time.Minute)
	})
}

// Members that disagree are told of, once in the log.
func TestDisagreementsAreTold(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		var log bytes.Buffer
		one := join(t, store, breakerlease.FleetOptions{Identity: "stock", Logger: slog.New(slog.NewTextHandler(&log, nil))}, atomicbreaker.Config{})
		join(t, store, breakerlease.FleetOptions{Identity: "stock"}, atomicbreaker.Config{})
		after(30 * time.Second)
		require.Empty(t, one.fleet.Status().Faults)
		odd := join(t, store, breakerlease.FleetOptions{Identity: "billing", TTL: time.Second}, atomicbreaker.Config{})
		after(time.Minute)
		s := one.fleet.Status()
		require.Equal(t, 3, s.Members)
		require.True(t, s.Listening)
		require.Len(t, s.Faults, 2)
		require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log.String())
		require.Contains(t, log.String(), "TTL 1s, this one 100ms")
		require.Contains(t, log.String(), "two fleets")
		odd.fleet.Close()
		after(time.Minute)
		require.Equal(t, 2, one.fleet.Status().Members)
	})
}

func TestClosedFleetLeavesEachForItself(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		m := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		m.Trip()
		after(cooldown)
		require.True(t, m.status().Held)
		m.fleet.Close()
		a, err := store.Acquire(t.Context(), breakerlease.Request{Name: "x", TTL: time.Second, Limit: time.Hour})
		require.NoError(t, err)
		require.True(t, a.Granted, "its lease was released")
		m.Reset()
		m.Trip()
		after(cooldown + 25*time.Millisecond)
		require.True(t, m.status().Alone)
		require.Contains(t, m.status().Error, "closed")
	})
}

// Who was not listening is told by the answer to its next question.
func TestVerdictIsToldWithARefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		a, err := store.Acquire(t.Context(), breakerlease.Request{Name: "x", TTL: time.Second, Limit: time.Hour})
		require.NoError(t, err)
		require.NoError(t, store.End(t.Context(), "x", a.Token, breakerlease.Ending{
			Least: time.Second, Most: time.Second, Message: verdict("answered", a.Token.Epoch, "1"),
		}))
		m := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		m.Trip()
		after(cooldown)
		require.Equal(t, atomicbreaker.StateHalfOpen, m.State())
		require.False(t, m.status().Held)
		require.False(t, m.status().Alone)
	})
}

func TestFleetOptionsAreChecked(t *testing.T) {
	_, err := breakerlease.NewFleet(breakerlease.FleetOptions{TTL: 1, Timeout: time.Hour, LogEvery: 1})
	for _, want := range []string{"Store is nil", "TTL is 1ns, want 10ms to 1h0m0s", "Timeout is 1h0m0s", "LogEvery is 1ns"} {
		require.ErrorContains(t, err, want)
	}
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		f := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{}).fleet
		_, err := f.New(atomicbreaker.Config{})
		require.ErrorContains(t, err, "Name is empty")
		_, err = f.Config(atomicbreaker.Config{})
		require.ErrorContains(t, err, "Name is empty")
		_, err = f.New(atomicbreaker.Config{Name: "x", Window: -1})
		require.ErrorContains(t, err, "Config.Window")
	})
}

// Without a Timeout of its own, a Fleet waits for a store that is far away.
func TestTimeoutFollowsTheRoundTrip(t *testing.T) {
	for _, x := range []struct {
		trip, timeout time.Duration
		alone         bool
	}{
		{20 * time.Millisecond, 0, false},
		{70 * time.Millisecond, 0, false},
		{300 * time.Millisecond, 0, true},
		{20 * time.Millisecond, 10 * time.Millisecond, true},
	} {
		inBubble(t, func(t *testing.T, store *leasetest.Memory) {
			store.Delay(x.trip)
			m := join(t, store, breakerlease.FleetOptions{Timeout: x.timeout}, atomicbreaker.Config{})
			after(2 * time.Second)
			m.Trip()
			after(cooldown + 260*time.Millisecond)
			require.Equal(t, atomicbreaker.StateHalfOpen, m.State())
			require.Equal(t, x.alone, m.status().Alone, "%v", x)
		})
	}
}

// Who has the lease and no calls lets it run out.
func TestIdleHolderKeepsNobodyWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T, store *leasetest.Memory) {
		idle := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		other := join(t, store, breakerlease.FleetOptions{}, atomicbreaker.Config{})
		idle.Trip()
		after(10 * time.Millisecond)
		other.Trip()
		after(cooldown)
		require.True(t, idle.status().Held)
		require.False(t, other.status().Held)
		after(150 * time.Millisecond)
		require.True(t, other.status().Held)
	})
}
