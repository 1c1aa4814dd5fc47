package breakerredis

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options say how a [Fleet] works. Only Client must be set. All members of a
// fleet should have the same.
type Options struct {
	// Client is how Redis is reached: a single server, a Sentinel or a Cluster. It stays the
	// caller's. It must give up in time, for which [Tuned] has the settings.
	Client redis.UniversalClient

	// Prefix begins the names of all keys, and is the name of the channel. Fleets with different
	// prefixes do not see each other. Without braces. Default: circuitbreaker.
	Prefix string

	// TTL is how long a lease lives that is not renewed, 10 ms to 1 h: after how
	// long another breaker may probe if the one that had the lease has died, and
	// after how long one may if the probe has failed (or a tenth of the cooldown
	// of the breaker that probed, if that is longer). It is renewed three times
	// as often. While the dependency is down, each breaker asks Redis about once
	// in a TTL. Default: 100 ms, with which a fleet of fifty notices the end of
	// an outage as soon as breakers that ask for themselves.
	TTL time.Duration

	// Timeout is how long to wait for Redis, 1 ms to 1 s. Default: 5 ms: with a late timer
	// on top, a breaker that gets no answer probes within 10 ms.
	Timeout time.Duration

	// OpenWithOthers opens the breakers of this process that are half-open or
	// closed when a probe of another has failed. Default: they wait for
	// failures of their own.
	OpenWithOthers bool

	// Logger is told when Redis fails, at most every LogEvery, and when it is
	// back. Default: nobody; breakerlease.StatusOf tells each breaker's last failure.
	Logger *slog.Logger

	// LogEvery is 1 s to 24 h. Default: 1 minute.
	LogEvery time.Duration
}

func (o *Options) fill() {
	if o.Prefix == "" {
		o.Prefix = "circuitbreaker"
	}
	for field, otherwise := range map[*time.Duration]time.Duration{
		&o.TTL: 100 * time.Millisecond, &o.Timeout: 5 * time.Millisecond, &o.LogEvery: time.Minute,
	} {
		if *field == 0 {
			*field = otherwise
		}
	}
}

// validate returns every fault of filled options.
func (o *Options) validate() error {
	var faults []error
	add := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("breakerredis: Options."+format, args...))
	}
	span := func(field string, d, low, high time.Duration) {
		if d < low || d > high {
			add("%s is %v, want %v to %v", field, d, low, high)
		}
	}
	if o.Client == nil {
		add("Client is nil, want one, made with the options that Tuned returns")
	} else if !givesUp(o.Client) {
		add("Client has ContextTimeoutEnabled false, so that it does not give up in time: want true, see Tuned")
	}
	if strings.ContainsAny(o.Prefix, "{}") {
		add("Prefix is %q, want no braces: they choose the slot in a Cluster", o.Prefix)
	}
	span("TTL", o.TTL, 10*time.Millisecond, time.Hour)
	span("Timeout", o.Timeout, time.Millisecond, time.Second)
	span("LogEvery", o.LogEvery, time.Second, 24*time.Hour)
	return errors.Join(faults...)
}

// givesUp reports whether a client ends its calls with their contexts. Of a
// kind of client that is not known here it is taken for granted.
func givesUp(c redis.UniversalClient) bool {
	switch c := c.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return true
}

// Tuned returns o with the settings that make a client fail in time where they
// were left zero. By default go-redis tries again, in dialling too, and takes
// more than a second to say that Redis is down. For a Cluster or a Sentinel set
// the same fields.
func Tuned(o redis.Options) *redis.Options {
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true // two commands less on each new connection
	if o.MaxRetries == 0 {
		o.MaxRetries = -1
	}
	if o.DialerRetries == 0 {
		o.DialerRetries = 1
	}
	for _, timeout := range []*time.Duration{&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.PoolTimeout} {
		if *timeout == 0 {
			*timeout = time.Second // the context of each call is shorter
		}
	}
	return &o
}
