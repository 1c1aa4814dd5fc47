package breakerredis

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerlease/leasetest"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// halfOpenAfterTrip opens a breaker and waits until it is half-open. It returns how
// long after its cooldown that was.
func halfOpenAfterTrip(t *testing.T, b *atomicbreaker.Breaker) time.Duration {
	t.Helper()
	b.Reset()
	b.Trip()
	opened := b.Snapshot()
	eventually(t, 5*time.Second, "half-open", func() bool { return b.State() == atomicbreaker.StateHalfOpen })
	return b.Snapshot().Since - opened.Since - 20*time.Millisecond
}

// Whatever is wrong with Redis, a breaker does by itself what it would do
// without, in ten milliseconds; and asks again when Redis is back.
func TestRedisFaults(t *testing.T) {
	ctx := context.Background()
	for name, fault := range map[string]struct {
		hurt, mend func(t *testing.T, s *redisServer, p *proxy, admin *redis.Client)
	}{
		"down": {
			func(_ *testing.T, s *redisServer, _ *proxy, _ *redis.Client) { s.kill() },
			func(_ *testing.T, s *redisServer, _ *proxy, _ *redis.Client) { s.start() },
		},
		"paused": {
			func(_ *testing.T, s *redisServer, _ *proxy, _ *redis.Client) { s.signal(stop) },
			func(_ *testing.T, s *redisServer, _ *proxy, _ *redis.Client) { s.signal(resume) },
		},
		"slow": {
			func(_ *testing.T, _ *redisServer, p *proxy, _ *redis.Client) {
				p.delay.Store(int64(300 * time.Millisecond))
			},
			func(_ *testing.T, _ *redisServer, p *proxy, _ *redis.Client) { p.delay.Store(0) },
		},
		"dropping packets": {
			func(_ *testing.T, _ *redisServer, p *proxy, _ *redis.Client) { p.dropping.Store(true) },
			func(_ *testing.T, _ *redisServer, p *proxy, _ *redis.Client) { p.dropping.Store(false) },
		},
		"failed over to a replica that may not write": {
			func(t *testing.T, s *redisServer, p *proxy, _ *redis.Client) {
				replica := startRedis(t, "--replicaof", "127.0.0.1 "+s.port)
				addr := replica.addr()
				p.to.Store(&addr)
				p.cut()
			},
			func(_ *testing.T, s *redisServer, p *proxy, _ *redis.Client) {
				addr := s.addr()
				p.to.Store(&addr)
				p.cut()
			},
		},
		"keys of another type": {
			func(t *testing.T, _ *redisServer, _ *proxy, admin *redis.Client) {
				require.NoError(t, admin.FlushAll(ctx).Err())
				require.NoError(t, admin.LPush(ctx, "{circuitbreaker:payments}:fence", "x").Err())
			},
			func(t *testing.T, _ *redisServer, _ *proxy, admin *redis.Client) {
				require.NoError(t, admin.FlushAll(ctx).Err())
			},
		},
		"no permission": {
			func(t *testing.T, _ *redisServer, _ *proxy, admin *redis.Client) {
				require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", "default", "-eval", "-evalsha").Err())
			},
			func(t *testing.T, _ *redisServer, _ *proxy, admin *redis.Client) {
				require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", "default", "+eval", "+evalsha").Err())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			s := startRedis(t)
			p := startProxy(t, s.addr())
			admin := s.client()
			client := redis.NewClient(Tuned(redis.Options{Addr: p.addr()}))
			var log bytes.Buffer
			fleet, err := New(Options{Client: client, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			c := atomicbreaker.Config{Name: "payments", Cooldown: atomicbreaker.Cooldown{Min: 20 * time.Millisecond, Jitter: atomicbreaker.Off}}
			b, err := fleet.New(c)
			require.NoError(t, err)
			again := func() {
				eventually(t, 10*time.Second, "a lease", func() bool {
					halfOpenAfterTrip(t, b)
					return statusOf(b).Held
				})
			}
			again()
			fault.hurt(t, s, p, admin)
			var took []time.Duration
			for range 11 {
				took = append(took, halfOpenAfterTrip(t, b))
				require.True(t, statusOf(b).Alone)
				require.Equal(t, atomicbreaker.ReasonCooldown, b.Snapshot().Reason)
			}
			slices.Sort(took)
			t.Logf("half-open %v after the cooldown, at most %v: %s", took[5], took[10], statusOf(b).Error)
			require.Less(t, took[5], 25*time.Millisecond+20*time.Millisecond, "a busy machine's timers are late; the Lease is given 25 ms")
			fault.mend(t, s, p, admin)
			again()

			fleet.Close()
			require.NoError(t, client.Close())
			require.NoError(t, admin.Close())
			p.cut()
			_ = p.listener.Close()
			require.LessOrEqual(t, strings.Count(log.String(), "level=WARN"), 1, log.String())
			eventuallyNoLeak(t, leaks)
		})
	}
}

func eventuallyNoLeak(t *testing.T, ignored goleak.Option) {
	t.Helper()
	require.NoError(t, goleak.Find(ignored, goleak.IgnoreAnyFunction("os/exec.(*Cmd).Start.func2"),
		goleak.IgnoreAnyFunction("os/exec.(*Cmd).watchCtx"), goleak.IgnoreTopFunction("os.(*Process).blockUntilWaitable")))
}

// The tests that any store must pass, on a real Redis.
func TestStoreOnRedis(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) leasetest.Server {
		s := startRedis(t)
		p := startProxy(t, s.addr())
		admin := s.client()
		t.Cleanup(func() { _ = admin.Close() })
		return leasetest.Server{
			Connect: func(t *testing.T) breakerlease.Store { return storeOn(t, p.addr()) },
			Lose:    func(t *testing.T) { require.NoError(t, admin.FlushAll(context.Background()).Err()) },
			Cut:     func(*testing.T) { p.cut() },
			Pause:   func(*testing.T) { s.signal(stop) },
			Resume:  func(*testing.T) { s.signal(resume) },
		}
	})
}
