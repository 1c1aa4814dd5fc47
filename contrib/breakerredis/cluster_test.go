package breakerredis

import (
	"context"
	"testing"
	"time"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// In a Cluster, whose server refuses scripts over several slots, everything
// works as on a single one.
func TestCluster(t *testing.T) {
	s := startRedis(t, "--cluster-enabled", "yes")
	admin := s.client()
	defer admin.Close()
	ctx := context.Background()
	require.NoError(t, admin.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	eventually(t, 10*time.Second, "the cluster is in order", func() bool {
		return admin.Set(ctx, "x", 1, 0).Err() == nil
	})
	fleet := func() *Fleet {
		client := redis.NewClusterClient(TunedCluster(redis.ClusterOptions{Addrs: []string{s.addr()}}))
		f, err := New(Options{Client: client, Timeout: time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { f.Close(); _ = client.Close() })
		return f
	}
	one, other := fleet(), fleet()
	eventually(t, 10*time.Second, "both listen", func() bool {
		return admin.PubSubNumSub(ctx, "circuitbreaker").Val()["circuitbreaker"] == 2
	})
	c := quick("a {b} c")
	a, err := one.New(c)
	require.NoError(t, err)
	c.Cooldown = atomicbreaker.Cooldown{Min: time.Hour, Max: time.Hour}
	b, err := other.New(c)
	require.NoError(t, err)
	a.Trip()
	b.Trip()
	probe(t, a, atomicbreaker.Success)
	require.Empty(t, statusOf(a).Error)
	eventually(t, 5*time.Second, "the other hears of it", func() bool { return b.State() == atomicbreaker.StateHalfOpen })

	client := redis.NewClusterClient(TunedCluster(redis.ClusterOptions{Addrs: []string{s.addr()}}))
	defer client.Close()
	store, err := NewStore(client, "p")
	require.NoError(t, err)
	// The test could see keys of two slots.
	lease, _, _ := store.keys("q")
	_, fence, verdict := store.keys("r")
	err = acquireScript.Run(ctx, client, []string{lease, fence, verdict}, 1, 1, "e", "h").Err()
	require.ErrorContains(t, err, "slot")
}
