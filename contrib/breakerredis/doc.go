// Package breakerredis keeps the leases of a fleet of circuit breakers in Redis, so
// that the breakers of many processes take turns at probing.
//
// Use it when many processes call one dependency and you have a Redis. Package
// breakerlease explains what a fleet is and when to use one. A first program:
//
//	package main
//
//	import (
//		"fmt"
//
//		"github.com/atomicbreaker/breaker/atomicbreaker"
//		"github.com/atomicbreaker/breaker/contrib/breakerredis"
//		"github.com/redis/go-redis/v9"
//	)
//
//	func main() {
//		client := redis.NewClient(breakerredis.Tuned(redis.Options{Addr: "redis.example:6379"}))
//		defer client.Close()
//		fleet, err := breakerredis.New(breakerredis.Options{Client: client})
//		if err != nil {
//			panic(err)
//		}
//		defer fleet.Close()
//
//		b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
//		if err != nil {
//			panic(err)
//		}
//		fmt.Println(b.State())
//	}
//
// Each breaker decides for itself when to open, and refuses and admits calls without
// asking Redis. Only when its cooldown is over it asks, from its timer, whether it
// may probe. If Redis does not answer in time, the breaker goes on alone. No call waits
// for Redis.
//
// # Choices
//
//   - [Tuned], [TunedCluster], [TunedFailover] and [TunedRing] set the timeouts and
//     retries of go-redis for these questions, for each kind of client.
//   - [NewStore] is for breakerlease.NewFleet with options of your own.
//   - [LimitClientLog] keeps go-redis from filling the log during an outage of Redis.
package breakerredis
