// Package breakerlease lets breakers of many processes take turns at probing
// the dependency that they share.
//
//	b, err := breakerlease.New(atomicbreaker.Config{Name: "inventory"}, lease, breakerlease.Options{})
//
// When a cooldown is over, the breaker asks a [Lease] before it becomes
// half-open. No call ever waits for a Lease, and none is refused because of
// one that fails: without an answer in time the breaker does what it would do
// without a Lease. Package breakerredis has a Lease on Redis.
//
// What happened to a breaker can be told by its transitions: with a lease, or because
// somebody else's probe succeeded, it becomes half-open by
// ReasonEndCooldownCalled; alone, by ReasonCooldown. [StatusOf] tells the rest.
package breakerlease
