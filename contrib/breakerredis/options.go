package breakerredis

import (
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const defaultPrefix = "circuitbreaker"

// Options say how a [Fleet] works. Only Client must be set. All members of a
// fleet should have the same. What has no comment is as in
// breakerlease.FleetOptions.
type Options struct {
	// Client is how Redis is reached: a single server, a Sentinel, a Cluster or a Ring. It stays the
	// caller's. It must give up in time, for which [Tuned], [TunedFailover],
	// [TunedCluster] and [TunedRing] have the settings.
	Client redis.UniversalClient

	// Prefix begins the names of all keys, and is the name of the channel. Fleets with different
	// prefixes do not see each other. Without braces. Default: circuitbreaker.
	Prefix string

	TTL            time.Duration // default: 100 ms
	Timeout        time.Duration // default: 25 ms
	OpenWithOthers bool
	Identity       string
	Logger         *slog.Logger
	LogEvery       time.Duration // default: 1 minute
}

// givesUp reports whether a client ends its calls with their contexts. Of a
// kind of client that is not known here it is taken for granted.
func givesUp(c redis.UniversalClient) bool {
	switch c := c.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return c.Options().ContextTimeoutEnabled
	}
	return true
}

// Tuned returns o with the settings that make a client fail in time, and ask
// in one round trip, where they were left zero. By default go-redis tries again, in dialling too,
// takes more than a second to say that Redis is down, and says more than it must on
// each new connection.
func Tuned(o redis.Options) *redis.Options {
	tune(&o.ContextTimeoutEnabled, &o.DisableIdentity, &o.MaxRetries, &o.DialerRetries, &o.MinIdleConns,
		&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	tuneMaintenance(&o.MaintNotificationsConfig)
	return &o
}

// TunedFailover is [Tuned] for a Sentinel.
func TunedFailover(o redis.FailoverOptions) *redis.FailoverOptions {
	tune(&o.ContextTimeoutEnabled, &o.DisableIdentity, &o.MaxRetries, &o.DialerRetries, &o.MinIdleConns,
		&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	return &o
}

// TunedCluster is [Tuned] for a Cluster.
func TunedCluster(o redis.ClusterOptions) *redis.ClusterOptions {
	tune(&o.ContextTimeoutEnabled, &o.DisableIdentity, &o.MaxRetries, &o.DialerRetries, &o.MinIdleConns,
		&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	if o.MaxRedirects == 0 {
		o.MaxRedirects = 1 // a slot that has moved is found
	}
	tuneMaintenance(&o.MaintNotificationsConfig)
	return &o
}

// TunedRing is [Tuned] for a Ring.
func TunedRing(o redis.RingOptions) *redis.RingOptions {
	tune(&o.ContextTimeoutEnabled, &o.DisableIdentity, &o.MaxRetries, &o.DialerRetries, &o.MinIdleConns,
		&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout)
	return &o
}

func tune(giveUp, quiet *bool, retries, dialerRetries, idle *int, timeouts ...*time.Duration) {
	*giveUp, *quiet = true, true // quiet: two commands less on each new connection
	if *retries == 0 {
		*retries = -1
	}
	if *dialerRetries == 0 {
		*dialerRetries = 1
	}
	if *idle == 0 {
		*idle = 1 // one is there before it is needed
	}
	for _, timeout := range timeouts {
		if *timeout == 0 {
			*timeout = time.Second // breakers wait for less
		}
	}
}

func tuneMaintenance(c **maintnotifications.Config) {
	if *c == nil {
		*c = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	}
}
