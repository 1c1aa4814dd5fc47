package breakerredis

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// small makes a Fleet on a miniredis; each call is a process of its own.
func small(t *testing.T, m *miniredis.Miniredis, o Options) *Fleet {
	t.Helper()
	client := redis.NewClient(Tuned(redis.Options{Addr: m.Addr()}))
	o.Client = client
	if o.Timeout == 0 {
		o.Timeout = time.Second // a busy machine is not the subject
	}
	f, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close(); _ = client.Close() })
	return f
}

// pair is two breakers of one name in two processes, both open.
func pair(t *testing.T, o Options) (m *miniredis.Miniredis, one, other *atomicbreaker.Breaker) {
	t.Helper()
	m = miniredis.RunT(t)
	c := quick("x")
	c.Cooldown = atomicbreaker.Cooldown{Min: 50 * time.Millisecond, Jitter: atomicbreaker.Off}
	a, b := small(t, m, o), small(t, m, o)
	eventually(t, 5*time.Second, "both listen", func() bool {
		return len(m.PubSubNumSub("circuitbreaker")) == 1 && m.PubSubNumSub("circuitbreaker")["circuitbreaker"] == 2
	})
	one, err := a.New(c)
	require.NoError(t, err)
	c.Cooldown = atomicbreaker.Cooldown{Min: time.Hour, Max: time.Hour}
	other, err = b.New(c)
	require.NoError(t, err)
	return m, one, other
}

func probe(t *testing.T, b *atomicbreaker.Breaker, o atomicbreaker.Outcome) {
	t.Helper()
	eventually(t, 5*time.Second, "a lease", func() bool { return statusOf(b).Held })
	ticket, err := b.Acquire()
	require.NoError(t, err)
	require.True(t, ticket.Report(o))
}

// A verdict makes the others half-open at once, and not closed.
func TestOthersActOnAVerdict(t *testing.T) {
	_, one, other := pair(t, Options{})
	one.Trip()
	other.Trip()
	probe(t, one, atomicbreaker.Success)
	eventually(t, 5*time.Second, "the other is half-open", func() bool { return other.State() == atomicbreaker.StateHalfOpen })
	require.Equal(t, atomicbreaker.ReasonEndCooldownCalled, other.Snapshot().Reason)
	require.Equal(t, 1, other.Snapshot().ProbeWindow)
	require.False(t, statusOf(other).Held)
	eventually(t, 5*time.Second, "one closes", func() bool { return one.State() == atomicbreaker.StateClosed })
	require.Equal(t, atomicbreaker.StateHalfOpen, other.State(), "evidence of its own decides")
}

func TestOthersOpenEarlyOnlyIfConfigured(t *testing.T) {
	for _, with := range []bool{false, true} {
		m, one, other := pair(t, Options{OpenWithOthers: with})
		one.Trip()
		probe(t, one, atomicbreaker.Failure)
		want := atomicbreaker.StateClosed
		if with {
			want = atomicbreaker.StateOpen
			eventually(t, 5*time.Second, "the other opens", func() bool { return other.State() == want })
		}
		// A later verdict is heard after an earlier one: the first was not acted upon.
		eventually(t, 5*time.Second, "open", func() bool { return one.State() == atomicbreaker.StateOpen })
		m.FastForward(time.Minute)
		probe(t, one, atomicbreaker.Success)
		eventually(t, 5*time.Second, "one closes", func() bool { return one.State() == atomicbreaker.StateClosed })
		if !with {
			require.Equal(t, want, other.State())
			require.Zero(t, other.Snapshot().Opened)
		}
	}
}

// A breaker without calls lets its lease run out; a Fleet that is closed, and
// a breaker that is gone, give theirs back.
func TestLeasesOfTheIdleAndTheGone(t *testing.T) {
	m := miniredis.RunT(t)
	client := redis.NewClient(Tuned(redis.Options{Addr: m.Addr()}))
	defer client.Close()
	f, err := New(Options{Client: client, TTL: 30 * time.Millisecond, Timeout: time.Second})
	require.NoError(t, err)
	c := quick("x")
	c.Cooldown = atomicbreaker.Cooldown{Min: 10 * time.Millisecond}
	b, err := f.New(c)
	require.NoError(t, err)
	b.Trip()
	key, _, _ := storeOn(t, m.Addr()).keys("x")
	eventually(t, 5*time.Second, "a lease", func() bool { return statusOf(b).Held })
	token, err := m.Get(key)
	require.NoError(t, err)
	m.SetTTL(key, time.Hour) // its clock stands still: renewals would set 30 ms
	done := time.Now().Add(100 * time.Millisecond)
	eventually(t, 5*time.Second, "some ticks", func() bool { return time.Now().After(done) })
	require.Equal(t, time.Hour, m.TTL(key), "renewed without a probe")

	// With a probe it is renewed, until Close gives it back.
	b.Reset()
	eventually(t, 5*time.Second, "given back", func() bool { return !m.Exists(key) })
	b.Trip()
	eventually(t, 5*time.Second, "a lease", func() bool { return statusOf(b).Held })
	_, err = b.Acquire()
	require.NoError(t, err)
	m.SetTTL(key, time.Hour)
	eventually(t, 5*time.Second, "renewed", func() bool { return m.TTL(key) == 30*time.Millisecond })
	now, err := m.Get(key)
	require.NoError(t, err)
	require.NotEqual(t, token, now)
	f.Close()
	require.False(t, m.Exists(key))
}

// All keys of a name lie in one slot of a Cluster, whatever the name.
func TestKeysOfANameShareASlot(t *testing.T) {
	client := redis.NewClient(Tuned(redis.Options{Addr: "127.0.0.1:1"}))
	defer client.Close()
	s, err := NewStore(client, "p")
	require.NoError(t, err)
	for _, name := range []string{"x", "a b", "}", "{", "{}", "a}b{c", "ü"} {
		lease, fence, verdict := s.keys(name)
		tag := lease[:strings.Index(lease, "}")+1]
		require.True(t, strings.HasPrefix(tag, "{p:") && len(tag) > 4, lease)
		require.Equal(t, []string{tag + ":lease", tag + ":fence", tag + ":verdict"}, []string{lease, fence, verdict})
	}
}

// A store in memory that is a Redis but for its clock, which can jump.
func TestStoreOnMiniredis(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) leasetest.Server {
		m := miniredis.RunT(t)
		stop := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { // its clock stands by itself
			for tick := time.NewTicker(10 * time.Millisecond); ; {
				select {
				case <-stop:
					tick.Stop()
					return
				case <-tick.C:
					m.FastForward(10 * time.Millisecond)
				}
			}
		})
		t.Cleanup(func() { close(stop); all.Wait() })
		return leasetest.Server{
			Connect: func(t *testing.T) breakerlease.Store { return storeOn(t, m.Addr()) },
			Lose:    func(*testing.T) { m.FlushAll() },
			Jump: func(_ *testing.T, d time.Duration) {
				if d > 0 {
					m.FastForward(d)
				}
			},
		}
	})
}

// storeOn is a Store with connections of its own.
func storeOn(t *testing.T, addr string) *Store {
	t.Helper()
	client := redis.NewClient(Tuned(redis.Options{Addr: addr}))
	t.Cleanup(func() { _ = client.Close() })
	s, err := NewStore(client, "")
	require.NoError(t, err)
	return s
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := New(Options{Prefix: "a{b", TTL: 1, Timeout: time.Hour, LogEvery: 1})
	for _, want := range []string{"Client is nil", `Prefix is "a{b"`, "TTL is 1ns, want 10ms to 1h0m0s", "Timeout is 1h0m0s", "LogEvery is 1ns"} {
		require.ErrorContains(t, err, want)
	}
	slow := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer slow.Close()
	_, err = New(Options{Client: slow})
	require.ErrorContains(t, err, "ContextTimeoutEnabled")

	f := small(t, miniredis.RunT(t), Options{})
	_, err = f.New(atomicbreaker.Config{})
	require.ErrorContains(t, err, "Name is empty")
	_, err = f.New(atomicbreaker.Config{Name: "x", Window: -1})
	require.ErrorContains(t, err, "Config.Window")
	_, err = f.Config(atomicbreaker.Config{})
	require.ErrorContains(t, err, "Name is empty")
}
