// Package breakerredis lets a fleet of circuit breakers take turns at probing
// the dependency that they share, over Redis.
//
//	client := redis.NewClient(breakerredis.Tuned(redis.Options{Addr: "redis:6379"}))
//	fleet, err := breakerredis.New(breakerredis.Options{Client: client})
//	defer fleet.Close()
//	b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
//
// Every breaker decides for itself when to open, and refuses and admits calls
// without a word to Redis. Only when its cooldown is over it asks, from its
// timer, whether it may probe: one breaker of a name at a time may, in all of
// the fleet. The others wait, and hear what the probe has found out. If Redis
// does not answer within ten milliseconds, a breaker does what it would do
// without this package.
package breakerredis
