package breakerredis

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
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

func TestLeaseIsOneAtATime(t *testing.T) {
	m := miniredis.RunT(t)
	f := small(t, m, Options{TTL: time.Second})
	ctx := context.Background()
	k := f.team("x").keys
	first, err := f.acquire(ctx, k)
	require.NoError(t, err)
	require.NotZero(t, first.token)

	second, err := f.acquire(ctx, k)
	require.NoError(t, err)
	require.Equal(t, acquired{wait: time.Second, owner: first.token}, second)

	m.FastForward(900 * time.Millisecond)
	mine, err := f.renew(ctx, k, first.token)
	require.NoError(t, err)
	require.True(t, mine)
	m.FastForward(900 * time.Millisecond)
	mine, err = f.renew(ctx, k, first.token+1)
	require.NoError(t, err)
	require.False(t, mine, "another's lease")
	second, err = f.acquire(ctx, k)
	require.NoError(t, err)
	require.Equal(t, acquired{wait: 100 * time.Millisecond, owner: first.token}, second, "renewed once, and not by the wrong token")

	m.FastForward(100 * time.Millisecond)
	second, err = f.acquire(ctx, k)
	require.NoError(t, err)
	require.Greater(t, second.token, first.token)
	require.Less(t, m.TTL(k.fence), 25*time.Hour)
	require.NotZero(t, m.TTL(k.fence), "no key is left for ever")
}

// Tokens grow though the server's clock stands, or goes back.
func TestTokensGrowWhateverTheClockDoes(t *testing.T) {
	m := miniredis.RunT(t)
	f := small(t, m, Options{TTL: time.Second})
	k := f.team("x").keys
	now := time.Unix(1_800_000_000, 0)
	var last uint64
	for i, step := range []time.Duration{0, 0, -time.Hour, 0, time.Second, 24 * time.Hour} {
		now = now.Add(step)
		m.SetTime(now)
		got, err := f.acquire(context.Background(), k)
		require.NoError(t, err)
		require.Greater(t, got.token, last, "step %d", i)
		last = got.token
		m.Del(k.lease)
	}
	require.Equal(t, uint64(now.UnixMicro()), last)
}

func TestHowALeaseEnds(t *testing.T) {
	for verdict, x := range map[breakerlease.Verdict]struct {
		cooldown time.Duration
		left     time.Duration
		told     bool
	}{
		breakerlease.Unused:    {0, 0, false},
		breakerlease.Recovered: {0, 0, true},
		breakerlease.Answered:  {0, time.Second, true},
		breakerlease.Reopened:  {5 * time.Second, time.Second, true}, // a tenth is shorter than what is left
	} {
		t.Run(verdict.String(), func(t *testing.T) {
			m := miniredis.RunT(t)
			f := small(t, m, Options{TTL: time.Second})
			k := f.team("x").keys
			ctx := context.Background()
			got, err := f.acquire(ctx, k)
			require.NoError(t, err)
			n := breakerlease.News{Token: got.token, Verdict: verdict, Cooldown: x.cooldown}
			require.NoError(t, f.tell(ctx, k, "x", n))
			require.Equal(t, x.left, m.TTL(k.lease))
			require.Equal(t, x.told, m.Exists(k.verdict))

			stale := n
			stale.Token--
			require.NoError(t, f.tell(ctx, k, "x", stale))
			require.Equal(t, x.left, m.TTL(k.lease), "a stale token ends nothing")
		})
	}
	t.Run("reopened in a long outage", func(t *testing.T) {
		m := miniredis.RunT(t)
		f := small(t, m, Options{TTL: time.Second})
		k := f.team("x").keys
		got, err := f.acquire(context.Background(), k)
		require.NoError(t, err)
		n := breakerlease.News{Token: got.token, Verdict: breakerlease.Reopened, Cooldown: time.Minute}
		require.NoError(t, f.tell(context.Background(), k, "x", n))
		require.Equal(t, 6*time.Second, m.TTL(k.lease))
	})
}

// All keys of a name lie in one slot of a Cluster, whatever the name.
func TestKeysOfANameShareASlot(t *testing.T) {
	for _, name := range []string{"x", "a b", "}", "{", "{}", "a}b{c", "ü"} {
		k := keysOf("p", name)
		tag := k.lease[:strings.Index(k.lease, "}")+1]
		require.True(t, strings.HasPrefix(tag, "{p:") && len(tag) > 4, k.lease)
		for key, end := range map[string]string{k.lease: ":lease", k.fence: ":fence", k.verdict: ":verdict"} {
			require.Equal(t, tag+end, key)
		}
	}
	require.NotEqual(t, keysOf("p", "a}b"), keysOf("p", "a"))
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

func TestStaleVerdictsAreIgnored(t *testing.T) {
	m := miniredis.RunT(t)
	f := small(t, m, Options{OpenWithOthers: true})
	c := quick("x")
	c.Cooldown = atomicbreaker.Cooldown{Min: time.Hour, Max: time.Hour}
	b, err := f.New(c)
	require.NoError(t, err)
	team := f.team("x")
	open := func() { b.Reset(); b.Trip() }
	for i, x := range []struct {
		m    message
		acts bool
	}{
		{message{token: 7, verdict: "answered"}, true},
		{message{token: 7, verdict: "answered"}, false},
		{message{token: 6, verdict: "recovered"}, false},
		{message{token: 7, verdict: "recovered"}, true},
		{message{token: 7, verdict: "answered"}, false},
		{message{token: 8, verdict: "unused"}, false},
		{message{token: 8, verdict: "what?"}, false},
		{message{token: 8, verdict: "answered"}, true},
	} {
		open()
		f.act(team, x.m)
		require.Equal(t, x.acts, b.State() == atomicbreaker.StateHalfOpen, "message %d", i)
	}
	b.Reset()
	f.act(team, message{token: 8, verdict: "reopened"})
	require.Equal(t, atomicbreaker.StateOpen, b.State())

	b.Reset()
	b.SetMode(atomicbreaker.ForcedClosed)
	f.act(team, message{token: 9, verdict: "reopened"})
	b.SetMode(atomicbreaker.Auto)
	require.Equal(t, atomicbreaker.StateClosed, b.State(), "no command of an operator's")
}

// Who was not listening is told by the answer to its next question.
func TestVerdictIsToldWithARefusal(t *testing.T) {
	m := miniredis.RunT(t)
	f := small(t, m, Options{TTL: time.Minute})
	ctx := context.Background()
	k := f.team("x").keys
	held, err := f.acquire(ctx, k)
	require.NoError(t, err)
	require.NoError(t, f.tell(ctx, k, "x", breakerlease.News{Token: held.token, Verdict: breakerlease.Answered}))

	late := small(t, m, Options{TTL: time.Minute})
	c := quick("x")
	c.Cooldown = atomicbreaker.Cooldown{Min: 20 * time.Millisecond, Max: time.Minute}
	b, err := late.New(c)
	require.NoError(t, err)
	b.Trip()
	eventually(t, 5*time.Second, "half-open", func() bool { return b.State() == atomicbreaker.StateHalfOpen })
	require.Equal(t, atomicbreaker.ReasonEndCooldownCalled, b.Snapshot().Reason)
}

func TestMessages(t *testing.T) {
	for _, m := range []message{
		{from: "A", token: 1 << 60, verdict: "answered", name: "a b {} ü"},
	} {
		got, ok := parse(m.String())
		require.True(t, ok)
		require.Equal(t, m, got)
	}
	for _, bad := range []string{"", "1", "2 A 7 answered x", "1 A -7 answered x", "1 A 7 answered", "1 A 99999999999999999999 answered x", "1 A 7 answered %zz", "1 A 7 a x y"} {
		_, ok := parse(bad)
		require.False(t, ok, bad)
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
	k := f.team("x").keys
	eventually(t, 5*time.Second, "a lease", func() bool { return statusOf(b).Held })
	token, err := m.Get(k.lease)
	require.NoError(t, err)
	m.SetTTL(k.lease, time.Hour) // its clock stands still: renewals would set 30 ms
	done := time.Now().Add(100 * time.Millisecond)
	eventually(t, 5*time.Second, "some ticks", func() bool { return time.Now().After(done) })
	require.Equal(t, time.Hour, m.TTL(k.lease), "renewed without a probe")

	// With a probe it is renewed, until Close gives it back.
	b.Reset()
	eventually(t, 5*time.Second, "given back", func() bool { return !m.Exists(k.lease) })
	b.Trip()
	eventually(t, 5*time.Second, "a lease", func() bool { return statusOf(b).Held })
	_, err = b.Acquire()
	require.NoError(t, err)
	m.SetTTL(k.lease, time.Hour)
	eventually(t, 5*time.Second, "renewed", func() bool { return m.TTL(k.lease) == 30*time.Millisecond })
	now, err := m.Get(k.lease)
	require.NoError(t, err)
	require.NotEqual(t, token, now)
	f.Close()
	require.False(t, m.Exists(k.lease))
	_, err = (&lease{fleet: f, team: f.team("x")}).Ask(context.Background(), breakerlease.Question{Breaker: b})
	require.ErrorIs(t, err, errClosed)
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

// One record a minute, however much fails, and one when it is over.
func TestLogsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		l := &limitedLog{to: slog.New(slog.NewTextHandler(&text, nil)), every: time.Minute}
		for range 600 { // ten minutes
			l.note(errors.New("away"))
			time.Sleep(time.Second)
		}
		require.Equal(t, 10, strings.Count(text.String(), "level=WARN"))
		require.Equal(t, 9, strings.Count(text.String(), "failures=60"))
		l.note(nil)
		l.note(nil)
		require.Equal(t, 1, strings.Count(text.String(), "level=INFO"))
		(&limitedLog{}).note(errors.New("nobody is told"))
	})
}
