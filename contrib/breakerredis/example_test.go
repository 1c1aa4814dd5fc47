package breakerredis_test

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerlease"
	"github.com/atomicbreaker/breaker/contrib/breakerredis"
	"github.com/redis/go-redis/v9"
)

func ExampleNew() {
	server := miniredis.NewMiniRedis() // in a program of your own: a real Redis
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client := redis.NewClient(breakerredis.Tuned(redis.Options{Addr: server.Addr()}))
	defer client.Close()
	fleet, err := breakerredis.New(breakerredis.Options{Client: client})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()

	b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
	fmt.Println(b.State(), err)
	// Output: closed <nil>
}

// The store alone, for a fleet with options of your own.
func ExampleNewStore() {
	server := miniredis.NewMiniRedis() // in a program of your own: a real Redis
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()

	client := redis.NewClient(breakerredis.Tuned(redis.Options{Addr: server.Addr()}))
	defer client.Close()
	store, err := breakerredis.NewStore(client, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fleet, err := breakerlease.NewFleet(breakerlease.FleetOptions{Store: store, OpenWithOthers: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()

	b, err := fleet.New(atomicbreaker.Config{Name: "inventory"})
	fmt.Println(b.State(), err)
	// Output: closed <nil>
}
